"""The processes that a benchmark needs beside its own: the server, the load generator, an S3 server, a slow line to it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf.generator import cpu_seconds
from tests.support.s3_server import S3Server, running_s3_server

_URL = re.compile(r"http://127\.0\.0\.1:(\d+)")
_PATIENCE_S = 60.0


def stop(process: subprocess.Popen[Any], number: int = signal.SIGTERM) -> None:
    """End a process that was started here."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass(frozen=True, slots=True)
class Server:
    """A running `treeline serve`."""

    port: int
    pid: int
    start_s: float
    """From starting the process until it said that it serves."""

    @property
    def cpu_s(self) -> float:
        return cpu_seconds(self.pid)

    @property
    def resident_mib(self) -> float:
        """What of its memory lies in RAM."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024


@contextmanager
def serving(root: str, log: Path, *, module: str | None = None, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """`treeline serve`, or a module of its own that serves likewise. Its log of requests goes to a file, as with users."""
    program = ["-m", module] if module else ["-c", "from irc_server.cli import main; main()", "serve"]
    began = time.perf_counter()
    with log.open("wb") as written:
        process = subprocess.Popen(
            [sys.executable, *program, "--root", root, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = _URL.search(line)
            if found is None:
                raise RuntimeError(f"the server did not start: {line}{log.read_text()[-2000:]}")
            yield Server(int(found[1]), process.pid, time.perf_counter() - began)
        finally:
            stop(process)
            assert process.stdout is not None
            process.stdout.close()


def generate(
    server: Server, clients: int, phases: Sequence[tuple[str, float]], requests: Mapping[str, list[list[bytes]]]
) -> list[dict[str, Any]]:
    """Have the load generator run phases (name, seconds), each with the requests of that name; a result a phase.

    Raises `RuntimeError` if an answer was not a success.
    """
    order = {
        "host": "127.0.0.1",
        "port": server.port,
        "pid": server.pid,
        "clients": clients,
        "phases": [{"name": name, "seconds": seconds} for name, seconds in phases],
        "requests": {name: [[request.decode("latin-1") for request in own] for own in all_of] for name, all_of in requests.items()},
    }
    limit_s = sum(seconds for _, seconds in phases) + _PATIENCE_S * (1 + len(phases))
    done = subprocess.run(
        [sys.executable, "-m", "perf.generator"], input=json.dumps(order), capture_output=True, text=True, timeout=limit_s, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"the load generator failed: {done.stderr[-2000:]}")
    results = [json.loads(line) for line in done.stdout.splitlines()]
    for result in results:
        if result["first_refusal"]:
            raise RuntimeError(f"{result['name']}: {result['statuses']}: {result['first_refusal']}")
    return results


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """versitygw over a folder, if it is on PATH; else the S3 server of the tests."""
    program = shutil.which("versitygw")
    with ExitStack() as stack:
        if program is None:
            yield stack.enter_context(running_s3_server())
            return
        port = _free_port()
        process = subprocess.Popen(
            [program, "--port", f"127.0.0.1:{port}", "--keep-alive", "--quiet", "posix", str(folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "ROOT_ACCESS_KEY": S3Server.access_key, "ROOT_SECRET_KEY": S3Server.secret_key},
        )
        stack.callback(stop, process)
        _wait_for(port, process)
        yield S3Server("versitygw", f"http://127.0.0.1:{port}")


@contextmanager
def slow_line(endpoint: str, delay_ms: float) -> Iterator[str]:
    """A line to `endpoint` on which each round trip takes that much longer; its URL. With 0, the endpoint itself."""
    if not delay_ms:
        yield endpoint
        return
    process = subprocess.Popen(
        [sys.executable, "-m", "perf.slow_line", endpoint.rpartition(":")[2], str(delay_ms)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        stop(process)
        assert process.stdout is not None
        process.stdout.close()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[Any]) -> None:
    import socket

    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("versitygw did not start") from None
            time.sleep(0.05)
