"""What was deleted or given up, judged by what was needed at that very moment and later."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from catalog_format import paths
from tests.simulation.disk import Disk, Loss
from tests.simulation.history import Fate, History
from tests.simulation.truth import UNFINISHED, Log, Truth


def losses(disk: Disk, truth: Truth, purged: Callable[[Loss], bool]) -> Iterator[str]:
    """Files and roots that somebody needed who was there when they went, or came later; but for those that wishes to purge led to."""
    for loss in disk.deletions:
        if not purged(loss):
            yield from _deleted(loss, disk, truth)
    for loss in disk.stubs:
        yield from _stubbed(loss, disk, truth)


def _deleted(loss: Loss, disk: Disk, truth: Truth) -> Iterator[str]:
    for version in truth.versions[truth.versions[loss.version].oldest :]:
        if loss.path in version.needed:
            yield f"{loss.path} was deleted after version {loss.version}, and version {version.number} needs it"
    for log in unfinished(loss, truth):
        if holds_base(log, disk, truth) and loss.path in truth.versions[log.base_version].needed:
            yield f"{loss.path} was deleted, and {log.id}, not finished, is based on version {log.base_version}, which needs it"
        if loss.path in truth.needed_by(log):
            yield f"{loss.path} was deleted, and {log.id}, not finished, needs it for what it writes"


def _stubbed(loss: Loss, disk: Disk, truth: Truth) -> Iterator[str]:
    number = paths.number_of(loss.path.rpartition("/")[2])
    if number >= truth.versions[loss.version].oldest:
        yield f"version {number} became a stub after version {loss.version}, which keeps it"
    for log in unfinished(loss, truth):
        if log.base_version == number and holds_base(log, disk, truth):
            yield f"version {number} became a stub, and {log.id}, not finished, is based on it"


def unfinished(loss: Loss, truth: Truth) -> Iterator[Log]:
    """Transactions that had begun and had no verdict yet, neither in their log nor in the tree."""
    for transaction_id, states in loss.states.items():
        log, outcome = truth.logs[transaction_id], truth.outcome(transaction_id)
        if log.status_at(states) in UNFINISHED and (outcome is None or outcome.version > loss.version):
            yield log


def begun_too_late(disk: Disk, truth: Truth, history: History) -> Iterator[str]:
    """Whoever was told that a transaction has begun was told so of a base that was kept when its first state appeared."""
    for transaction in history.transactions.values():
        log = truth.logs.get(transaction.id)
        if log is not None and Fate.ACKNOWLEDGED in transaction.begins and not holds_base(log, disk, truth):
            yield f"{log.id} was begun on version {log.base_version}, which had been given up"


def holds_base(log: Log, disk: Disk, truth: Truth) -> bool:
    """Whether its base was kept when its first state appeared. If not, it began too late, and is about to be told."""
    return truth.versions[disk.began[log.id]].oldest <= log.base_version
