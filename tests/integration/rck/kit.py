"""Runs the kit in a JVM of its own, against a server that runs already."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from spark_conf.java import MINIMUM_JAVA, find_java
from tests.integration.rck.class_path import compiler, kit_class_path
from tests.integration.rck.report import Report

_SOURCES = Path(__file__).with_name("java")
TEST_CLASSES = ("treeline.rck.TableTests", "treeline.rck.ViewTests")

# The most demanding value of each. With a retry on the server, of two stale commits that touch different things both must succeed, and
# a refusal must name the requirement that failed; without one, such tests are left out, and "Cannot commit" would do.
_FLAGS = {
    "rck.local": "false",
    "rck.requires-namespace-create": "true",
    "rck.supports-serverside-retry": "true",
    "rck.overrides-requested-location": "false",
    "rck.supports-names-with-dot": "true",
}
# The run is short: time goes into starting, not into what a better compiler would gain.
_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_RAN = (0, 1)  # 1: some tests failed, which the reports tell


class KitDidNotRun(RuntimeError):
    """The kit could not be compiled or started."""


def run_kit(
    uri: str,
    warehouse: str,
    work: Path,
    *,
    tables: str,
    client: Mapping[str, str] | None = None,
    leave_out: Sequence[str] = (),
) -> Report:
    """Run all tests but those whose names are to be left out; what JUnit reports.

    `work`: an empty folder; `tables`: the URL below which tests put tables whose location they choose; `client`: further
    properties of the client, for a store other than the local file system. Raises `KitDidNotRun`.
    """
    class_path = kit_class_path(s3=bool(client))
    classes, reports, temporary = work / "classes", work / "reports", work / "temporary"
    temporary.mkdir(parents=True)
    _compile(class_path, classes)
    properties = {
        **_FLAGS,
        "uri": uri,
        "warehouse": warehouse,
        "treeline.tables": tables,
        # Tests of views choose locations in temporary folders.
        "java.io.tmpdir": str(temporary),
        **(client or {}),
    }
    log = work / "kit.log"
    # The kit makes every variable that begins so a property of its client.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CATALOG_")}
    command = [
        str(find_java()),
        *_JVM,
        *(f"-D{name}={value}" for name, value in properties.items()),
        *("-cp", os.pathsep.join(map(str, [classes, *class_path]))),
        *("org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--disable-ansi-colors", "--details=tree"),
        # Views whose location is a temporary folder stay readable; pytest's own folder is what goes away.
        "--config=junit.jupiter.tempdir.cleanup.mode.default=never",
        f"--reports-dir={reports}",
        *(f"--select-class={name}" for name in TEST_CLASSES),
        *(f"--exclude-methodname=.*[.#]{name}" for name in leave_out),
    ]
    with log.open("w") as written:
        done = subprocess.run(command, stdout=written, stderr=subprocess.STDOUT, env=environment, check=False)
    if done.returncode not in _RAN:
        raise KitDidNotRun(f"the kit ended with {done.returncode}: {log.read_text()[-4000:]}")
    return Report.read(reports)


def _compile(class_path: Sequence[Path], classes: Path) -> None:
    # Not `--release`: a JRE does not know what older ones had.
    command = [
        *(str(find_java()), "-jar", str(compiler()), "-source", str(MINIMUM_JAVA), "-target", str(MINIMUM_JAVA)),
        *("-cp", os.pathsep.join(map(str, class_path)), "-d", str(classes), str(_SOURCES)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise KitDidNotRun(f"the tests of {_SOURCES} do not compile: {done.stdout}{done.stderr}")
