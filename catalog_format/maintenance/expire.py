"""Expire: giving versions up. What remains of each is its stub: when it was made, by whom, and what they did.

The order is what makes it safe without clocks. `oldest` is raised first, in a commit; then the open transactions are listed. One that
begins looks at `oldest` after its first state was put. So either it is in the list, or it sees that its base is gone.

Verdicts and answers that have served their time leave the tree on the way. Nothing waits for that, so it comes last, and in batches:
what takes long to prepare loses its turn to every writer that is quicker, and whoever commits through the same process waits behind it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from catalog_format import paths
from catalog_format.changes import Upkeep
from catalog_format.errors import ContendedError, CorruptFileError, InvalidArgumentError, NoSuchTransactionError, NoSuchVersionError
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
DROPPED_AT_ONCE = 64
"""Entries taken out of the tree by one commit."""
DROPPING_S = 5.0
"""For so long entries are taken out; the next run goes on. Who has won a turn wins the next ones easily, and others wait meanwhile."""
MOST_ALIKE = 32
"""So many versions may be kept for nothing but what maintenance wrote in them."""


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
    problems: list[str] = field(default_factory=list)
    """Versions whose roots could not be replaced, and why; they are passed over."""


async def expire(parts: Parts, policy: ExpiryPolicy, *, dry_run: bool = False, progress: Progress = silent) -> ExpireReport:
    """Give up what the policy does not keep. Can be run again at any time, by any number of processes; goes on where a killed run ended.

    A dry run writes nothing at all.

    Raises `CorruptFileError` (and gives nothing up) if an open transaction's log cannot be read, and what commits raise.
    """
    latest = await parts.versions.confirm(anew=True)
    oldest = await _oldest_wanted(parts, latest, policy)
    report = ExpireReport(latest.header.oldest, max(oldest, latest.header.oldest))
    outcomes = await _settled_outcomes(parts, latest, dry_run, progress)
    answers = await _old_answers(parts, latest, progress)
    report.dropped_outcomes, report.dropped_answers = len(outcomes), len(answers)
    if not (outcomes or answers) and await _all_alike(parts, latest.header.oldest, report.oldest):
        # Or a catalog at rest would be given versions, for ever, that say which of such versions were given up.
        report.oldest = latest.header.oldest
    if report.oldest > report.oldest_before and not dry_run:
        # A log that cannot be read would stop the run below, after versions were given up for nothing.
        await _pins(parts)
        await parts.keep_up(Upkeep(oldest=report.oldest), f"give up versions below {report.oldest}", AGENT)
        latest = await parts.versions.confirm(anew=True)
        report.oldest = latest.header.oldest
    pins = await _pins(parts, dry_run=dry_run)
    report.pinned = sorted(version for version in pins if version < report.oldest)
    header = latest.header
    waiting = [*header.unstubbed, *range(header.stubbed_below, report.oldest)]
    doomed = [version for version in waiting if version not in pins]
    if dry_run:
        report.given_up = len(doomed)
        return report
    await _stub(parts, doomed, report, progress)
    unstubbed = tuple(version for version in waiting if version in pins)
    done = Upkeep()
    if (header.stubbed_below, header.unstubbed) != (report.oldest, unstubbed):
        done = Upkeep(stubbed_below=report.oldest, unstubbed=unstubbed, stubbed=tuple(sorted(set(header.unstubbed) - pins)))
    dropped = await _write_down(parts, done, [*outcomes, *answers], report.given_up, progress)
    report.dropped_outcomes = min(dropped, len(outcomes))
    report.dropped_answers = dropped - report.dropped_outcomes
    return report


async def _write_down(parts: Parts, done: Upkeep, dropped: Sequence[Entry], given_up: int, progress: Progress) -> int:
    """Commit what was done, and take entries out of the tree, as many at once as do not hold others up; how many were.

    No commit if there is neither.
    """
    began = parts.clock.elapsed()
    batches = [dropped[start : start + DROPPED_AT_ONCE] for start in range(0, len(dropped), DROPPED_AT_ONCE)]
    if not batches and done != Upkeep():
        batches = [[]]
    for number, batch in enumerate(batches):
        if parts.clock.elapsed() - began > DROPPING_S:
            return number * DROPPED_AT_ONCE
        upkeep = replace(done if number == 0 else Upkeep(), dropped={entry.key: entry.stamp for entry in batch})
        summary = f"gave up {_versions(given_up)}" if upkeep.stubbed_below else "drop verdicts and answers that have served their time"
        try:
            await parts.keep_up(upkeep, summary, AGENT)
        except ContendedError:
            # Others won every turn. What was given up stays so, and the next run writes it down.
            return number * DROPPED_AT_ONCE
        progress("dropping verdicts and answers", min((number + 1) * DROPPED_AT_ONCE, len(dropped)), len(dropped))
    return len(dropped)


def _versions(count: int) -> str:
    return "1 version" if count == 1 else f"{count} versions"


async def _pins(parts: Parts, *, dry_run: bool = False) -> set[int]:
    """Versions that unfinished transactions are based on. Raises `CorruptFileError`."""
    return {image.base_version for image in await parts.unfinished(dry_run=dry_run)}


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
    """Whether no version after `first`, up to `last`, changed an object, and they are few."""
    if last - first > MOST_ALIKE:
        return False
    for version in range(last, first, -1):
        root = await parts.versions.trace(version)
        records = (pb.TransactionRecord.FromString(row.value or b"") for row in root.actions)
        if any(action.key != CATALOG_KEY for record in records for action in record.actions):
            return False
    return True


async def _settled_outcomes(parts: Parts, latest: Root, dry_run: bool, progress: Progress) -> list[Entry]:
    """Verdicts that their transactions' logs repeat, so that the tree need not; sorted."""
    before_ms = parts.clock.now_ms() - OUTCOME_LIFETIME_MS

    async def is_settled(entry: Entry, definition: bytes) -> bool:
        if pb.Outcome.FromString(definition).decided_at_ms > before_ms:
            return False
        return await _has_ended(parts, identifier_of(entry.key)[-1], dry_run)

    return await _entries(parts, latest, ObjectType.OUTCOME, is_settled, partial(_tell, progress, "looking at verdicts"))


async def _old_answers(parts: Parts, latest: Root, progress: Progress) -> list[Entry]:
    before_ms = parts.clock.now_ms() - ANSWER_LIFETIME_MS

    async def is_old(entry: Entry, definition: bytes) -> bool:
        return pb.IdempotentAnswer.FromString(definition).answered_at_ms <= before_ms

    return await _entries(parts, latest, ObjectType.IDEMPOTENCY, is_old, partial(_tell, progress, "looking at answers"))


async def _entries(
    parts: Parts,
    latest: Root,
    object_type: ObjectType,
    chosen: Callable[[Entry, bytes], Awaitable[bool]],
    tell: Callable[[int, int], None],
) -> list[Entry]:
    """The entries of a type that were chosen by their definitions, sorted."""
    reader = Reader(latest, parts.nodes, parts.storage)
    every = [entry async for entry in scan(latest, *type_range(object_type), parts.nodes)]
    found: list[Entry] = []

    async def look(entry: Entry) -> None:
        if await chosen(entry, await reader.definition(entry.key) or b""):
            found.append(entry)

    await each((partial(look, entry) for entry in every), lambda done: tell(done, len(every)))
    return sorted(found, key=lambda entry: entry.key)


def _tell(progress: Progress, doing: str, done: int, total: int) -> None:
    progress(doing, done, total)


async def _has_ended(parts: Parts, transaction_id: str, dry_run: bool) -> bool:
    """Whether the log of one with a verdict has its final state and the open file is gone; if not yet, this is done on the way."""
    try:
        if dry_run:
            await parts.logs.load(transaction_id)
            return True
        await parts.transactions.image(transaction_id)
        await parts.transactions.ending(transaction_id)
        image = await parts.logs.load(transaction_id)
    except (NoSuchTransactionError, CorruptFileError):
        # The tree is the only place that tells: it stays.
        return False
    if image.status.final:
        await parts.transactions.put_away(transaction_id)
    return image.status.final


async def _stub(parts: Parts, versions: Sequence[int], report: ExpireReport, progress: Progress) -> None:
    """Replace roots by their stubs; counts those that were roots still, and tells which cannot be read."""
    unreadable: dict[int, str] = {}

    async def stub(version: int) -> None:
        path = paths.root_path(version)
        try:
            root = await _root_or_stub(parts, version)
        except FileNotFoundError:
            unreadable[version] = f"The root of version {version} ({path}) is missing: restore the file, or what was done in it is lost"
            return
        except CorruptFileError as error:
            unreadable[version] = f"{error}; {path} stays as it is: restore the file, or what was done in it is lost"
            return
        if not root.stub:
            await parts.storage.replace(path, encode_stub(root))
            report.given_up += 1
        parts.versions.forget(version)

    await each(
        (partial(stub, version) for version in versions),
        lambda done: progress("giving up versions", done, len(versions)),
    )
    report.problems += [unreadable[version] for version in sorted(unreadable)]


async def _root_or_stub(parts: Parts, version: int) -> Root:
    """As it lies there. Raises `FileNotFoundError`, `CorruptFileError`."""
    path = paths.root_path(version)
    try:
        return decode_root(version, await parts.storage.get(path))
    except CorruptFileError:
        # Nobody looks again later, so this is made sure of: the way here may have damaged it.
        return decode_root(version, await parts.storage.get(path))
