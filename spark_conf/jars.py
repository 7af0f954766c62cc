"""Fetches jars from Maven's central repository without Maven: the Ivy that PySpark ships does it."""

import fcntl
import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from spark_conf.java import find_java

_COORDINATE = re.compile(r"(?P<group>[\w.-]+):(?P<artifact>[\w.-]+):(?P<version>[\w.-]+)(?::(?P<classifier>[\w.-]+))?")


class JarsUnavailable(RuntimeError):
    """A jar could not be fetched."""


@dataclass(frozen=True)
class Coordinate:
    """One artifact of a Maven repository, written `group:artifact:version` or `group:artifact:version:classifier`."""

    group: str
    artifact: str
    version: str
    classifier: str = ""

    @classmethod
    def parse(cls, text: str) -> "Coordinate":
        """Read a coordinate, refusing everything that is not one."""
        found = _COORDINATE.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"Not a Maven coordinate (group:artifact:version[:classifier]): {text!r}")
        return cls(found["group"], found["artifact"], found["version"], found["classifier"] or "")

    @property
    def file_name(self) -> str:
        """The name that the repository gives the jar."""
        return f"{self.artifact}-{self.version}{f'-{self.classifier}' if self.classifier else ''}.jar"

    def __str__(self) -> str:
        return ":".join(part for part in (self.group, self.artifact, self.version, self.classifier) if part)


def default_directory() -> Path:
    """Where jars are kept: $TREELINE_JARS, else `.jars` of the checkout, else the user's cache."""
    if chosen := os.environ.get("TREELINE_JARS"):
        return Path(chosen)
    checkout = Path(__file__).resolve().parent.parent
    if (checkout / "pyproject.toml").is_file():
        return checkout / ".jars"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treeline" / "jars"


def fetch_jars(coordinates: Sequence[str], directory: Path | None = None) -> list[Path]:
    """Have the jars in the folder and return their paths, in the order asked for.

    Only what is missing is fetched. Exactly the jars named arrive, never what they depend on. Several
    processes may call this at the same time: one fetches, the others wait and find the files.
    """
    folder = (directory or default_directory()).resolve()
    wanted = [Coordinate.parse(text) for text in coordinates]
    paths = [folder / coordinate.file_name for coordinate in wanted]
    if all(path.is_file() for path in paths):
        return paths
    java = find_java()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        # Looked at again: another process may have fetched them while this one waited.
        missing = [coordinate for coordinate, path in zip(wanted, paths, strict=True) if not path.is_file()]
        if missing:
            _retrieve(java, missing, folder)
    return paths


def ivy_file(coordinates: Sequence[Coordinate]) -> str:
    """The `ivy.xml` that asks for exactly these jars. One module is named once, with all its classifiers."""
    modules: dict[tuple[str, str, str], list[str]] = {}
    for coordinate in coordinates:
        modules.setdefault((coordinate.group, coordinate.artifact, coordinate.version), []).append(coordinate.classifier)
    lines = []
    for (group, artifact, version), classifiers in modules.items():
        lines.append(f'<dependency org={quoteattr(group)} name={quoteattr(artifact)} rev={quoteattr(version)} transitive="false">')
        for classifier in classifiers:
            extra = f" m:classifier={quoteattr(classifier)}" if classifier else ""
            lines.append(f'  <artifact name={quoteattr(artifact)} type="jar" ext="jar"{extra}/>')
        lines.append("</dependency>")
    return "\n".join(
        [
            '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">',
            '<info organisation="treeline" module="jars"/>',
            "<dependencies>",
            *lines,
            "</dependencies>",
            "</ivy-module>",
        ]
    )


def ivy_settings(repository: str | None) -> str:
    """Ivy's settings: one Maven repository, the central one unless a mirror is named."""
    root = f" root={quoteattr(repository)}" if repository else ""
    return (
        '<ivysettings><settings defaultResolver="maven"/>'
        f'<resolvers><ibiblio name="maven" m2compatible="true"{root}/></resolvers></ivysettings>'
    )


def ivy_command(java: Path, ivy_jar: Path, work: Path) -> list[str]:
    """The command that fetches into `work/lib`, with every file of Ivy's own below `work`."""
    return [
        str(java),
        f"-Divy.default.ivy.user.dir={work / 'ivy'}",
        "-jar",
        str(ivy_jar),
        "-settings",
        str(work / "ivysettings.xml"),
        "-ivy",
        str(work / "ivy.xml"),
        "-cache",
        str(work / "cache"),
        "-retrieve",
        str(work / "lib" / "[artifact]-[revision](-[classifier]).[ext]"),
        "-warn",
    ]


def ivy_jar() -> Path:
    """The Ivy inside the installed PySpark."""
    import pyspark

    found = sorted((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise JarsUnavailable("The installed PySpark ships no Ivy jar: install pyspark from PyPI")
    return found[-1]


def _retrieve(java: Path, missing: Sequence[Coordinate], folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as name:
        work = Path(name)
        (work / "ivy.xml").write_text(ivy_file(missing))
        (work / "ivysettings.xml").write_text(ivy_settings(os.environ.get("TREELINE_MAVEN_REPOSITORY")))
        command = ivy_command(java, ivy_jar(), work)
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        for coordinate in missing:
            jar = work / "lib" / coordinate.file_name
            if not zipfile.is_zipfile(jar):
                raise JarsUnavailable(
                    f"Could not fetch {coordinate}: {_reason(answer.stdout + answer.stderr)} "
                    "(behind a mirror, set TREELINE_MAVEN_REPOSITORY to its URL; without a network, put the jar into "
                    f"{folder} as {coordinate.file_name})"
                )
        for coordinate in missing:
            (work / "lib" / coordinate.file_name).replace(folder / coordinate.file_name)


def _reason(output: str) -> str:
    """The line of Ivy's long report that names the cause."""
    lines = [line.strip(" \t:") for line in output.splitlines()]
    # An unreachable repository also counts as "not found": its own line comes first.
    for sign in ("server access error", "not found", "exception", "failed"):
        for line in lines:
            if sign in line.lower():
                return line
    return lines[-1] if lines else "Ivy said nothing"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    # The lock goes with the process, so a killed one never blocks the next.
    with (folder / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
