"""The files of tables that are to be purged, less those that something kept shows.

Files never change, so whatever one names is known once it was read: a kept table that names a doomed file spares all that lies
below it unread. Only the doomed files are held in memory (of data and delete files little more than where they lie), and of kept files
those that name others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import partial

from catalog_format.errors import InvalidArgumentError, MissingFileError, TreelineError
from catalog_format.iceberg.locations import Locations, place_of
from catalog_format.iceberg.table_files import (
    NAMING_ROLES,
    FileRole,
    TableFile,
    TableFileReader,
    copied_in_words,
    files_of,
    is_copied,
    owns_content,
)
from catalog_format.maintenance.parts import Progress, each


@dataclass(slots=True)
class _Doom:
    """One doomed file, other than of content."""

    file: TableFile
    names: list[TableFile] | None = None
    """None as long as it was not (or could not be) read. Without `content`."""
    content: list[str] = field(default_factory=list)
    """Places of the files of content that it names."""
    spared: bool = False
    spared_below: bool = False


@dataclass(slots=True)
class Reading:
    """How the files of one table were found."""

    missing: list[str] = field(default_factory=list)
    """Messages about files that are not there: gone, with all that they named."""
    unreadable: list[str] = field(default_factory=list)
    """Messages about files that could not be read, so that what they name is not known."""
    refused: list[str] = field(default_factory=list)
    """Messages about files that may not be deleted."""
    copied: list[str] = field(default_factory=list)
    """Messages about metadata of another catalog's table."""
    hides: bool = False
    """Whether it may hold files that are not known."""


class DoomedFiles:
    """Files to delete, by place."""

    def __init__(self, reader: TableFileReader, locations: Locations, progress: Progress) -> None:
        self._reader = reader
        self._locations = locations
        self._progress = progress
        self._files: dict[str, _Doom] = {}
        self._content: dict[str, str | None] = {}
        """Place to location of data and delete files; None for those that are spared."""
        self._owning: set[str] = set()
        """Places of metadata files that were read and say that their table owns its content."""
        self._sharing: set[str] = set()
        """Places of those from which no content may be deleted."""
        self._seen: set[tuple[FileRole, str]] = set()
        self.left = 0
        """How many are to be deleted still."""

    async def add_table(self, newest: str, earlier: Collection[str] = ()) -> Reading:
        """Doom all files of the table with these metadata. What could not be read is not doomed, and the report says so.

        Whether content is the table's own is what its newest metadata say; where they are gone, nobody can tell. What earlier ones
        alone name may be missing, without a word: engines expire snapshots.
        """
        reading = Reading()
        await self._add([newest], reading)
        missing = list(reading.missing)
        await self._add(sorted(earlier), reading)
        reading.missing = missing
        if _place(newest) not in self._owning:
            self._sharing |= set(map(_place, (newest, *earlier)))
        return reading

    async def spare_tables(self, metadata_locations: Iterable[str], *, gaps: bool) -> list[str]:
        """Spare all files that these tables name; what could not be read, in words.

        With `gaps`, missing files are no problem: engines expire snapshots that old versions of the catalog still name. One request
        for each metadata file, manifest list and manifest that is neither doomed nor was read before; stops when nothing is left.
        """
        problems: list[str] = []
        level = [TableFile(FileRole.METADATA, location) for location in sorted(metadata_locations)]
        while level and self.left:
            following: list[TableFile] = []
            jobs = (partial(self._spare_below, file, following, problems, gaps) for file in level)
            await each(jobs, self._telling("reading kept tables", len(level)))
            level = following
        return problems

    def spare(self, file: TableFile) -> bool:
        """Let a file live, if it is doomed, with what it names; whether there is no need to read it for that."""
        place = _place(file.location)
        self._spare_content(place)
        doom = self._files.get(place)
        if doom is None:
            return False
        if not doom.spared:
            doom.spared = True
            self.left -= 1
        if doom.names is None or doom.file.role is not file.role:
            return False
        if not doom.spared_below:
            doom.spared_below = True
            for named in doom.names:
                self.spare(named)
            for place in doom.content:
                self._spare_content(place)
        return True

    def in_order(self, metadata_locations: Collection[str]) -> list[list[str]]:
        """Locations of what is left of these tables, in batches: no file of one is named by a file of an earlier one."""
        roots = {_place(location) for location in metadata_locations}
        found: dict[str, _Doom] = {}
        content: set[str] = set()
        waiting = [(root, root not in self._sharing) for root in roots]
        passed: set[tuple[str, bool]] = set()
        while waiting:
            place, owned = turn = waiting.pop()
            doom = self._files.get(place)
            # The metadata of another table that is to be purged have to outlive its files.
            if doom is None or turn in passed or (doom.file.role is FileRole.METADATA and place not in roots):
                continue
            passed.add(turn)
            if not doom.spared:
                found[place] = doom
            waiting += [(_place(named.location), owned) for named in doom.names or ()]
            if owned:
                content.update(location for place in doom.content if (location := self._content.get(place)) is not None)
        batches: dict[FileRole, list[str]] = {FileRole.CONTENT: list(content)} if content else {}
        for doom in found.values():
            batches.setdefault(doom.file.role, []).append(doom.file.location)
        for batch in batches.values():
            batch.sort()
        return [batches[role] for role in sorted(batches)]

    async def _add(self, metadata_locations: Iterable[str], reading: Reading) -> None:
        roots = (TableFile(FileRole.METADATA, location) for location in metadata_locations)
        level = [doom for root in roots if (doom := self._doom(root, reading)) is not None]
        while level:
            following: dict[str, _Doom] = {}
            jobs = (partial(self._read, doom, following, reading) for doom in level)
            await each(jobs, self._telling("reading doomed tables", len(level)))
            level = list(following.values())

    def _telling(self, doing: str, total: int) -> Callable[[int], None]:
        return lambda done: self._progress(doing, done, total)

    def _doom(self, file: TableFile, reading: Reading) -> _Doom | None:
        """Put a file that is not of content on the list; the entry if it has to be read now."""
        place = self._doomed_place(file.location, reading)
        if place is None:
            reading.hides = reading.hides or file.role in NAMING_ROLES
            return None
        doom = self._files.get(place)
        if doom is None:
            doom = self._files[place] = _Doom(file)
            if place not in self._content:
                self.left += 1
            else:
                # Content to another one that names it; it goes with what names others.
                doom.spared = self._content.pop(place) is None
        elif file.role > doom.file.role:
            doom.file, doom.names = file, None
        return doom if doom.names is None else None

    def _doom_content(self, location: str, reading: Reading, namer: _Doom) -> None:
        place = self._doomed_place(location, reading)
        if place is None or place in self._files:
            # Of what names others, or so somebody says, nothing is taken for content.
            return
        if place not in self._content:
            self.left += 1
        # One text for both where there is no difference, and one for all who name it: there may be millions.
        held = self._content.setdefault(place, location)
        namer.content.append(held if held == place else place)

    def _doomed_place(self, location: str, reading: Reading) -> str | None:
        try:
            self._locations.check(location)
        except InvalidArgumentError as error:
            reading.refused.append(f"{location} is not deleted: {error.message}")
            return None
        return _place(location)

    def _spare_content(self, place: str) -> None:
        if self._content.get(place) is not None:
            self._content[place] = None
            self.left -= 1

    async def _read(self, doom: _Doom, following: dict[str, _Doom], reading: Reading) -> None:
        location = doom.file.location
        try:
            if doom.file.role is FileRole.METADATA:
                metadata = await self._reader.metadata(location)
                named = files_of(metadata)
                if is_copied(metadata, location, self._locations):
                    reading.copied.append(copied_in_words(metadata, location))
                elif owns_content(metadata):
                    self._owning.add(_place(location))
            else:
                named = await self._reader.named_by(doom.file)
        except MissingFileError as error:
            reading.missing.append(error.message)
            named = []
        except (TreelineError, OSError) as error:
            reading.unreadable.append(str(error))
            reading.hides = True
            self.spare(doom.file)
            return
        doom.names = []
        for file in named:
            if file.role is FileRole.CONTENT:
                self._doom_content(file.location, reading, doom)
                continue
            doom.names.append(file)
            entry = self._doom(file, reading)
            if entry is not None and file.role in NAMING_ROLES:
                following[_place(file.location)] = entry
            elif entry is not None:
                entry.names = []

    async def _spare_below(self, file: TableFile, following: list[TableFile], problems: list[str], gaps: bool) -> None:
        this = (file.role, _place(file.location))
        if not self.left or self.spare(file) or this in self._seen:
            return
        self._seen.add(this)
        try:
            named = await self._reader.named_by(file)
        except MissingFileError as error:
            if not gaps:
                problems.append(error.message)
            return
        except (TreelineError, OSError) as error:
            problems.append(str(error))
            return
        for other in named:
            if other.role in NAMING_ROLES:
                following.append(other)
            else:
                self.spare(other)


def _place(location: str) -> str:
    try:
        return place_of(location)
    except InvalidArgumentError:
        # Of a scheme that no store is known for: it can only be compared as it is.
        return location
