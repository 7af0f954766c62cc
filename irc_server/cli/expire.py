"""`treeline expire`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from catalog_format.maintenance.expire import ExpiryPolicy
from catalog_format.maintenance.expire import expire as run_expire
from irc_server.cli.durations import milliseconds
from irc_server.cli.opening import on_a_catalog, opened
from irc_server.cli.printing import plural, print_json, printable
from irc_server.cli.progress import progress_bar

KEEP = 10
"""So many versions stay at least, however old: a catalog that rests for a month can still be looked at as it was before."""


@dataclass(frozen=True, slots=True)
class ExpireFacts:
    """What was given up, or with `dry_run` would be."""

    url: str
    dry_run: bool
    oldest_before: int
    """The oldest kept version before."""
    oldest: int
    """The oldest kept version now."""
    given_up: int
    pinned: list[int]
    """Versions below `oldest` that unfinished transactions hold."""
    dropped_outcomes: int
    dropped_answers: int
    problems: list[str]
    """Versions that could not be given up, and why."""


@click.command()
@on_a_catalog
# Nothing brings a version back, so nobody gets to know a default by what it took.
@click.option(
    "--older-than",
    metavar="DURATION",
    callback=milliseconds,
    required=True,
    help="Keep every moment of this last while readable: 90s, 30m, 12h, 7d.",
)
@click.option("--keep", type=click.IntRange(min=1), default=KEEP, show_default=True, help="Keep so many newest versions, however old.")
@click.option("--dry-run", is_flag=True, help="Say what would be given up, and do nothing of it.")
def expire(url: str, config_file: Path | None, as_json: bool, older_than: int, keep: int, dry_run: bool) -> None:
    """Give up old versions of the catalog at URL: they cannot be read any more, their log stays.

    Versions that open transactions are based on stay until those end. Files go when `treeline collect` is called.
    """
    facts = asyncio.run(_expired(url, config_file, ExpiryPolicy(older_than, keep), dry_run))
    if as_json:
        print_json(facts)
    else:
        _print(facts)
    if facts.problems:
        sys.exit(1)


async def _expired(url: str, config_file: Path | None, policy: ExpiryPolicy, dry_run: bool) -> ExpireFacts:
    async with opened(url, config_file) as catalog:
        with progress_bar() as progress:
            report = await run_expire(catalog.parts, policy, dry_run=dry_run, progress=progress)
        return ExpireFacts(
            catalog.url,
            dry_run,
            report.oldest_before,
            report.oldest,
            report.given_up,
            report.pinned,
            report.dropped_outcomes,
            report.dropped_answers,
            report.problems,
        )


def _print(facts: ExpireFacts) -> None:
    for problem in facts.problems:
        click.echo(f"problem: {printable(problem)}")
    would = "would be " if facts.dry_run else ""
    click.echo(
        f"{plural(facts.given_up, 'version')} {would}given up; the oldest kept one {'would be' if facts.dry_run else 'is'} {facts.oldest}"
    )
    if facts.pinned:
        click.echo(f"Held by unfinished transactions: {', '.join(map(str, facts.pinned))}")
    if facts.dropped_outcomes or facts.dropped_answers:
        verdicts, answers = plural(facts.dropped_outcomes, "verdict"), plural(facts.dropped_answers, "answer")
        click.echo(f"{verdicts} and {answers} to repeated requests {would}taken out of the tree")
