"""What docs/transactions.md shows is what happens: its blocks are run in page order against one server, its outputs compared.

The page's conventions, in the info strings of its fenced blocks:

- `sql`, `python` and `sh` blocks are run: SQL in the Spark session that the page makes, Python with the names of the blocks before it,
  shell commands in a folder that holds the catalog as `build/lake`.
- A `text` block right after one of them is what it prints. `…` in it stands for anything within a line.
- `refused` after the language: the block ends with an error, and the `text` block is its message.
- `sh server`: the command that starts the server.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Engine
from tests.support.servers import Place, running_server

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "transactions.md"
ADDRESS = "http://127.0.0.1:8181"
SERVE = "treeline serve --root lake=build/lake"
_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block that is run, and what the page says that it prints."""

    line: int
    language: str
    refused: bool
    body: str
    output: str | None


def blocks_of(page: str) -> list[Block]:
    """The blocks that are run, in page order. A `text` block belongs to the one before it."""
    blocks: list[Block] = []
    for found in _FENCE.finditer(page):
        language, _, rest = found["info"].partition(" ")
        line = page.count("\n", 0, found.start()) + 1
        if language == "text":
            before = blocks[-1]
            assert before.output is None, f"line {line}: an output with nothing before it"
            blocks[-1] = Block(before.line, before.language, before.refused, before.body, found["body"])
        elif rest != "server":
            assert language in {"sql", "python", "sh"} and rest in {"", "refused"}, f"line {line}: what is {found['info']!r}?"
            blocks.append(Block(line, language, rest == "refused", found["body"], None))
    return blocks


class Runner:
    """Runs blocks and gives back what they print."""

    def __init__(self, engine: Engine, url: str, folder: Path) -> None:
        self._engine = engine
        self._url = url
        self._folder = folder
        self._names: dict[str, Any] = {}

    def run(self, block: Block) -> str:
        # Not at the top: this module is collected where no Spark is installed, too.
        from pipeline.transactions import SPARK_ERRORS, one_line

        body = block.body.replace(ADDRESS, self._url)
        if block.language == "sh":
            return self._shell(body)
        printed = io.StringIO()
        message = None
        try:
            with contextlib.redirect_stdout(printed):
                if block.language == "sql":
                    self._sql(body)
                else:
                    exec(compile(body, f"{PAGE.name}:{block.line}", "exec"), self._names)
        except SPARK_ERRORS as error:
            message = one_line(error)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        if (message is not None) != block.refused:
            raise AssertionError(f"{PAGE.name}:{block.line} {f'ends with {message!r}' if message else 'was not refused'}")
        return printed.getvalue() + (message or "")

    def _sql(self, body: str) -> None:
        statements = [statement for statement in (part.strip() for part in body.split(";")) if statement]
        for statement in statements:
            answer = self._engine.spark.sql(statement)
            if answer.columns:
                answer.show(truncate=False)

    def _shell(self, body: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", body],
            cwd=self._folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"{body}\n{done.stdout}{done.stderr}"
        return done.stdout


def plain(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def agrees(shown: str, printed: str) -> bool:
    """Line by line, blank ones and spaces at the end aside."""
    patterns = [".*".join(re.escape(part) for part in line.split("…")) for line in plain(shown)]
    lines = plain(printed)
    return len(patterns) == len(lines) and all(re.fullmatch(pattern, line) for pattern, line in zip(patterns, lines, strict=True))


@pytest.fixture
def runner(engine: Engine, tmp_path: Path) -> Iterator[Runner]:
    with running_server(Place(f"lake={tmp_path / 'build' / 'lake'}"), tmp_path / "server.log") as server:
        yield Runner(engine, server.url, tmp_path)
        engine.rows("USE spark_catalog.default")


def test_the_page_shows_what_happens(runner: Runner) -> None:
    page = PAGE.read_text()
    assert f"```sh server\n{SERVE}\n```" in page
    blocks = blocks_of(page)
    assert {block.language for block in blocks} == {"sql", "python", "sh"}
    for block in blocks:
        with warnings.catch_warnings():
            # PySpark leaves the sockets that bring rows to the garbage collector.
            warnings.filterwarnings("ignore", "unclosed <socket", ResourceWarning)
            printed = runner.run(block)
        where = f"{PAGE.name}:{block.line}"
        assert agrees(block.output or "", printed), f"{where} prints\n{printed}\nand the page shows\n{block.output}"


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("a\n\nb \n", "a\nb\n", True),
        ("at …ms, (x)\n", "at 12ms, (x)\n", True),
        ("…\n", "one\ntwo\n", False),
        ("a.c\n", "abc\n", False),
        ("", "something\n", False),
    ],
    ids=["blanks", "anything", "one line only", "literally", "nothing shown"],
)
def test_outputs_are_compared_line_by_line(shown: str, printed: str, expected: bool) -> None:
    assert agrees(shown, printed) is expected
