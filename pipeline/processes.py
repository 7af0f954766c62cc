"""The demo's two child processes: a Treeline server, when none is given, and the reader."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pipeline.history import READY

_URL = re.compile(r"http://127\.0\.0\.1:\d+")
_PATIENCE_SECONDS = 60.0


class ProcessFailed(RuntimeError):
    """A child process ended when it should not have."""


@contextmanager
def server(root: Path, log: Path) -> Iterator[str]:
    """`treeline serve` on a folder, for as long as the block runs. Gives its URL."""
    command = [str(Path(sys.executable).parent / "treeline"), "serve", "--root", str(root), "--port", "0"]
    with (
        log.open("w") as written,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process,
    ):
        try:
            url = _first_url(process, written, log)
            # What it says from now on goes to the log, or a full pipe would stop it.
            rest = threading.Thread(target=written.writelines, args=(process.stdout,), daemon=True)
            rest.start()
            try:
                yield url
            finally:
                _stop(process)
                rest.join()
        finally:
            _stop(process)


class Reader:
    """The reader's process: started early (Spark takes its time), told later when to begin and when to end."""

    def __init__(self, arguments: Sequence[str], output: Path, log: Path) -> None:
        self.output = output
        self._log = log
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pipeline.reader", *arguments, "--output", str(output)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def begin(self) -> None:
        """Let it read, and wait until it has looked once in each way."""
        if self._process.stdin is None or self._process.stdout is None:
            raise ProcessFailed("The reader has no pipes")
        try:
            self._process.stdin.write("begin\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._fail()
        if self._process.stdout.readline().strip() != READY:
            self._fail()

    def end(self) -> None:
        """Let it finish the look it is at, and wait for it."""
        with self._process:
            if self._process.stdin is not None:
                self._process.stdin.close()
        if self._process.returncode != 0:
            self._fail()

    def kill(self) -> None:
        """For the way out after an error. Does nothing to a reader that has ended."""
        with self._process:
            _stop(self._process)

    def _fail(self) -> None:
        self.kill()
        raise ProcessFailed(f"The reader stopped: {_last_line(self._log)} (all of it: {self._log})")


def _first_url(process: "subprocess.Popen[str]", written: IO[str], log: Path) -> str:
    if process.stdout is None:
        raise ProcessFailed("The server has no output")
    for line in process.stdout:
        written.write(line)
        if found := _URL.search(line):
            return found.group(0)
    written.flush()
    raise ProcessFailed(f"treeline serve ended before it was ready: {_last_line(log)}")


def _stop(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
