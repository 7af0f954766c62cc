"""Treeline's builders, asked as `java.Java` is."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from catalog_format.errors import ConflictError, InvalidArgumentError
from catalog_format.iceberg.metadata import (
    TableMetadataBuilder,
    ViewMetadataBuilder,
    check_table_metadata,
    check_view,
    new_table_metadata,
    parse_table_requirements,
    parse_table_updates,
    parse_view_requirements,
    parse_view_updates,
    table_metadata_from_updates,
)
from catalog_format.ids import Ids, SeededIds
from tests.integration.differential.outcome import Json, Outcome, Verdict


class GivenUuid(SeededIds):
    """Ids whose uuid is the one that the other side made up."""

    def __init__(self, uuid: str) -> None:
        super().__init__(0)
        self._uuid = uuid

    def uuid(self) -> str:
        return self._uuid


def commit_table(base: Json, location: str | None, requirements: list[Json], updates: list[Json], now_ms: int) -> Outcome:
    """The answer to a commit at a time; `location` is the file that holds the base."""

    def run() -> Outcome:
        checks, parsed = parse_table_requirements(requirements), parse_table_updates(updates)
        for check in checks:
            check(base)
        built = TableMetadataBuilder(base).carry_out(parsed).build(now_ms, location)
        return _written(built, Verdict.UNCHANGED if built is base else Verdict.DONE)

    return _outcome(run)


def create_table_by_updates(updates: list[Json], ids: Ids, now_ms: int) -> Outcome:
    """The answer to the commit of a staged create."""
    return _outcome(lambda: _written(table_metadata_from_updates(updates, ids, now_ms), Verdict.DONE))


def new_table(schema: Json, spec: Json, order: Json, location: str, properties: dict[str, str], ids: Ids, now_ms: int) -> Outcome:
    """The metadata of a new table."""
    return _outcome(lambda: _written(new_table_metadata(schema, spec, order, location, properties, None, ids, now_ms), Verdict.DONE))


def read_table(metadata: Json) -> Outcome:
    """Whether the metadata may be registered."""

    def run() -> Outcome:
        check_table_metadata(metadata)
        return _written(metadata, Verdict.UNCHANGED)

    return _outcome(run)


def read_view(metadata: Json) -> Outcome:
    """Whether the metadata may be registered."""

    def run() -> Outcome:
        check_view(metadata)
        return _written(metadata, Verdict.UNCHANGED)

    return _outcome(run)


def commit_view(base: Json, requirements: list[Json], updates: list[Json], now_ms: int) -> Outcome:
    """The answer to a commit of a view."""

    def run() -> Outcome:
        checks, parsed = parse_view_requirements(requirements), parse_view_updates(updates)
        for check in checks:
            check(base)
        built = ViewMetadataBuilder(base).carry_out(parsed).build(now_ms)
        return _written(built, Verdict.UNCHANGED if built is base else Verdict.DONE)

    return _outcome(run)


def _written(metadata: Json, verdict: Verdict) -> Outcome:
    """What a reader of the file finds."""
    return Outcome(verdict, orjson.loads(orjson.dumps(metadata)))


def _outcome(run: Callable[[], Outcome]) -> Outcome:
    # Whatever else is raised would be an error of the server: the test fails with it.
    try:
        return run()
    except ConflictError as error:
        return Outcome(Verdict.CONFLICT, reason=error.message)
    except InvalidArgumentError as error:
        return Outcome(Verdict.REFUSED, reason=error.message)
