"""The jars of the kit and of the Java client that it tests with, each pinned, from Maven's central repository."""

from __future__ import annotations

from pathlib import Path

from spark_conf.jars import fetch_jars

# The newest release that has the artifacts of `iceberg-open-api`: 1.12.0 was released without them.
KIT_VERSION = "1.11.0"

_KIT = (
    f"org.apache.iceberg:iceberg-open-api:{KIT_VERSION}:tests",
    f"org.apache.iceberg:iceberg-open-api:{KIT_VERSION}:test-fixtures",
    f"org.apache.iceberg:iceberg-core:{KIT_VERSION}:tests",
    f"org.apache.iceberg:iceberg-api:{KIT_VERSION}:tests",
    "org.junit.platform:junit-platform-console-standalone:1.14.4",
    "org.assertj:assertj-core:3.27.7",
    "net.bytebuddy:byte-buddy:1.18.3",
)
# What `iceberg-core` of this version asks for; Ivy is told not to bring more.
_CLIENT = (
    f"org.apache.iceberg:iceberg-core:{KIT_VERSION}",
    f"org.apache.iceberg:iceberg-api:{KIT_VERSION}",
    f"org.apache.iceberg:iceberg-common:{KIT_VERSION}",
    f"org.apache.iceberg:iceberg-bundled-guava:{KIT_VERSION}",
    "org.apache.avro:avro:1.12.1",
    "com.fasterxml.jackson.core:jackson-core:2.21.3",
    "com.fasterxml.jackson.core:jackson-databind:2.21.3",
    "com.fasterxml.jackson.core:jackson-annotations:2.21",
    "com.github.ben-manes.caffeine:caffeine:2.9.3",
    "org.apache.httpcomponents.client5:httpclient5:5.6.1",
    "org.apache.httpcomponents.core5:httpcore5:5.4.2",
    "org.apache.httpcomponents.core5:httpcore5-h2:5.4.2",
    "org.roaringbitmap:RoaringBitmap:1.6.14",
    "org.slf4j:slf4j-api:2.0.17",
    "org.slf4j:slf4j-simple:2.0.17",
)
_S3 = (
    f"org.apache.iceberg:iceberg-aws:{KIT_VERSION}",
    f"org.apache.iceberg:iceberg-aws-bundle:{KIT_VERSION}",
    "dev.failsafe:failsafe:3.3.2",
)
_COMPILER = "org.eclipse.jdt:ecj:3.46.100"


def kit_class_path(*, s3: bool) -> list[Path]:
    """What the kit needs to run, fetched where it is missing; `s3`: the client's S3 classes too (70 MB)."""
    return [*fetch_jars([*_KIT, *_CLIENT, *(_S3 if s3 else ())]), *_hadoop()]


def compiler() -> Path:
    """A Java compiler in one jar: a JRE has none."""
    return fetch_jars([_COMPILER])[0]


def _hadoop() -> list[Path]:
    """Hadoop's client, of which the kit wants a `Configuration` and the local file system. PySpark ships it, shaded."""
    # Not on top: the tests without Java are collected where PySpark is not installed.
    import pyspark

    jars = sorted((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar"))
    if len(jars) != 2:
        raise RuntimeError(f"the installed PySpark ships other Hadoop jars than the two that are expected: {jars}")
    return jars
