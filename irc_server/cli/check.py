"""`treeline check`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from catalog_format.maintenance.check import check as run_check
from irc_server.cli.opening import on_a_catalog, opened
from irc_server.cli.printing import plural, print_json, printable
from irc_server.cli.progress import progress_bar

_UNREACHABLE_SHOWN = 20


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """What a check found."""

    url: str
    clean: bool
    latest_version: int
    oldest_version: int
    """Versions below were given up."""
    versions: int
    """So many were read: those that are kept, and those that only unfinished transactions hold."""
    nodes: int
    transactions: int
    problems: list[str]
    unreachable: list[str]
    """Files that no kept version names; harmless."""


@click.command()
@on_a_catalog
def check(url: str, config_file: Path | None, as_json: bool) -> None:
    """Read every version of the catalog at URL that is kept and say what is wrong. Changes nothing; exits with 1 if there are problems."""
    facts = asyncio.run(_checked(url, config_file))
    if as_json:
        print_json(facts)
    else:
        _print(facts)
    if not facts.clean:
        sys.exit(1)


async def _checked(url: str, config_file: Path | None) -> CheckFacts:
    async with opened(url, config_file) as catalog:
        with progress_bar() as progress:
            report = await run_check(
                catalog.storage,
                catalog.versions,
                catalog.nodes,
                catalog.logs,
                lambda done, total: progress("checking versions", done, total),
            )
        return CheckFacts(
            catalog.url,
            report.clean,
            report.latest_version,
            report.oldest_version,
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
