"""The catalogs that are measured side by side: Treeline, Treeline that joins nothing, Iceberg's reference server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog

from catalog_format.catalog import open_catalog
from catalog_format.pb import catalog_pb2 as pb
from perf.bench import Bench
from perf.generator import cpu_seconds
from perf.joining.reference_server import reference_server
from perf.processes import serving
from tests.integration.rck.class_path import KIT_VERSION

TREELINE = "Treeline"
UNJOINED = "Treeline, joining nothing"
REFERENCE = f"Iceberg's reference server {KIT_VERSION}"


@dataclass(frozen=True, slots=True)
class Address:
    """What a client needs to get to a catalog."""

    uri: str
    warehouse: str | None = None

    def connect(self) -> Catalog:
        properties = {"uri": self.uri} | ({"warehouse": self.warehouse} if self.warehouse else {})
        return load_catalog("perf", type="rest", **properties)


@dataclass(frozen=True, slots=True)
class RunningCatalog:
    """One that answers."""

    name: str
    address: Address
    pid: int
    root: Path | None = None
    """Treeline's folder."""

    @property
    def cpu_s(self) -> float:
        return cpu_seconds(self.pid)

    def ordered_backwards(self) -> int | None:
        """How many of its transactions took effect before others that had committed already; None for who does not do that."""
        return None if self.root is None else asyncio.run(_ordered_backwards(self.root))


@contextmanager
def running(bench: Bench, name: str, folder: str) -> Iterator[RunningCatalog]:
    """One of the catalogs, empty, in a new folder."""
    below = bench.below(folder)
    if name == REFERENCE:
        with reference_server(below) as server:
            yield RunningCatalog(name, Address(server.uri), server.pid)
        return
    root = below / "catalog"
    module = "perf.joining.unjoined_app" if name == UNJOINED else None
    with serving(str(root), below / "log", module=module) as treeline:
        yield RunningCatalog(name, Address(f"http://127.0.0.1:{treeline.port}", "treeline"), treeline.pid, root)


async def _ordered_backwards(root: Path) -> int:
    catalog = await open_catalog(str(root))
    try:
        count = 0
        for version in range(1, await catalog.latest_version() + 1):
            actions = (await catalog.versions.read(version)).actions
            count += sum(pb.TransactionRecord.FromString(row.value or b"").ordered_backwards for row in actions)
        return count
    finally:
        await catalog.close()
