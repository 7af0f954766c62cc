"""Checking a catalog: every kept version, its chain and its tree, the definitions it names, the transactions' logs.

Nothing is changed. What cannot be read is a problem in the report, never an exception.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from catalog_format import paths
from catalog_format.definitions import file_of, read_definition
from catalog_format.distributed.log import TransactionLogs
from catalog_format.errors import TreelineError
from catalog_format.keys import describe
from catalog_format.node import Node, Root
from catalog_format.node_store import NodeStore
from catalog_format.storage import Storage
from catalog_format.tree import NodeSource
from catalog_format.tree.invariants import verify
from catalog_format.tree.spots import Spot
from catalog_format.version_log import VersionLog

Progress = Callable[[int, int], None]


@dataclass(slots=True)
class CheckReport:
    """What a check found."""

    latest_version: int
    versions: int = 0
    nodes: int = 0
    transactions: int = 0
    problems: list[str] = field(default_factory=list)
    unreachable: list[str] = field(default_factory=list)
    """Files of the format that no kept version names: left by attempts that lost. Harmless; collecting removes them."""

    @property
    def clean(self) -> bool:
        return not self.problems


class _NodesInUse:
    """Passes nodes on and notes their names."""

    def __init__(self, source: NodeSource) -> None:
        self._source = source
        self.names: set[str] = set()

    def cached(self, name: str) -> Node | None:
        self.names.add(name)
        return self._source.cached(name)

    async def node(self, name: str) -> Node:
        self.names.add(name)
        return await self._source.node(name)


async def check(
    storage: Storage, versions: VersionLog, nodes: NodeStore, logs: TransactionLogs, progress: Progress | None = None
) -> CheckReport:
    """Walk all kept versions, newest last. `progress` is told (versions done, versions in all)."""
    latest = await versions.open()
    report = CheckReport(latest.version)
    source = _NodesInUse(nodes)
    definitions: set[str] = set()
    verified: set[Spot] = set()
    before: Root | None = None
    for version in range(latest.header.oldest, latest.version + 1):
        try:
            root = await versions.read(version)
        except (TreelineError, OSError) as error:
            report.problems.append(str(error))
            before = None
            continue
        report.versions += 1
        if before is not None:
            report.problems += _chain_problems(before, root)
        report.problems += await verify(root, source, verified)
        definitions |= await _definition_files(root, storage, report)
        before = root
        if progress is not None:
            progress(version - latest.header.oldest + 1, latest.version - latest.header.oldest + 1)
    await _check_definitions_below(source, storage, definitions, report)
    report.nodes = len(source.names)
    await _check_transactions(storage, logs, report)
    await _check_versions_above(storage, report)
    known = {paths.node_path(name) for name in source.names} | definitions
    report.unreachable = [path for folder in ("node", "def") for path in await storage.list(folder) if path not in known]
    return report


def _chain_problems(before: Root, root: Root) -> list[str]:
    problems = []
    if root.header.previous_hash != before.hash:
        problems.append(f"Version {root.version} was not made from version {before.version} as it lies there: the hash chain is broken")
    if root.header.created_at_ms <= before.header.created_at_ms:
        problems.append(f"Version {root.version} says that it is not younger than version {before.version}")
    if root.header.oldest < before.header.oldest:
        problems.append(f"Version {root.version} keeps older versions than version {before.version} did")
    return problems


async def _definition_files(root: Root, storage: Storage, report: CheckReport) -> set[str]:
    """Files that the root's write buffer names, each read once."""
    found: set[str] = set()
    for row in root.buffer:
        if row.value is not None and row.stamp == root.version:
            await _check_value(row.key, row.value, storage, found, report)
        elif row.value is not None and (path := file_of(row.value)) is not None:
            found.add(path)
    return found


async def _check_definitions_below(source: _NodesInUse, storage: Storage, found: set[str], report: CheckReport) -> None:
    """The same for all leaves that any kept version names."""
    for name in sorted(source.names):
        try:
            node = await source.node(name)
        except (TreelineError, OSError):
            continue
        if node.level == 0:
            for row in node.rows:
                if row.value is not None:
                    await _check_value(row.key, row.value, storage, found, report)


async def _check_value(key: bytes, value: bytes, storage: Storage, found: set[str], report: CheckReport) -> None:
    path = file_of(value)
    if path is None or path in found:
        return
    found.add(path)
    try:
        await read_definition(value, storage)
    except (TreelineError, OSError) as error:
        report.problems.append(f"{describe(key)}: {error}")


async def _check_versions_above(storage: Storage, report: CheckReport) -> None:
    """Versions have no gaps: one above the latest that can be found means that a root between them is gone."""
    names = [path.rpartition("/")[2] for path in await storage.list("vn")]
    above = [paths.number_of(name) for name in names if len(name) == paths.VERSION_BITS]
    highest = max(above, default=report.latest_version)
    if highest > report.latest_version:
        missing = report.latest_version + 1
        report.problems.append(
            f"Version {highest} exists, but the root of version {missing} ({paths.root_path(missing)}) is missing, so "
            f"{report.latest_version} is taken for the latest: stop all servers and restore that file before anything is committed"
        )


async def _check_transactions(storage: Storage, logs: TransactionLogs, report: CheckReport) -> None:
    listed = set(await logs.list_open()) | {path.split("/")[1] for path in await storage.list("dtxn")}
    for transaction_id in sorted(listed):
        report.transactions += 1
        try:
            await logs.load(transaction_id)
        except (TreelineError, OSError) as error:
            report.problems.append(str(error))
