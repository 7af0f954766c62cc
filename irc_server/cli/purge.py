"""`treeline purge`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import click

from catalog_format.keys import Identifier
from catalog_format.maintenance.purge_now import PurgePlan, plan_purge, purge_now
from irc_server.cli.facts.objects import table_named
from irc_server.cli.opening import on_a_catalog, opened
from irc_server.cli.printing import print_json, printable
from irc_server.cli.progress import progress_bar


@dataclass(frozen=True, slots=True)
class PurgeFacts:
    """What was purged, or with `dry_run` would be."""

    url: str
    dry_run: bool
    table: Identifier
    dropped: bool
    """Whether the table was there still."""
    lost_in: list[int]
    """Kept versions that show the table and cannot load it any more."""
    purged: bool
    deleted: list[str]
    """Files that the metadata of the table named, less those that something kept shows; some may have been gone before."""
    problems: list[str]


@click.command()
@on_a_catalog
@click.argument("table")
@click.option("--now", is_flag=True, help="Required: without it, a DROP with purge is carried out by `treeline collect` in its time.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and do nothing of it.")
def purge(url: str, config_file: Path | None, as_json: bool, table: str, now: bool, yes: bool, dry_run: bool) -> None:
    """Delete all files of TABLE in the catalog at URL at once, although old versions show it.

    TABLE is there still and will be dropped, or it was dropped with purge before. Files that another table of the latest version or an
    unfinished transaction shows stay. Never do this in a copy of a catalog: the files are those of the original, which loses them.
    Exits with 1 if there were problems, whether the table was purged or not.
    """
    if not now:
        raise click.UsageError("Say --now to delete the files at once; `treeline collect` deletes those of dropped tables in its time")
    facts = asyncio.run(_purged(url, config_file, table, not (yes or dry_run), dry_run))
    if as_json:
        print_json(facts)
    else:
        _print(facts)
    if facts.problems or not facts.purged:
        sys.exit(1)


async def _purged(url: str, config_file: Path | None, table: str, ask: bool, dry_run: bool) -> PurgeFacts:
    async with opened(url, config_file) as catalog:
        plan = await plan_purge(catalog.parts, table_named(table), dry_run=dry_run)
        if ask:
            _ask(plan)
        with progress_bar() as progress:
            report = await purge_now(catalog.parts, plan, dry_run=dry_run, progress=progress)
        purged = bool(report.tables)
        return PurgeFacts(catalog.url, dry_run, plan.table, plan.is_there, plan.versions, purged, report.deleted, report.problems)


def _ask(plan: PurgePlan) -> None:
    """Nothing brings the files back. Where nobody can answer, the answer is no."""
    what = "will be dropped, and all its files deleted" if plan.is_there else "was dropped; all its files will be deleted"
    click.echo(f"Table {printable(plan.name)} {what}. {_loss(plan.versions)}", err=True)
    if not sys.stdin.isatty():
        raise click.UsageError("Nobody is there to confirm it: say --yes")
    click.confirm("Go on?", abort=True, err=True)


def _loss(versions: Sequence[int]) -> str:
    if not versions:
        return "No kept version shows it."
    return f"Kept versions that show it and lose it: {_ranges(versions)}."


def _ranges(versions: Sequence[int]) -> str:
    """ "1-3, 7"."""
    runs = [[version for _, version in run] for _, run in groupby(enumerate(versions), lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _print(facts: PurgeFacts) -> None:
    for problem in facts.problems:
        click.echo(f"problem: {printable(problem)}")
    if facts.dry_run:
        for location in facts.deleted:
            click.echo(f"would be deleted: {printable(location)}")
    verb, name = "Would purge" if facts.dry_run else "Purged", printable(".".join(facts.table))
    done = f"{verb} {name} (files that its metadata named: {len(facts.deleted)}). {_loss(facts.lost_in)}"
    click.echo(done if facts.purged else f"{name} was not purged")
