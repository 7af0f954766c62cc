"""`treeline log`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import click
from rich.table import Table

from irc_server.cli.facts.history import RecordFacts, VersionFacts, history
from irc_server.cli.opening import on_a_catalog, opened
from irc_server.cli.printing import cell, plural, print_json, show

# Versions printed at a time: a long log begins to show before it has been read.
_TURN = 64
_VERSION_COLUMNS = 7
_TIME_COLUMNS = 20
_AGENT_COLUMNS = 24
_GIVEN_UP = "(given up) "


@click.command()
@on_a_catalog
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="At most so many versions; 0 for all.")
def log(url: str, config_file: Path | None, as_json: bool, limit: int) -> None:
    """Print the versions of the catalog at URL, newest first: when, who, and what they did.

    Of versions that were given up only the log is left, and it says so. With --json, one object a line.
    """
    asyncio.run(_log(url, config_file, as_json, limit))


async def _log(url: str, config_file: Path | None, as_json: bool, limit: int) -> None:
    async with opened(url, config_file) as catalog, aclosing(history(catalog, limit)) as versions:
        waiting: list[VersionFacts] = []
        count = 0
        async for facts in versions:
            count += 1
            if as_json:
                print_json(facts)
                continue
            waiting.append(facts)
            if len(waiting) == _TURN:
                _print(waiting, begins=count == _TURN)
                waiting.clear()
        if waiting:
            _print(waiting, begins=count < _TURN)
        latest = catalog.versions.known
        older = latest.version + 1 - count
        if older and not as_json:
            show(cell(f"{plural(older, 'older version')}; --limit 0 shows all", "dim"))


def _print(versions: Sequence[VersionFacts], *, begins: bool) -> None:
    """A part of the table. Its parts look like one: all columns but the last are as wide in each."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=begins)
    table.add_column("version", justify="right", min_width=_VERSION_COLUMNS, no_wrap=True)
    table.add_column("when", min_width=_TIME_COLUMNS, no_wrap=True)
    table.add_column("who", min_width=_AGENT_COLUMNS, max_width=_AGENT_COLUMNS, no_wrap=True, overflow="ellipsis")
    table.add_column("what", overflow="fold")
    for facts in versions:
        for row in _rows(facts):
            table.add_row(*map(cell, row))
    show(table)


def _rows(facts: VersionFacts) -> Sequence[Sequence[str]]:
    """A line for each action; version, time and agent stand on the first line that they are true of."""
    version, when = str(facts.version), f"{facts.created_at[:19]}Z"
    mark = _GIVEN_UP if facts.given_up else ""
    if not facts.transactions:
        return [(version, when, "", f"{mark}the catalog was created")]
    rows = []
    for record in facts.transactions:
        agent = record.agent
        for words in _words(record):
            rows.append((version, when, agent, mark + words))
            version = when = agent = mark = ""
    return rows


def _words(record: RecordFacts) -> Sequence[str]:
    if record.refusal is not None:
        return [f"transaction {record.id} was refused: {record.refusal}"]
    words = [action.words for action in record.actions if action.is_told] or ["nothing: it only read"]
    if record.ordered_before is not None:
        words.append(f"ordered before version {record.ordered_before}, whose changes it had not read")
    return words
