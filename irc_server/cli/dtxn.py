"""`treeline dtxn`: distributed transactions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from catalog_format.clock import SystemClock
from irc_server.cli.facts.transactions import TransactionFacts, open_transactions, transaction
from irc_server.cli.opening import caller, on_a_catalog, opened
from irc_server.cli.printing import pairs, plural, print_json, show, table

_SECONDS = 19


@click.group()
def dtxn() -> None:
    """Look at distributed transactions, and end them."""


@dtxn.command("list")
@on_a_catalog
def list_command(url: str, config_file: Path | None, as_json: bool) -> None:
    """List the transactions of the catalog at URL that have not ended. With --json, one object a line."""
    found = asyncio.run(_open_ones(url, config_file))
    if as_json:
        for facts in found:
            print_json(facts)
    elif not found:
        click.echo("No transaction is open")
    else:
        rows = [
            (
                facts.id,
                facts.status,
                facts.isolation,
                str(facts.base_version),
                _short(facts.began_at),
                _short(facts.expires_at),
                str(len(facts.changes)),
            )
            for facts in found
        ]
        show(table(("id", "status", "isolation", "base>", "began", "expires", "changes>"), rows))


@dtxn.command("show")
@on_a_catalog
@click.argument("transaction_id", metavar="ID")
def show_command(url: str, config_file: Path | None, as_json: bool, transaction_id: str) -> None:
    """Show one transaction of the catalog at URL, ended or not."""
    _print(asyncio.run(_one(url, config_file, transaction_id)), as_json)


@dtxn.command("commit")
@on_a_catalog
@click.argument("transaction_id", metavar="ID")
def commit_command(url: str, config_file: Path | None, as_json: bool, transaction_id: str) -> None:
    """Commit a transaction of the catalog at URL. Twice answers as the first did."""

    async def commit() -> TransactionFacts:
        async with opened(url, config_file) as catalog:
            # First as it stands: an id that cannot be one is unknown.
            await transaction(catalog, transaction_id, SystemClock())
            await catalog.transactions.commit(transaction_id, caller())
            return await transaction(catalog, transaction_id, SystemClock())

    facts = asyncio.run(commit())
    if as_json:
        print_json(facts)
    else:
        click.echo(f"Committed {facts.id}: {plural(len(facts.changes), 'change')}, version {facts.version}")


@dtxn.command("rollback")
@on_a_catalog
@click.argument("transaction_id", metavar="ID")
def rollback_command(url: str, config_file: Path | None, as_json: bool, transaction_id: str) -> None:
    """Roll back a transaction of the catalog at URL: nothing of it will have happened."""

    async def roll_back() -> TransactionFacts:
        async with opened(url, config_file) as catalog:
            await transaction(catalog, transaction_id, SystemClock())
            await catalog.transactions.rollback(transaction_id)
            return await transaction(catalog, transaction_id, SystemClock())

    facts = asyncio.run(roll_back())
    if as_json:
        print_json(facts)
    else:
        click.echo(f"Transaction {facts.id} is {facts.status}")


async def _open_ones(url: str, config_file: Path | None) -> list[TransactionFacts]:
    async with opened(url, config_file) as catalog:
        return await open_transactions(catalog, SystemClock())


async def _one(url: str, config_file: Path | None, transaction_id: str) -> TransactionFacts:
    async with opened(url, config_file) as catalog:
        return await transaction(catalog, transaction_id, SystemClock())


def _print(facts: TransactionFacts, as_json: bool) -> None:
    if as_json:
        print_json(facts)
        return
    told = [
        ("transaction", facts.id),
        ("status", facts.status),
        ("isolation", facts.isolation),
        ("base version", str(facts.base_version)),
        ("version", "" if facts.version is None else str(facts.version)),
        ("began", _short(facts.began_at)),
        ("expires", _short(facts.expires_at)),
        ("ended", _short(facts.ended_at)),
        ("reason", facts.reason),
        *((f"property {name}", value) for name, value in sorted(facts.properties.items())),
        *(("change", action.words) for action in facts.changes),
        *(("read", words) for words in facts.reads),
    ]
    show(pairs([(name, value) for name, value in told if value]))


def _short(moment: str | None) -> str:
    return "" if moment is None else f"{moment[:_SECONDS]}Z"
