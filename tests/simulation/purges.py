"""Files of tables that were dropped with purge: exactly theirs go, when nobody shows them any more, and then all of them do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from catalog_format.keys import table_key
from tests.simulation.disk import Disk, Loss, Undertaking
from tests.simulation.engine import is_engines
from tests.simulation.lives import Lives
from tests.simulation.losses import holds_base, unfinished
from tests.simulation.truth import Log, Truth, Wish


class Purges:
    """Judges the deletions that wishes lead to."""

    def __init__(self, disk: Disk, truth: Truth, wishes: Iterable[Wish]) -> None:
        """`wishes` as clients were told; where a table was changed by the version that dropped it, only the tree knows its file."""
        self._disk = disk
        self._truth = truth
        self._lives = Lives(truth)
        self._wishes = sorted({*wishes, *(wish for version in truth.versions for wish in version.wishes)})
        self._logged = {path for wish in self._wishes for path in truth.logged_by(wish.metadata)}
        self._logged |= {wish.metadata for wish in self._wishes}

    def concern(self, loss: Loss) -> bool:
        """Whether a file may have gone for a wish: an engine's, or metadata of a table that was dropped with purge."""
        at_once = loss.undertaking is not None and loss.undertaking.table is not None
        return at_once or is_engines(loss.path) or loss.path in self._logged

    def judge(self, loss: Loss) -> Iterator[str]:
        begun = loss.undertaking
        if begun is None:
            yield f"{loss.path} was deleted by nobody"
            return
        if is_engines(loss.path) and not self._is_wished(loss, begun):
            yield f"{loss.path} was deleted after version {loss.version}, and nobody had dropped its table with purge for long enough"
        if begun.table is None:
            yield from self._shown_by_versions(loss, begun)
        elif self._is_shown_since(loss, begun.version) or any(
            log.committed_version is not None
            and begun.version < log.committed_version <= loss.version
            and loss.path in self._truth.shown_in(log, begun.states.get(log.id, 0))
            and self._is_shown_since(loss, log.committed_version)
            for log in self._truth.logs.values()
        ):
            # In a version, or first in a transaction that was there to be looked at.
            yield f"{loss.path} was deleted, and version {loss.version} shows it through another table than {begun.table}"
        for log in unfinished(loss, self._truth):
            if log.id in begun.states:
                yield from self._shown_by(log, loss, begun)
        for wish in self._wishes:
            # Carried out later, and from what its metadata name.
            if self._truth.versions[loss.version].oldest < wish.version <= begun.version and self._belongs(loss, wish) and not begun.table:
                yield f"{loss.path} was deleted, and belongs to a table that was dropped in version {wish.version}, which waits"

    def forgotten(self) -> Iterator[str]:
        """Files of tables that nobody shows any more, which are there all the same, now that everything was carried out."""
        open_logs = [log for log in self._truth.logs.values() if self._truth.is_unfinished(log)]
        oldest = min([self._truth.versions[-1].oldest, *(log.base_version for log in open_logs)])
        for wish in self._wishes:
            if wish.version <= oldest:
                for path in sorted((self._truth.files_of(wish.metadata) & self._disk.files.keys()) - self._shared_since(wish)):
                    yield f"{path} is left, and its table was dropped with purge in version {wish.version}"

    def _is_wished(self, loss: Loss, begun: Undertaking) -> bool:
        oldest = self._truth.versions[loss.version].oldest
        if begun.table is None:
            return any(wish.version <= oldest and self._belongs(loss, wish) for wish in self._wishes)
        key = table_key(begun.table)
        wishes = {wish for number in range(loss.version + 1) for wish in self._truth.wishes_for(key, number)}
        # One transaction may have made, filled and dropped it: then no version ever showed it, and its wish alone tells what it had.
        if any(self._belongs(loss, wish) for wish in wishes):
            return True
        lives = self._lives.ended(key, {wish.version for wish in wishes})
        return any(
            loss.path in self._truth.files_of(path)
            for number in range(loss.version + 1)
            for shown, (_, path) in self._truth.tables(number).items()
            if self._lives.of(number, shown) in lives
        )

    def _belongs(self, loss: Loss, wish: Wish) -> bool:
        return loss.path in self._truth.files_of(wish.metadata)

    def _is_shown_since(self, loss: Loss, version: int) -> bool:
        return all(loss.path in self._truth.shown(number) for number in range(version, loss.version + 1))

    def _shown_by_versions(self, loss: Loss, begun: Undertaking) -> Iterator[str]:
        """Versions that were there to be looked at, and later ones that show what every one showed since."""
        truth = self._truth
        since = takewhile(lambda number: loss.path in truth.shown(number), range(begun.version, truth.latest + 1))
        for number in {*range(truth.versions[loss.version].oldest, begun.version + 1), *since}:
            if number >= truth.versions[loss.version].oldest and loss.path in truth.shown(number):
                yield f"{loss.path} was deleted after version {loss.version}, and version {number} shows a table that has it"

    def _shown_by(self, log: Log, loss: Loss, begun: Undertaking) -> Iterator[str]:
        truth = self._truth
        if holds_base(log, self._disk, truth) and loss.path in truth.shown(log.base_version):
            yield f"{loss.path} was deleted, and {log.id}, not finished, is based on version {log.base_version}, which shows it"
        if loss.path in truth.shown_in(log, begun.states[log.id]) & truth.shown_in(log, loss.states[log.id]):
            yield f"{loss.path} was deleted, and {log.id}, not finished, shows it in what it has written"

    def _shared_since(self, wish: Wish) -> set[str]:
        """What somebody else showed after that table was dropped: it goes with the last one that is dropped with purge."""
        found: set[str] = set()
        for number in range(wish.version, self._truth.latest + 1):
            found |= self._truth.shown(number)
        for log in self._truth.logs.values():
            found |= self._truth.shown_in(log, len(log.statuses))
        return found
