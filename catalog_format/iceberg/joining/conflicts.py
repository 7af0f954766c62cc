"""Whether two snapshots of one base changed files that have to do with each other. Pure.

After the validations of Iceberg Java's `MergingSnapshotProducer`, `BaseRowDelta`, `BaseOverwriteFiles`, `BaseRewriteFiles` and
`BaseReplacePartitions`; stricter where a catalog is not told what a client knows, such as the filter of an overwrite.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from catalog_format.iceberg.joining.manifest import Content, ContentFile, FileId, Partition

_REWRITE = "replace"


@dataclass(frozen=True)
class FileChanges:
    """The files that a snapshot added and removed."""

    operation: str
    replaces_partitions: bool
    added: tuple[ContentFile, ...]
    removed: tuple[ContentFile, ...]

    @cached_property
    def added_data(self) -> tuple[ContentFile, ...]:
        return tuple(file for file in self.added if file.content is Content.DATA)

    @cached_property
    def added_position_deletes(self) -> tuple[ContentFile, ...]:
        """Deletion vectors too."""
        return tuple(file for file in self.added if file.content is Content.POSITION_DELETES)

    @cached_property
    def added_equality_deletes(self) -> tuple[ContentFile, ...]:
        return tuple(file for file in self.added if file.content is Content.EQUALITY_DELETES)

    @cached_property
    def removed_data(self) -> tuple[ContentFile, ...]:
        return tuple(file for file in self.removed if file.content is Content.DATA)

    @cached_property
    def removed_ids(self) -> frozenset[FileId]:
        return frozenset(file.id for file in self.removed)

    @property
    def rewrites(self) -> bool:
        """Whether the rows stayed the same."""
        return self.operation == _REWRITE

    @property
    def is_blind_overwrite(self) -> bool:
        """An overwrite by a filter that matched nothing: which rows it means to replace cannot be told."""
        adds_data_only = bool(self.added) and len(self.added_data) == len(self.added)
        return self.operation == "overwrite" and not self.replaces_partitions and adds_data_only and not self.removed

    def is_older_than(self, sequence_number: int | None) -> bool:
        """Whether all its data files say that they are as old as those they stand for, and older than that: later equality deletes
        reach them as well."""
        said = [file.data_sequence_number for file in self.added_data]
        return bool(said) and all(one is not None and (sequence_number is None or one < sequence_number) for one in said)

    @property
    def minds_additions(self) -> bool:
        """Whether a data file that another snapshot added may matter to it."""
        return bool(self.added_equality_deletes) or self.replaces_partitions or self.is_blind_overwrite


def conflict(own: FileChanges, rival: FileChanges, *, serializable: bool = False, own_from: int | None = None) -> str | None:
    """Why `own` cannot be put on top of `rival`, naming operations and file or partition; None if it can.

    `serializable`: rows that the rival added may be ones that the own delete or overwrite would have met. `own_from`: the sequence
    number that the first of the own snapshots was made with; a file that says this or more moves behind the rival's.
    """
    reason = next(_reasons(own, rival, serializable, own_from), None)
    return None if reason is None else f"{own.operation} and {rival.operation}: {reason}"


def _reasons(own: FileChanges, rival: FileChanges, serializable: bool, own_from: int | None) -> Iterator[str]:
    yield from _removed_by_both(own, rival)
    yield from _deletes_for_removed(own, rival, own_from)
    yield from _deletes_for_gone(own, rival)
    yield from _vectors_of_both(own, rival)
    yield from _rows_of_both(own, rival)
    yield from _additions_reached(own, rival)
    if own.replaces_partitions:
        yield from _in_replaced_partitions(own, rival)
    if own.is_blind_overwrite:
        for file in () if rival.rewrites else rival.added_data:
            yield f"{file.id} was added meanwhile, and may hold rows that this overwrite means to replace (its filter is not known)"
    if rival.is_blind_overwrite and own.operation == "overwrite" and own.added_data:
        yield f"{rival.added_data[0].id} was written meanwhile by an overwrite whose filter is not known"
    if serializable and own.operation in ("overwrite", "delete") and not rival.rewrites:
        for file in rival.added_data:
            yield f"{file.id} was added meanwhile, and the table asks for serializable deletes, updates or merges"


def _removed_by_both(own: FileChanges, rival: FileChanges) -> Iterator[str]:
    for file in own.removed:
        # Delete files that apply to nothing any more are swept up by whoever comes along.
        if file.id in rival.removed_ids and (file.content is Content.DATA or own.rewrites or own.added_position_deletes):
            yield f"both removed {file.id}"


def _deletes_for_removed(own: FileChanges, rival: FileChanges, own_from: int | None) -> Iterator[str]:
    """The rival deleted rows of data files that own rewrote or removed without knowing."""
    if not own.removed_data:
        return
    applying = _Applying(rival.added_position_deletes)
    by_equality = () if own.is_older_than(own_from) else rival.added_equality_deletes
    reach = _reach(by_equality)
    for file in own.removed_data:
        found = applying.to(file)
        if found is not None:
            yield f"rows of {file.id}, which this {own.operation} removes, were deleted meanwhile by {found.id}"
        if file.partition in reach or None in reach:
            yield f"rows of {file.id}, which this {own.operation} removes, may have been deleted meanwhile in {file.partition}"


def _deletes_for_gone(own: FileChanges, rival: FileChanges) -> Iterator[str]:
    """Own deletes are for rows of data files that the rival rewrote or removed."""
    applying = _Applying(own.added_position_deletes)
    for file in rival.removed_data:
        found = applying.to(file)
        if found is not None:
            yield f"{found.id} deletes rows of {file.id}, which was removed meanwhile"


def _vectors_of_both(own: FileChanges, rival: FileChanges) -> Iterator[str]:
    theirs = {file.referenced: file for file in rival.added_position_deletes if file.is_vector}
    for file in own.added_position_deletes:
        if file.is_vector and file.referenced in theirs:
            yield f"both deleted rows of {file.referenced} with a deletion vector"


def _rows_of_both(own: FileChanges, rival: FileChanges) -> Iterator[str]:
    """Both deleted rows of one data file, and at least one of them to write the rows anew: one row may have been updated twice.

    Two deletions of one row are no more than one.
    """
    if own.rewrites or rival.rewrites or not (own.added_data or rival.added_data):
        return
    applying, reach = _Applying(rival.added_position_deletes), _reach(rival.added_equality_deletes)
    for file in own.added_position_deletes:
        if applying.to_one_of(file):
            yield f"both deleted rows of {file.referenced or file.partition}, and wrote new ones"
        if None in reach or file.partition in reach:
            yield f"both deleted rows in {file.partition}, and wrote new ones"


def _additions_reached(own: FileChanges, rival: FileChanges) -> Iterator[str]:
    """Own equality deletes would delete rows that the rival added; not those that it only rewrote."""
    reach = _reach(own.added_equality_deletes)
    if not reach or rival.rewrites:
        return
    for file in rival.added_data:
        if None in reach or file.partition in reach:
            yield f"{file.id} was added meanwhile, and the equality deletes in {file.partition} would reach it"


def _in_replaced_partitions(own: FileChanges, rival: FileChanges) -> Iterator[str]:
    replaced = {file.partition for file in (*own.added, *own.removed)}
    specs = {partition.spec_id for partition in replaced}
    if not replaced:
        return
    changed = [file for file in (*rival.added, *rival.removed) if not rival.rewrites or file in rival.removed]
    for file in changed:
        # What lies in partitions of another spec may be in any of these.
        if file.partition in replaced or file.partition.spec_id not in specs:
            yield f"{file.id} in {file.partition}, which is replaced, was added or removed meanwhile"


def _reach(equality_deletes: Iterable[ContentFile]) -> frozenset[Partition | None]:
    """The partitions that equality deletes apply to; None stands for all of them."""
    return frozenset(None if file.partition.is_everything else file.partition for file in equality_deletes)


class _Applying:
    """Position deletes, to be found by the data file that they may be about."""

    def __init__(self, deletes: Iterable[ContentFile]) -> None:
        self._by_path = dict[str, ContentFile]()
        self._by_partition = defaultdict[Partition, list[ContentFile]](list)
        for file in deletes:
            if file.referenced is not None:
                self._by_path[file.referenced] = file
            else:
                self._by_partition[file.partition].append(file)

    def to_one_of(self, deletes: ContentFile) -> bool:
        """Whether some of these may be about a data file that the other deletes are about as well."""
        if deletes.referenced is not None and deletes.referenced in self._by_path:
            return True
        if deletes.referenced is None and any(self._about(deletes, file) for file in self._by_path.values()):
            return True
        return any(self._about(file, deletes) for file in self._by_partition.get(deletes.partition, ()))

    @staticmethod
    def _about(many: ContentFile, other: ContentFile) -> bool:
        """Whether deletes for several data files may be about one that others are about."""
        if many.partition != other.partition or many.path_bounds is None or other.path_bounds is None:
            return many.partition == other.partition
        return many.path_bounds[0] <= other.path_bounds[1] and other.path_bounds[0] <= many.path_bounds[1]

    def to(self, data_file: ContentFile) -> ContentFile | None:
        found = self._by_path.get(data_file.id.path)
        if found is not None:
            return found
        candidates = self._by_partition.get(data_file.partition, ())
        return next((file for file in candidates if file.may_delete_from(data_file)), None)
