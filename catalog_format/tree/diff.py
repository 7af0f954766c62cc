"""The difference of two versions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from catalog_format.node import Root
from catalog_format.tree.compare import Difference, differences
from catalog_format.tree.source import NodeSource


async def diff(
    old_root: Root, new_root: Root, source: NodeSource, low: bytes | None = None, high: bytes | None = None
) -> AsyncGenerator[Difference, None]:
    """Keys in [low, high) whose live entries differ in stamp or value, in key order; without bounds, all of them.

    The roots may be any two versions, of two branches even. Nodes that both name are not read. Raises `CorruptFileError`.
    """
    async with aclosing(differences(old_root, new_root, low or b"", high, source)) as found:
        async for difference in found:
            yield difference
