"""The copy-on-write B+-tree that holds a version's entries: pure over nodes, read through a `NodeSource`."""

from catalog_format.tree.compare import Difference
from catalog_format.tree.cursor import changed_since, is_empty, scan
from catalog_format.tree.diff import diff
from catalog_format.tree.search import MISS, lookup, lookup_cached, stamp_of
from catalog_format.tree.source import NodeSource
from catalog_format.tree.update import TreeUpdate, apply

__all__ = [
    "MISS",
    "Difference",
    "NodeSource",
    "TreeUpdate",
    "apply",
    "changed_since",
    "diff",
    "is_empty",
    "lookup",
    "lookup_cached",
    "scan",
    "stamp_of",
]
