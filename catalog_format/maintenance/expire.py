"""Expire: giving versions up. What remains of each is its stub: when it was made, by whom, and what they did.

The order is what makes it safe without clocks. `oldest` is raised first, in a commit; then the open transactions are listed. One that
begins looks at `oldest` after its first state was put. So either it is in the list, or it sees that its base is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from catalog_format import paths
from catalog_format.changes import Upkeep
from catalog_format.errors import CorruptFileError, InvalidArgumentError, NoSuchTransactionError, NoSuchVersionError
from catalog_format.keys import CATALOG_KEY, ObjectType, identifier_of, type_range
from catalog_format.maintenance.parts import Parts, Progress, each, silent
from catalog_format.node import Entry, Root
from catalog_format.node_codec import decode_root, encode_stub
from catalog_format.pb import catalog_pb2 as pb
from catalog_format.reader import Reader
from catalog_format.tree import scan

OUTCOME_LIFETIME_MS = 60 * 60 * 1000
"""For so long a verdict stays in the tree at least; afterwards the transaction's log alone tells it."""
ANSWER_LIFETIME_MS = 48 * 60 * 60 * 1000
"""For so long the answer to a request with an idempotency key is kept; twice the longest lifetime that a server may advertise."""
AGENT = "treeline expire"


@dataclass(frozen=True, slots=True)
class ExpiryPolicy:
    """Which versions to keep: all that were the latest within `older_than_ms`, and the `keep` newest whatever their age."""

    older_than_ms: int
    keep: int = 1

    def __post_init__(self) -> None:
        if self.keep < 1 or self.older_than_ms < 0:
            raise InvalidArgumentError(
                f"At least one version is kept, and ages are not negative: keep={self.keep}, {self.older_than_ms} ms"
            )


@dataclass(slots=True)
class ExpireReport:
    """What was given up, or would be."""

    oldest_before: int
    oldest: int
    given_up: int = 0
    """Versions that have become stubs."""
    pinned: list[int] = field(default_factory=list)
    """Older versions that stay, since unfinished transactions are based on them."""
    dropped_outcomes: int = 0
    dropped_answers: int = 0


async def expire(parts: Parts, policy: ExpiryPolicy, *, dry_run: bool = False, progress: Progress = silent) -> ExpireReport:
    """Give up what the policy does not keep. Can be run again at any time, by any number of processes; goes on where a killed run ended.

    Even a dry run ends transactions whose time is up and finishes sealed ones, as everybody does who meets them.

    Raises `CorruptFileError` (and gives nothing up) if an open transaction's log cannot be read, and what commits raise.
    """
    latest = await parts.versions.confirm(anew=True)
    oldest = await _oldest_wanted(parts, latest, policy)
    report = ExpireReport(latest.header.oldest, max(oldest, latest.header.oldest))
    outcomes = await _settled_outcomes(parts, latest, progress)
    answers = await _old_answers(parts, latest)
    report.dropped_outcomes, report.dropped_answers = len(outcomes), len(answers)
    if not (outcomes or answers) and await _all_alike(parts, latest.header.oldest, report.oldest):
        # Or a catalog at rest would be given versions, for ever, that say which of such versions were given up.
        report.oldest = latest.header.oldest
    dropped = {entry.key: entry.stamp for entry in (*outcomes, *answers)}
    if (dropped or report.oldest > report.oldest_before) and not dry_run:
        # A log that cannot be read would stop the run below, after versions were given up for nothing.
        await _pins(parts)
        await parts.keep_up(Upkeep(oldest=report.oldest, dropped=dropped), f"give up versions below {report.oldest}", AGENT)
        latest = await parts.versions.confirm(anew=True)
        report.oldest = latest.header.oldest
    pins = await _pins(parts)
    report.pinned = sorted(version for version in pins if version < report.oldest)
    header = latest.header
    waiting = [*header.unstubbed, *range(header.stubbed_below, report.oldest)]
    doomed = [version for version in waiting if version not in pins]
    if dry_run:
        report.given_up = len(doomed)
        return report
    report.given_up = await _stub(parts, doomed, progress)
    unstubbed = tuple(version for version in waiting if version in pins)
    if (header.stubbed_below, header.unstubbed) != (report.oldest, unstubbed):
        done = Upkeep(stubbed_below=report.oldest, unstubbed=unstubbed, stubbed=tuple(set(header.unstubbed) - pins))
        await parts.keep_up(done, f"gave up {report.given_up} versions", AGENT)
    return report


async def _pins(parts: Parts) -> set[int]:
    """Versions that unfinished transactions are based on. Raises `CorruptFileError`."""
    return {image.base_version for image in await parts.unfinished()}


async def _oldest_wanted(parts: Parts, latest: Root, policy: ExpiryPolicy) -> int:
    """The first version to keep: every moment younger than the policy's age stays readable."""
    newest_without_age = latest.version + 1 - policy.keep
    if newest_without_age <= latest.header.oldest:
        return latest.header.oldest
    try:
        of_age = await parts.versions.version_at(parts.clock.now_ms() - policy.older_than_ms)
    except NoSuchVersionError:
        return latest.header.oldest
    return min(of_age.version, newest_without_age)


async def _all_alike(parts: Parts, first: int, last: int) -> bool:
    """Whether no version after `first`, up to `last`, changed an object."""
    for version in range(last, first, -1):
        root = await parts.versions.trace(version)
        records = (pb.TransactionRecord.FromString(row.value or b"") for row in root.actions)
        if any(action.key != CATALOG_KEY for record in records for action in record.actions):
            return False
    return True


async def _settled_outcomes(parts: Parts, latest: Root, progress: Progress) -> list[Entry]:
    """Verdicts that their transactions' logs repeat, so that the tree need not."""
    decided: list[Entry] = []
    settled: list[Entry] = []
    reader = Reader(latest, parts.nodes, parts.storage)
    before_ms = parts.clock.now_ms() - OUTCOME_LIFETIME_MS
    async for entry in scan(latest, *type_range(ObjectType.OUTCOME), parts.nodes):
        outcome = pb.Outcome.FromString(await reader.definition(entry.key) or b"")
        if outcome.decided_at_ms <= before_ms:
            decided.append(entry)

    async def look(entry: Entry) -> None:
        if await _has_ended(parts, identifier_of(entry.key)[-1]):
            settled.append(entry)

    await each((partial(look, entry) for entry in decided), lambda done: progress("looking at verdicts", done, len(decided)))
    return settled


async def _has_ended(parts: Parts, transaction_id: str) -> bool:
    """Whether the log has its final state and the open file is gone; if not yet, this is done on the way."""
    try:
        await parts.transactions.image(transaction_id)
        await parts.transactions.close()
        image = await parts.logs.load(transaction_id)
    except (NoSuchTransactionError, CorruptFileError):
        # The tree is the only place that tells: it stays.
        return False
    if image.status.final:
        await parts.transactions.put_away(transaction_id)
    return image.status.final


async def _old_answers(parts: Parts, latest: Root) -> list[Entry]:
    found: list[Entry] = []
    reader = Reader(latest, parts.nodes, parts.storage)
    before_ms = parts.clock.now_ms() - ANSWER_LIFETIME_MS
    async for entry in scan(latest, *type_range(ObjectType.IDEMPOTENCY), parts.nodes):
        answer = pb.IdempotentAnswer.FromString(await reader.definition(entry.key) or b"")
        if answer.answered_at_ms <= before_ms:
            found.append(entry)
    return found


async def _stub(parts: Parts, versions: Sequence[int], progress: Progress) -> int:
    """Replace roots by their stubs; how many were roots still."""
    replaced = 0

    async def stub(version: int) -> None:
        nonlocal replaced
        path = paths.root_path(version)
        root = decode_root(version, await parts.storage.get(path))
        if not root.stub:
            await parts.storage.replace(path, encode_stub(root))
            replaced += 1
        parts.versions.forget(version)

    await each(
        (partial(stub, version) for version in versions),
        lambda done: progress("giving up versions", done, len(versions)),
    )
    return replaced
