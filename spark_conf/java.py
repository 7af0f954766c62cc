"""Finds the Java that Spark will use, and says in one line what to do when it is missing or too old."""

import os
import re
import shutil
import subprocess
from pathlib import Path

MINIMUM_JAVA = 17
_INSTALL = (
    "install one (Debian and Ubuntu: apt-get install openjdk-17-jre-headless; Fedora: dnf install java-17-openjdk-headless; "
    "macOS: brew install openjdk@17) or point JAVA_HOME at one"
)


class JavaMissing(RuntimeError):
    """No Java, or one that is too old for Spark."""


def java_version(text: str) -> int | None:
    """The feature release in what `java -version` prints: 17 for "17.0.15", 8 for "1.8.0_402", None when there is none."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def find_java() -> Path:
    """The `java` that Spark itself would run: that of JAVA_HOME, else the one on the PATH."""
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if command is None:
        where = f"JAVA_HOME ({home}) holds no bin/java" if home else "there is no java on the PATH"
        raise JavaMissing(f"Spark needs Java {MINIMUM_JAVA} or newer, and {where}: {_INSTALL}")
    answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    version = java_version(answer.stderr + answer.stdout)
    if answer.returncode != 0 or version is None:
        # macOS ships a `java` that only says where to get one.
        raise JavaMissing(f"Spark needs Java {MINIMUM_JAVA} or newer, and {command} does not run: {_INSTALL}")
    if version < MINIMUM_JAVA:
        raise JavaMissing(f"Spark needs Java {MINIMUM_JAVA} or newer, and {command} is Java {version}: {_INSTALL}")
    return Path(command)
