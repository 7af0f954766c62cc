"""`treeline check`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from catalog_format.maintenance.check import check as run_check
from irc_server.cli.opening import on_a_catalog, opened
from irc_server.cli.printing import plural, print_json, printable

_UNREACHABLE_SHOWN = 20


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """What a check found."""

    url: str
    clean: bool
    latest_version: int
    versions: int
    nodes: int
    transactions: int
    problems: list[str]
    unreachable: list[str]
    """Files that no kept version names; harmless."""


@click.command()
@on_a_catalog
def check(url: str, config_file: Path | None, as_json: bool) -> None:
    """Read every kept version of the catalog at URL and say what is wrong. Changes nothing; exits with 1 if there are problems."""
    facts = asyncio.run(_checked(url, config_file))
    if as_json:
        print_json(facts)
    else:
        _print(facts)
    if not facts.clean:
        sys.exit(1)


async def _checked(url: str, config_file: Path | None) -> CheckFacts:
    async with opened(url, config_file) as catalog:
        console = Console(stderr=True)
        columns = (TextColumn("checking versions"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("", total=None)
            report = await run_check(
                catalog.storage,
                catalog.versions,
                catalog.nodes,
                catalog.logs,
                lambda done, total: progress.update(task, completed=done, total=total),
            )
        return CheckFacts(
            catalog.url,
            report.clean,
            report.latest_version,
            report.versions,
            report.nodes,
            report.transactions,
            report.problems,
            report.unreachable,
        )


def _print(facts: CheckFacts) -> None:
    for problem in facts.problems:
        click.echo(f"problem: {printable(problem)}")
    for path in facts.unreachable[:_UNREACHABLE_SHOWN]:
        click.echo(f"unreachable: {printable(path)}")
    if len(facts.unreachable) > _UNREACHABLE_SHOWN:
        click.echo(f"… and {len(facts.unreachable) - _UNREACHABLE_SHOWN} more unreachable files (--json names all)")
    counted = f"{plural(facts.versions, 'version')}, {plural(facts.nodes, 'node')}, {plural(facts.transactions, 'transaction log')}"
    left = f"; {plural(len(facts.unreachable), 'unreachable file')}, harmless" if facts.unreachable else ""
    click.echo(f"Checked {facts.url}: {counted}: {plural(len(facts.problems), 'problem') if facts.problems else 'no problems'}{left}")
