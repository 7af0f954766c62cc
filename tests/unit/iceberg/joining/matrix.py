"""Which operation joins with which: the table of docs/isolation.md, as the tests hold it against the code."""

from __future__ import annotations

from tests.unit.iceberg.joining.operations import Level

# Rows are the change that commits second, columns (in the order of the rows) the one that came first.
# "+" joins; "s" conflicts where both are about the same file or name; "p" conflicts within one partition; "x" conflicts.
# "+/s": the former in formats 1 and 2, the latter in format 3.
MATRIX = {
    "append": "+ + + + + + + + + + + + + + x x + + + + + + + x x",
    "append, merging manifests": "+ + + + + + + + + + + + + + x x + + + + + + + x x",
    "delete of whole files": "+ + s s + s s p p s + + + + x x + + + + + + + x x",
    "overwrite, copy-on-write": "+ + s s x s s p p s + + + + x x + + + + + + + x x",
    "overwrite that matched nothing": "x x + x x + x x x + + + + x x x + + + + + + + x x",
    "delete, merge-on-read": "+ + s s + +/s s p p s + + + + x x + + + + + + + x x",
    "update, merge-on-read": "+ + s s x s s p p s + + + + x x + + + + + + + x x",
    "upsert, equality deletes": "p p + p x + p p p + + + + p x x + + + x + + + x x",
    "replace partitions": "p p p p x p p p p p + + + p x x + + + + x + + x x",
    "rewrite of data files": "+ + s s + s s p p s + + + + x x + + + + + + + x x",
    "rewrite of manifests": "+ + + + + + + + + + + + + + x x + + + + + + + x x",
    "append to another branch": "+ + + + + + + + + + + + + + + + + + + + + + + x x",
    "staged append": "+ + + + + + + + + + + + + + + + + + + + + + + x x",
    "publication of a staged append": "+ + + + + + + + + + + + + s x x + + + + + + + x x",
    "retention of the branch": "x x x x x x x x x x x + + x x x + + + + + + + + x",
    "rollback": "x x x x x x x x x x x + + x x x + s + + + + + + x",
    "tag": "+ + + + + + + + + + + + + + + + s s + + + + + + x",
    "expire snapshots": "+ + + + + + + + + + + + + + + s s x s + + + + + +",
    "statistics": "+ + + + + + + + + + + + + + + + + s s + + + + + +",
    "add a column": "+ + + + + + + + + + + + + + + + + + + x x x + + x",
    "partition spec": "+ + + + + + + + + + + + + + + + + + + x x + + + x",
    "sort order": "+ + + + + + + + + + + + + + + + + + + x + x + + x",
    "property": "+ + + + + + + + + + + + + + + + + + + + + + s + +",
    "location": "x x x x x x x x x x x x x x + + + + + + + + + x +",
    "format version": "x x x x x x x x x x x x x x x x x + + x x x + + x",
}
CONFLICTING = {"+": set[Level](), "s": {Level.SAME}, "p": {Level.NEAR, Level.SAME}, "x": set(Level)}


def expected(own: str, rival: str, version: int) -> str:
    """The symbol for a format version."""
    cell = MATRIX[own].split()[list(MATRIX).index(rival)]
    former, _, latter = cell.partition("/")
    return latter if latter and version > 2 else former


def rendered() -> list[list[str]]:
    """The rows of the document's table."""
    return [[f"{number} {name}", *MATRIX[name].split()] for number, name in enumerate(MATRIX, 1)]


def document() -> str:
    """The table as the document has it."""
    lines = [["second ↓, first →", *(str(number) for number in range(1, len(MATRIX) + 1))], ["---"] * (len(MATRIX) + 1), *rendered()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
