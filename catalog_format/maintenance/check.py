"""Checking a catalog: every version that is kept or held, its chain and its tree, the definitions it names, the transactions' logs.

Nothing is changed. What cannot be read is a problem in the report, never an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from catalog_format import paths
from catalog_format.definitions import file_of, read_definition
from catalog_format.distributed.image import TransactionImage
from catalog_format.distributed.log import TransactionLogs
from catalog_format.door import TransactionStatus
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
MOST_STARTS = 3


@dataclass(slots=True)
class CheckReport:
    """What a check found."""

    latest_version: int
    oldest_version: int
    """Versions below were given up."""
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
    for _ in range(MOST_STARTS):
        latest = await versions.open()
        report = await _Walk(storage, versions, nodes, logs, latest, progress).report()
        # What is missing may have been given up meanwhile, and collected.
        if report.clean or (await versions.confirm(anew=True)).header.oldest == report.oldest_version:
            break
    return report


class _Walk:
    """One look at everything, as of one latest version."""

    def __init__(
        self,
        storage: Storage,
        versions: VersionLog,
        nodes: NodeStore,
        logs: TransactionLogs,
        latest: Root,
        progress: Progress | None,
    ) -> None:
        self._storage = storage
        self._versions = versions
        self._logs = logs
        self._source = _NodesInUse(nodes)
        self._definitions: set[str] = set()
        self._verified: set[Spot] = set()
        self._progress = progress
        self._kept = range(latest.header.oldest, latest.version + 1)
        self._held: Collection[int] = ()
        self._report = CheckReport(latest.version, latest.header.oldest)

    async def report(self) -> CheckReport:
        report = self._report
        transactions = await self._check_transactions()
        # Ascending, as `verify` wants them: what transactions hold comes before what is kept.
        await self._check_held(transactions)
        await self._check_kept()
        await _check_definitions_below(self._source, self._storage, self._definitions, report)
        report.nodes = len(self._source.names)
        await self._check_no_gaps()
        known = {paths.node_path(name) for name in self._source.names} | self._definitions
        report.unreachable = [path for folder in ("node", "def") for path in await self._storage.list(folder) if path not in known]
        return report

    async def _check_kept(self) -> None:
        """Every kept version; the oldest one was made from what is a stub now, or will be."""
        before = await self._traced(self._kept.start - 1) if self._kept.start else None
        for done, version in enumerate(self._kept, 1):
            root = await self._read(version)
            if root is not None:
                self._report.versions += 1
                if before is not None:
                    self._report.problems += _chain_problems(before, root)
                await self._check_root(root)
            before = root
            if self._progress is not None:
                self._progress(done, len(self._kept))

    async def _check_held(self, transactions: Sequence[TransactionImage]) -> None:
        """Versions that were given up and that unfinished transactions are based on all the same."""
        held = {image.base_version: image for image in transactions if image.base_version < self._kept.start}
        self._held = held.keys()
        for version, image in sorted(held.items()):
            root = await self._traced(version)
            if root is not None and not root.stub:
                self._report.versions += 1
                await self._check_root(root)
            elif root is not None and image.status is TransactionStatus.OPEN and (image.changes or image.reads):
                # A sealed one has its verdict already, or is refused. One that did nothing may have begun too late to hold its
                # base, which whoever uses it next will notice.
                self._report.problems.append(
                    f"Transaction {image.transaction_id} is unfinished, and its base version {version} was given up: "
                    "it cannot go on; roll it back"
                )

    async def _check_no_gaps(self) -> None:
        """Every version exists, from the first one on; of those that are kept, others have looked at the file itself."""
        names = [path.rpartition("/")[2] for path in await self._storage.list("vn")]
        numbers = {paths.number_of(name) for name in names if len(name) == paths.VERSION_BITS}
        for version in range(self._kept.start - 1):
            if version not in numbers and version not in self._held:
                self._report.problems.append(
                    f"The root of version {version} ({paths.root_path(version)}), which was given up, is missing: restore the file, "
                    "or the log has a gap there for ever"
                )
        highest, latest = max(numbers, default=0), self._report.latest_version
        # One above the latest that can be found means that a root between them is gone. Others may have committed since the check
        # began, so the listing itself has to show the gap.
        missing = next((number for number in range(latest + 1, highest) if number not in numbers), None)
        if missing is not None:
            self._report.problems.append(
                f"Version {highest} exists, but the root of version {missing} ({paths.root_path(missing)}) is missing, so "
                f"{missing - 1} is taken for the latest: stop all servers and restore that file before anything is committed"
            )

    async def _check_root(self, root: Root) -> None:
        self._report.problems += await verify(root, self._source, self._verified)
        for row in root.buffer:
            if row.value is not None:
                await _check_value(row.key, row.value, self._storage, self._definitions, self._report)

    async def _read(self, version: int) -> Root | None:
        root = await self._traced(version)
        if root is not None and root.stub:
            self._report.problems.append(f"Version {version} is kept, but only the stub of its root is left ({paths.root_path(version)})")
        return None if root is None or root.stub else root

    async def _traced(self, version: int) -> Root | None:
        """The root or its stub; None if neither can be read, which is a problem."""
        try:
            return await self._versions.trace(version)
        except (TreelineError, OSError) as error:
            self._report.problems.append(str(error))
            return None

    async def _check_transactions(self) -> list[TransactionImage]:
        """Every log; those that have not ended are given back."""
        unfinished = []
        listed = set(await self._logs.list_open()) | {path.split("/")[1] for path in await self._storage.list("dtxn")}
        for transaction_id in sorted(listed):
            self._report.transactions += 1
            try:
                image = await self._logs.load(transaction_id)
            except (TreelineError, OSError) as error:
                self._report.problems.append(str(error))
                continue
            if not image.status.final:
                unfinished.append(image)
        return unfinished


def _chain_problems(before: Root, root: Root) -> list[str]:
    problems = []
    if root.header.previous_hash != before.hash:
        problems.append(f"Version {root.version} was not made from version {before.version} as it lies there: the hash chain is broken")
    if root.header.created_at_ms <= before.header.created_at_ms:
        problems.append(f"Version {root.version} says that it is not younger than version {before.version}")
    if root.header.oldest < before.header.oldest:
        problems.append(f"Version {root.version} keeps older versions than version {before.version} did")
    return problems


async def _check_definitions_below(source: _NodesInUse, storage: Storage, found: set[str], report: CheckReport) -> None:
    """Files that the leaves name of all versions walked."""
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
    """The definition's file, if it has one that is not in `found` yet."""
    path = file_of(value)
    if path is None or path in found:
        return
    found.add(path)
    try:
        await read_definition(value, storage)
    except (TreelineError, OSError) as error:
        report.problems.append(f"{describe(key)}: {error}")
