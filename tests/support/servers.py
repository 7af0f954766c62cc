"""Servers as processes of their own: `treeline serve` for as long as a block runs, and an S3 server behind it where one is asked for."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.s3_server import S3Server

WAREHOUSE = "treeline"
_URL = re.compile(r"http://127\.0\.0\.1:\d+")
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a catalog lies, and what its clients and its server need to get there."""

    root: str
    s3: S3Server | None = None

    @property
    def environment(self) -> dict[str, str]:
        """For the server's process (and for clients that look into the environment)."""
        if self.s3 is None:
            return {}
        return {
            "AWS_ACCESS_KEY_ID": self.s3.access_key,
            "AWS_SECRET_ACCESS_KEY": self.s3.secret_key,
            "TREELINE_S3_ENDPOINT": self.s3.endpoint,
            "TREELINE_S3_REGION": self.s3.region,
            "TREELINE_S3_PATH_STYLE": "true",
        }

    @property
    def credentials(self) -> dict[str, str]:
        """The only properties that a client must bring itself; the rest comes from the server."""
        if self.s3 is None:
            return {}
        return {"s3.access-key-id": self.s3.access_key, "s3.secret-access-key": self.s3.secret_key}


@dataclass(slots=True)
class RunningServer:
    """A server that answers."""

    url: str
    place: Place
    process: subprocess.Popen[str] = field(repr=False)

    @property
    def api(self) -> str:
        """The address of the first catalog's resources."""
        return f"{self.url}/v1/{WAREHOUSE}"

    def kill(self) -> None:
        """End it as a power failure would (`kill -9`)."""
        self.process.kill()
        self.process.wait()


@contextmanager
def running_server(
    place: Place, log: Path, *, flags: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[RunningServer]:
    """`treeline serve` on a free port. What it says goes to `log`. Raises `RuntimeError` if it ends before it is ready."""
    command = [str(Path(sys.executable).parent / "treeline"), "serve", "--root", place.root, "--port", "0", *flags]
    everything = {**os.environ, **place.environment, **(environment or {})}
    with (
        log.open("w") as written,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=everything) as process,
    ):
        try:
            assert process.stdout is not None
            for line in process.stdout:
                written.write(line)
                if found := _URL.search(line):
                    break
            else:
                written.flush()
                raise RuntimeError(f"treeline serve ended before it was ready: {log.read_text()}")
            # A full pipe would stop the server: somebody has to read it.
            rest = threading.Thread(target=written.writelines, args=(process.stdout,), daemon=True)
            rest.start()
            try:
                yield RunningServer(found.group(0), place, process)
            finally:
                _stop(process)
                rest.join()
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
