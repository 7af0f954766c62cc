"""`treeline serve` as a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import orjson
import pytest

from tests.server.harness import done, inside, new_table

pytestmark = pytest.mark.processes
TREELINE = Path(sys.executable).parent / "treeline"


@contextmanager
def running(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server on a free port: its process, the line by which it said that it is ready, its URL."""
    command = [str(TREELINE), "serve", "--port", "0", *arguments]
    environment = {**os.environ, **(env or {})}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline().strip()
            yield process, line, line.rpartition(" ")[2]
        finally:
            if process.poll() is None:
                process.kill()


def stopped(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> tuple[int, str, str]:
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    return process.returncode, output, errors


def failed(*arguments: str) -> str:
    """The one line by which a server that cannot start says why."""
    ended = subprocess.run([str(TREELINE), "serve", "--port", "0", *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    [line] = ended.stderr.splitlines()
    return line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_when_it_is_ready_and_stops_when_told(tmp_path: Path, number: int) -> None:
    with running("--root", str(tmp_path)) as (process, line, url):
        assert line == f"Treeline serves treeline ({tmp_path}) at {url}"
        done(httpx.post(f"{url}/v1/namespaces", json={"namespace": ["ns"]}))
        done(httpx.post(f"{url}/v1/treeline/namespaces/ns/tables", json=new_table("a/b c")))
        done(httpx.get(f"{url}/v1/namespaces/ns/tables/a%2Fb+c"))
        code, output, errors = stopped(process, number)
    assert (code, output) == (0, "")
    logged = [orjson.loads(line) for line in errors.splitlines()]
    assert [(line["path"], line["status"]) for line in logged] == [
        ("/v1/namespaces", 200),
        ("/v1/treeline/namespaces/ns/tables", 200),
        ("/v1/namespaces/ns/tables/a%2Fb+c", 200),
    ]


def test_what_one_acknowledged_another_shows(tmp_path: Path) -> None:
    with running("--root", str(tmp_path)) as (_, _, one), running("--root", f"other={tmp_path}") as (_, _, two):
        done(httpx.post(f"{one}/v1/namespaces", json={"namespace": ["ns"]}))
        done(httpx.get(f"{two}/v1/other/namespaces/ns"))
        done(httpx.post(f"{two}/v1/namespaces", json={"namespace": list(inside("1"))}))
        done(httpx.post(f"{one}/v1/namespaces", json={"namespace": list(inside("1", "new"))}))
        levels = "%1F".join(inside("1"))
        done(httpx.post(f"{two}/v1/namespaces/{levels}/properties", json={"updates": {"commit": "true"}}))
        done(httpx.get(f"{one}/v1/namespaces/new"))


def test_a_catalog_is_not_made_unasked(tmp_path: Path) -> None:
    with running("--root", str(tmp_path / "lake"), "--no-init") as (process, _, url):
        answer = httpx.get(f"{url}/v1/namespaces")
        assert answer.status_code == 404
        assert "CREATE NAMESPACE sys" in answer.json()["error"]["message"]
        assert httpx.get(f"{url}/readyz").json()["versions"] == {"treeline": None}
        done(httpx.post(f"{url}/v1/namespaces", json={"namespace": ["sys"], "properties": {"list-system-namespace": "true"}}))
        assert done(httpx.get(f"{url}/v1/namespaces"))["namespaces"] == [["sys"]]
        assert stopped(process)[0] == 0


def test_settings_come_from_everywhere(tmp_path: Path) -> None:
    file = tmp_path / "treeline.toml"
    file.write_text(f'roots = ["lake={tmp_path / "lake"}", "pond={tmp_path / "pond"}"]\nrequest_log = true\n')
    env = {"TREELINE_TOKEN": "t", "TREELINE_REQUEST_LOG": "false"}
    with running("--config", str(file), "--host", "0.0.0.0", env=env) as (process, line, url):
        assert line.startswith(f"Treeline serves lake ({tmp_path / 'lake'}), pond ({tmp_path / 'pond'}) at http://0.0.0.0:")
        url = url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{url}/v1/config").status_code == 401
        body = done(httpx.get(f"{url}/v1/config?warehouse=pond", headers={"Authorization": "Bearer t"}))
        assert body["overrides"] == {"prefix": "pond"}
        assert stopped(process) == (0, "", "")


def test_what_keeps_it_from_starting_is_said_in_one_line(tmp_path: Path) -> None:
    assert "none is given" in failed()
    assert "TREELINE_TOKEN" in failed("--root", str(tmp_path), "--host", "0.0.0.0")
    assert "two are called a" in failed("--root", f"a={tmp_path}", "--root", f"a={tmp_path}")
    assert "unknown scheme" in failed("--root", "ftp://somewhere")
    assert "does not exist" in failed("--root", str(tmp_path), "--config", str(tmp_path / "no.toml"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "Cannot listen" in failed("--root", str(tmp_path / "lake"), "--port", str(taken.getsockname()[1]))
