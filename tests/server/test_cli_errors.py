"""What the commands say when something is wrong: one line, exit code 1, or 2 for mistakes in it. Settings, damage, the real process."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import RawIOBase
from pathlib import Path

import pyarrow as pa
import pytest

from catalog_format import paths
from irc_server.cli import COMMANDS
from tests.server.test_cli import objects, run, told
from tests.support.catalogs import SMALL_TREE, TimelessFolder, make_table, opened

TREELINE = Path(sys.executable).with_name("treeline")
LOOKING = (["log"], ["show"], ["tree"], ["dtxn", "list"], ["check"])


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    async def fill() -> None:
        async with opened(TimelessFolder(tmp_path), limits=SMALL_TREE) as catalog:
            await make_table(catalog.main, "ns", "t")
            for number in range(30):
                await catalog.main.create_namespace((f"n{number:02}",), {})

    asyncio.run(fill())
    return tmp_path


def failed(*arguments: str, environment: dict[str, str] | None = None, code: int = 1) -> str:
    """The one line on standard error."""
    result = run(*arguments, environment=environment)
    assert result.exit_code == code and result.stdout == "", result.output
    assert result.stderr.startswith("treeline: ") and result.stderr.count("\n") == 1
    return result.stderr.removeprefix("treeline: ").strip()


@pytest.mark.parametrize("command", LOOKING)
def test_a_root_without_a_catalog(command: list[str], tmp_path: Path) -> None:
    assert failed(*command, str(tmp_path)) == f"file://{tmp_path} holds no catalog: create one with `treeline init file://{tmp_path}`"


@pytest.mark.parametrize("command", [*LOOKING, ["init"]])
def test_a_newer_format(command: list[str], lake: Path) -> None:
    for version in range(33):
        path = lake / paths.root_path(version)
        if path.exists():
            path.write_bytes(_with_format_version(path.read_bytes(), 9))
    assert "has format version 9; this Treeline reads up to 1: update it" in failed(*command, str(lake))


def test_something_else_in_the_place_of_version_0(tmp_path: Path) -> None:
    (tmp_path / "vn").mkdir()
    (tmp_path / paths.root_path(0)).write_bytes(b"not a node")
    assert "Root of version 0 is damaged" in failed("init", str(tmp_path))


def test_a_damaged_node(lake: Path) -> None:
    [tree] = objects("tree", str(lake))
    above = tree["children"][0]
    name = above["children"][0]["name"]
    path = lake / paths.node_path(name)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert f"Node {name} is damaged" in failed("show", str(lake))
    text = told("tree", str(lake), code=1)
    assert f"DAMAGED Node {name}" in text
    [facts] = objects("tree", str(lake), code=1)
    assert facts["children"][0]["problem"] is None
    assert [node["problem"] is None for node in facts["children"][0]["children"]] == [False] + [True] * (above["rows"] - 1)
    assert f"problem: Node {name} is damaged" in told("check", str(lake), code=1)
    [report] = objects("check", str(lake), code=1)
    assert report["clean"] is False and name in report["problems"][0]


def test_a_missing_root_in_the_past(lake: Path) -> None:
    (lake / paths.root_path(5)).unlink()
    result = run("log", str(lake), "--limit", "0")
    assert result.exit_code == 1 and "The root of version 5" in result.stderr
    assert "The root of version 5" in told("check", str(lake), code=1)
    assert "The root of version 5" in failed("show", str(lake), "--at", "5")


def test_leftovers_are_told_and_harmless(lake: Path) -> None:
    for number in range(25):
        (lake / "node" / f"{number:064}.arrow").write_bytes(b"left by an attempt that lost")
    text = told("check", str(lake))
    assert text.count("unreachable: node/") == 20 and "… and 5 more unreachable files" in text
    assert text.endswith("no problems; 25 unreachable files, harmless\n")
    assert len(objects("check", str(lake))[0]["unreachable"]) == 25


def test_names_versions_and_transactions_that_are_not_there(lake: Path) -> None:
    where = str(lake)
    latest = objects("log", where)[0]["version"]
    assert failed("show", where, "no.such") == f"Nothing is called no.such in version {latest} of file://{lake}"
    assert failed("show", where, "--at", "999") == f"Version 999 does not exist; the latest is {latest}"
    created = objects("log", where, "--limit", "0")[-1]["created_at"]
    too_early = f"No version is as old as 2001-01-01T00:00:00.000Z; the oldest kept one, 0, was made at {created}"
    assert failed("show", where, "--at", "2001-01-01") == too_early
    for command in ("show", "commit", "rollback"):
        for wrong in ("none", "../x", ".", "a/b"):
            assert failed("dtxn", command, where, wrong) == f"Transaction does not exist: {wrong}"


def test_mistakes_in_the_command_line(lake: Path) -> None:
    where = str(lake)

    def mistaken(*arguments: str) -> str:
        return failed(*arguments, code=2)

    assert mistaken("show", where, "a..b") == "A name must not be empty"
    assert mistaken("show", where, "Z===x") == "'Z===x' is no key of a type that this Treeline knows"
    assert mistaken("tree", where, "--at", "yesterday").startswith("'yesterday' is no version and no time")
    assert "unknown scheme 's4'" in mistaken("show", "s4://bucket/lake")
    assert "unknown scheme 'ftp'" in mistaken("init", "ftp://host/lake")
    assert mistaken("log", where, "--config", "nowhere.toml") == "Settings file nowhere.toml does not exist"
    assert mistaken("log") == "Missing argument 'URL'. (see `treeline log --help`)"
    assert mistaken("log", where, "--limit", "-1").endswith("(see `treeline log --help`)")
    assert mistaken("dtxn", "end", where) == "No such command 'end'. (see `treeline dtxn --help`)"
    assert mistaken("--limit").endswith("(see `treeline --help`)")


def test_urls_and_stores_that_cannot_be_used(tmp_path: Path) -> None:
    assert failed("init", "/proc/lake") == "no folder can be made at /proc/lake: the file system takes none there"
    (tmp_path / "file").write_text("")
    assert failed("log", str(tmp_path / "file")).startswith(f"file://{tmp_path}/file holds no catalog")
    unreachable = {"TREELINE_S3_ENDPOINT": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}
    assert "http://127.0.0.1:9/bucket/lake" in failed("log", "s3://bucket/lake", environment=unreachable)


def test_settings_come_from_where_serve_takes_them(lake: Path, tmp_path: Path) -> None:
    file = tmp_path / "treeline.toml"
    file.write_text('s3_endpoint = "http://127.0.0.1:9"\nhost = "0.0.0.0"\n')
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}
    assert "http://127.0.0.1:9/bucket/lake" in failed("log", "s3://bucket/lake", "--config", str(file), environment=keys)
    # What concerns the server alone does not stop a command.
    assert run("log", str(lake), environment={"TREELINE_HOST": "0.0.0.0"}).exit_code == 0


def test_the_real_command(lake: Path) -> None:
    listed = subprocess.run([TREELINE, "show", lake], capture_output=True, text=True, check=True)
    assert listed.stderr == "" and not any(line.endswith(" ") for line in listed.stdout.splitlines())
    # Nobody looks at a screen: the longest location stands on one line.
    assert re.search(r"table +ns\.t +2 +file:///\S+\.metadata\.json$", listed.stdout, re.MULTILINE)
    lost = subprocess.run([TREELINE, "log", lake / "nowhere"], capture_output=True, text=True, check=False)
    assert (lost.returncode, lost.stdout, lost.stderr.count("\n")) == (1, "", 1)


def test_help_names_every_command() -> None:
    text = subprocess.run([TREELINE, "--help"], capture_output=True, text=True, check=True).stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", text, re.MULTILINE), command


@pytest.mark.parametrize("command", ["log --limit 0", "show", "show --json", "tree --children 0", "log --json --limit 0"])
def test_a_reader_that_stops_early_is_no_error(command: str, lake: Path) -> None:
    shell = f"set -o pipefail; {TREELINE} {command} {lake} | head -n 1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("command", "doing"),
    [
        (["check"], "checking versions"),
        (["expire", "--older-than", "0s", "--keep", "1"], "giving up versions"),
        (["collect"], "looking at versions"),
        (["purge", "ns.t", "--now", "--yes"], "deleting table files"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_long_command_shows_its_progress_on_a_terminal(command: list[str], doing: str, lake: Path) -> None:
    name, *arguments = command
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        try:
            done = subprocess.run([TREELINE, name, lake, *arguments], stdout=subprocess.PIPE, stderr=theirs, text=True, check=True)
        finally:
            os.close(theirs)
        assert doing.encode() in b"".join(_until_closed(terminal))
    assert done.stdout.count("\n") == 1 and doing not in done.stdout, "where no terminal is, there is the result alone"


def test_an_encoding_that_knows_no_lines_and_dots(lake: Path) -> None:
    environment = {"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"}
    drawn = subprocess.run([TREELINE, "tree", lake], capture_output=True, env=environment, check=True)
    assert b"`-- pivot table" in drawn.stdout


def _until_closed(terminal: RawIOBase) -> Iterator[bytes]:
    """What was written to a terminal whose other side nobody has open any more."""
    # Linux says so with an error.
    with suppress(OSError):
        while data := terminal.read(4096):
            yield data


def _with_format_version(data: bytes, version: int) -> bytes:
    """The node file as a later Treeline would mark it."""
    reader = pa.ipc.open_file(pa.py_buffer(data))
    batch = reader.get_batch(0)
    schema = reader.schema.with_metadata({**reader.schema.metadata, b"treeline.format-version": str(version).encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
    return bytes(sink.getvalue())
