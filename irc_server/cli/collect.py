"""`treeline collect`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from catalog_format.keys import Identifier
from catalog_format.maintenance.collect import collect as run_collect
from irc_server.cli.durations import milliseconds
from irc_server.cli.opening import on_a_catalog, opened
from irc_server.cli.printing import plural, print_json, printable
from irc_server.cli.progress import progress_bar

_DELETED_SHOWN = 20


@dataclass(frozen=True, slots=True)
class CollectFacts:
    """What was deleted, or with `dry_run` would be."""

    url: str
    dry_run: bool
    files: int
    """Files below the root, those of engines included."""
    candidates: int
    """Files of Treeline's own among them that it may delete when nothing needs them."""
    deleted: list[str]
    epoch_version: int | None
    """The version that began the collect epoch; None if there was nothing to delete."""
    purged: list[Identifier]
    """Tables that were dropped with purge and whose files are gone now."""
    purged_files: list[str]
    """Files that their metadata named, less those that something kept shows; some may have been gone before."""
    purges_waiting: int
    purge_problems: list[str]


@click.command()
@on_a_catalog
@click.option(
    "--purge-after",
    metavar="DURATION",
    callback=milliseconds,
    default="3d",
    show_default=True,
    help="Purge tables that were dropped so long ago at least, once no kept version shows them.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and do nothing of it.")
def collect(url: str, config_file: Path | None, as_json: bool, purge_after: int, dry_run: bool) -> None:
    """Delete the files of the catalog at URL that no kept version and no unfinished transaction needs.

    Only files that Treeline wrote: nodes, definitions, metadata files. Files of engines stay, but for those of tables that were
    dropped with purge and that no kept version shows. Exits with 1 if there were problems with these; the rest was done all the same.
    """
    facts = asyncio.run(_collected(url, config_file, purge_after, dry_run))
    if as_json:
        print_json(facts)
    else:
        _print(facts)
    if facts.purge_problems:
        # Nothing was lost, but some table waits until somebody does something about it: whoever runs this by cron has to hear of it.
        sys.exit(1)


async def _collected(url: str, config_file: Path | None, purge_after_ms: int, dry_run: bool) -> CollectFacts:
    async with opened(url, config_file) as catalog:
        with progress_bar() as progress:
            report = await run_collect(catalog.parts, purge_patience_ms=purge_after_ms, dry_run=dry_run, progress=progress)
        purge = report.purge
        return CollectFacts(
            catalog.url,
            dry_run,
            report.files,
            report.candidates,
            report.deleted,
            report.epoch_version,
            purge.tables,
            purge.deleted,
            purge.waiting,
            purge.problems,
        )


def _print(facts: CollectFacts) -> None:
    if facts.dry_run:
        for path in facts.deleted[:_DELETED_SHOWN]:
            click.echo(f"would be deleted: {printable(path)}")
        if len(facts.deleted) > _DELETED_SHOWN:
            click.echo(f"… and {len(facts.deleted) - _DELETED_SHOWN} more (--json names all)")
    verb = "would be deleted" if facts.dry_run else "deleted"
    for problem in facts.purge_problems:
        click.echo(f"problem: {printable(problem)}")
    if facts.purged:
        names = printable(", ".join(map(".".join, facts.purged)))
        # Not "deleted": collect may have taken old metadata files among them before.
        done = "Would be purged" if facts.dry_run else "Purged"
        click.echo(f"{done}: {names} (files that their metadata named: {len(facts.purged_files)})")
    if facts.purges_waiting:
        click.echo(
            f"{plural(facts.purges_waiting, 'dropped table')} to be purged later: dropped since --purge-after, still shown by a kept "
            f"version or an open transaction, or held up by a problem above (`treeline show {facts.url} --all` lists what waits)"
        )
    click.echo(f"{plural(len(facts.deleted), 'file')} {verb} of {facts.candidates} that Treeline wrote ({facts.files} in all)")
