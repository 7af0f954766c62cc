"""What is asked of Ivy, and what happens when there is nothing to ask it with."""

import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from spark_conf.jars import Coordinate, default_directory, fetch_jars, ivy_command, ivy_file, ivy_settings
from spark_conf.java import JavaMissing, find_java, java_version

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"


def test_coordinates_name_their_file() -> None:
    assert Coordinate.parse(RUNTIME).file_name == "iceberg-spark-runtime-4.1_2.13-1.12.0.jar"
    assert Coordinate.parse("org.apache.iceberg:iceberg-core:1.11.0:tests").file_name == "iceberg-core-1.11.0-tests.jar"
    assert str(Coordinate.parse("a:b:1:tests")) == "a:b:1:tests"


@pytest.mark.parametrize("text", ["", "a:b", "a:b:1:tests:x", "a b:c:1", "a:../b:1", "a:b:1<"])
def test_what_is_not_a_coordinate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Not a Maven coordinate"):
        Coordinate.parse(text)


def test_one_module_is_asked_for_once_with_all_its_classifiers() -> None:
    asked = ET.fromstring(ivy_file([Coordinate.parse(text) for text in ("g:core:1", "g:core:1:tests", "g:api:1")]))
    dependencies = asked.findall("dependencies/dependency")
    assert [(each.get("org"), each.get("name"), each.get("rev"), each.get("transitive")) for each in dependencies] == [
        ("g", "core", "1", "false"),
        ("g", "api", "1", "false"),
    ]
    classifier = "{http://ant.apache.org/ivy/maven}classifier"
    assert [artifact.get(classifier) for artifact in dependencies[0].findall("artifact")] == [None, "tests"]


def test_a_mirror_takes_the_place_of_the_central_repository() -> None:
    resolver = ET.fromstring(ivy_settings("https://mirror.example/maven?a&b")).find("resolvers/ibiblio")
    assert resolver is not None
    assert resolver.get("root") == "https://mirror.example/maven?a&b"
    assert "root" not in ivy_settings(None)


def test_ivy_keeps_out_of_the_home_folder() -> None:
    command = ivy_command(Path("/java"), Path("/ivy.jar"), Path("/somewhere"))
    assert command[:2] == ["/java", "-Divy.default.ivy.user.dir=/somewhere/ivy"]
    assert command[command.index("-cache") + 1] == "/somewhere/cache"
    assert command[command.index("-retrieve") + 1] == "/somewhere/lib/[artifact]-[revision](-[classifier]).[ext]"


def test_jars_that_are_there_need_neither_java_nor_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    jar = tmp_path / "iceberg-spark-runtime-4.1_2.13-1.12.0.jar"
    jar.write_bytes(b"")
    assert fetch_jars([RUNTIME], tmp_path) == [jar]


def test_without_java_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        JavaMissing, match=r"^Spark needs Java 17 or newer, and there is no java on the PATH: install one .*apt-get install"
    ):
        fetch_jars([RUNTIME], tmp_path / "jars")
    assert not (tmp_path / "jars").exists()


@pytest.mark.parametrize(
    ("prints", "status", "message"),
    [
        ('openjdk version "11.0.21" 2023-10-17', 0, "is Java 11: install one"),
        ('java version "1.8.0_402"', 0, "is Java 8: install one"),
        ("Unable to locate a Java Runtime.", 1, "does not run: install one"),
    ],
)
def test_a_java_that_will_not_do_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str, status: int, message: str) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{prints}' >&2\nexit {status}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match=message):
        find_java()


def test_a_java_new_enough_is_taken_from_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21\" 2023-09-19' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == java


def test_versions_of_java() -> None:
    assert java_version('openjdk version "17.0.15" 2025-04-15') == 17
    assert java_version('openjdk version "25-ea"') == 25
    assert java_version("no such command") is None


def test_where_jars_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREELINE_JARS", str(tmp_path))
    assert default_directory() == tmp_path
    monkeypatch.delenv("TREELINE_JARS")
    assert default_directory() == Path(__file__).resolve().parents[3] / ".jars"
    assert os.environ.get("TREELINE_JARS") is None
