"""Output: JSON for programs, tables for people. Nothing here knows what it prints."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click
import orjson
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

# Where nobody looks at a screen, lines are for grep: so wide that nothing is folded.
_PIPED_COLUMNS = 4000


def print_json(value: object) -> None:
    """One JSON document on a line of its own, UTF-8 wherever it goes. Dataclasses become objects."""
    click.echo(orjson.dumps(value))


def show(*renderables: RenderableType) -> None:
    """Print for people: as wide as the terminal is, coloured if it has colours, and never stopped by what it cannot show."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPED_COLUMNS
    with console.capture() as captured:
        console.print(*renderables, sep="\n")
    # Tables are padded to their full width, which nobody wants in a file.
    click.echo("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A plain table. A heading that ends with ">" is for numbers; without headings it goes on where another ended."""
    made = _plain_table(show_header=any(headings))
    for heading in headings:
        made.add_column(heading.removesuffix(">"), justify="right" if heading.endswith(">") else "left", overflow="fold")
    for row in rows:
        made.add_row(*map(cell, row))
    return made


def pairs(named: Sequence[tuple[str, str]]) -> Table:
    """Names and what they stand for, one pair a line."""
    made = _plain_table(show_header=False)
    made.add_column(style="bold", overflow="fold")
    made.add_column(overflow="fold")
    for name, value in named:
        made.add_row(cell(name), cell(value))
    return made


def _plain_table(*, show_header: bool) -> Table:
    return Table(box=None, pad_edge=False, header_style="bold", show_header=show_header)


def cell(text: str, style: str = "") -> Text:
    """Text as it is, but for control characters: names and values come from strangers."""
    return Text(printable(text), style)


def printable(text: str) -> str:
    """The text with everything that a terminal would act on replaced."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def plural(count: int, noun: str) -> str:
    """ "1 row", "2 rows"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """Bytes in words."""
    if count < 1024:
        return f"{count} B"
    for unit in ("KiB", "MiB"):
        count_in_unit = count / (1024 if unit == "KiB" else 1024**2)
        if count_in_unit < 1024:
            return f"{count_in_unit:.1f} {unit}"
    return f"{count / 1024**3:.1f} GiB"
