"""`treeline tree`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text
from rich.tree import Tree

from irc_server.cli.facts.moments import root_at
from irc_server.cli.facts.shape import NodeFacts, TreeFacts, tree_facts
from irc_server.cli.opening import on_a_catalog, opened
from irc_server.cli.printing import cell, plural, print_json, show, size, table

_NAME_SHOWN = 12


@click.command()
@on_a_catalog
@click.option("--at", "moment", metavar="VERSION|TIME", help="The state to draw: a version, epoch milliseconds, or ISO 8601. [the latest]")
@click.option(
    "--children", type=click.IntRange(min=0), default=16, show_default=True, help="Draw at most so many children of a node; 0 for all."
)
def tree(url: str, config_file: Path | None, as_json: bool, moment: str | None, children: int) -> None:
    """Draw the nodes of the catalog at URL and how full they are. Exits with 1 if one is damaged."""
    facts = asyncio.run(_gathered(url, config_file, moment))
    if as_json:
        print_json(facts)
    else:
        _draw(facts, children)
    if facts.problems:
        sys.exit(1)


async def _gathered(url: str, config_file: Path | None, moment: str | None) -> TreeFacts:
    async with opened(url, config_file) as catalog:
        return await tree_facts(catalog, await root_at(catalog, moment))


def _draw(facts: TreeFacts, most: int) -> None:
    limits = facts.limits
    show(cell(f"Version {facts.version} of {facts.url}, made {facts.created_at}", "bold"))
    drawn = Tree(cell(f"root: {size(facts.file_bytes)}"))
    drawn.add(
        cell(
            f"write buffer: {facts.buffer_rows} of {limits.buffer_rows} rows, {size(facts.buffer_bytes)} of {size(limits.buffer_bytes)}, "
            f"{facts.buffer_fill_percent} % full, {plural(facts.buffer_tombstones, 'tombstone')}"
        )
    )
    drawn.add(cell(f"actions: {plural(facts.action_rows, 'transaction')}"))
    pivots = drawn.add(cell(f"pivot table: {plural(facts.pivot_rows, 'row')}, {size(facts.pivot_bytes)}"))
    _add(pivots, facts.children, most)
    show(drawn)
    if facts.levels:
        rows = [
            (_level_name(each.level), str(each.nodes), str(each.rows), size(each.bytes), f"{each.fill_percent} %") for each in facts.levels
        ]
        show("", table(("level", "nodes>", "rows>", "bytes>", "average fill>"), rows))


def _add(drawn: Tree, nodes: Sequence[NodeFacts], most: int) -> None:
    shown = nodes[:most] if most else nodes
    for node in shown:
        _add(drawn.add(_label(node)), node.children, most)
    if len(nodes) > len(shown):
        drawn.add(cell(f"… and {len(nodes) - len(shown)} more (--children 0 draws all)", "dim"))


def _label(node: NodeFacts) -> Text:
    if node.problem is not None:
        return cell(f"DAMAGED {node.problem}", "bold red")
    return cell(
        f"{_level_name(node.level)} {node.name[:_NAME_SHOWN]}…: {plural(node.rows, 'row')}, {size(node.bytes)}, "
        f"{node.fill_percent} % full, newest stamp {node.newest_stamp}"
    )


def _level_name(level: int) -> str:
    return "leaf" if level == 0 else f"level {level}"
