"""`treeline serve` that joins no two changes of one table and orders no transaction backwards: what the product is measured against."""

from __future__ import annotations

from typing import Any, NoReturn

from catalog_format.concurrency import ConcurrentTransactions
from catalog_format.errors import ConflictError
from catalog_format.iceberg.joining import TableJoiner
from catalog_format.ordering import NoPlace
from irc_server.cli.serve import serve


async def _refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
    raise ConflictError("both add snapshots")


async def _no_place(*_args: Any, **_kwargs: Any) -> NoPlace:
    return NoPlace("nobody is ordered backwards here")


if __name__ == "__main__":
    TableJoiner.join = _refuse  # type: ignore[method-assign]
    ConcurrentTransactions.place_of = _no_place  # type: ignore[method-assign]
    serve()
