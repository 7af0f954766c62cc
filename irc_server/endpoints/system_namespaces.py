"""The system namespace itself: `sys`, `sys.dtxns`, and the names below `sys` that mean nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from catalog_format.errors import AlreadyExistsError, InvalidArgumentError, UnsupportedError
from catalog_format.keys import Identifier
from catalog_format.names import SYSTEM, TRANSACTION_PREFIX, TRANSACTIONS, ResolvedName
from catalog_format.scope import Listing, Page, PropertiesUpdate
from irc_server.call import Call, dotted, no_namespace


class Fixed:
    """A namespace that is always there, and stays as it is."""

    def __init__(self, call: Call, namespace: Identifier, resolved: ResolvedName) -> None:
        self._call = call
        self._namespace = namespace

    async def load(self) -> Mapping[str, str]:
        await self._call.root.catalog()
        return {}

    async def check_exists(self) -> None:
        await self._call.root.catalog()

    async def create(self, properties: Mapping[str, str]) -> Mapping[str, str]:
        raise AlreadyExistsError(f"Namespace already exists: {dotted(self._namespace)}")

    async def update(self, removals: list[str], updates: Mapping[str, str]) -> PropertiesUpdate:
        raise UnsupportedError(f"Properties of {dotted(self._namespace)} cannot be changed")

    async def drop(self) -> None:
        raise InvalidArgumentError(f"{dotted(self._namespace)} is the system's and cannot be dropped")


class System(Fixed):
    """`sys`: it is there when the catalog is, and shows the catalog's own properties."""

    async def children(self, page: Page | None) -> Listing:
        await self._call.root.catalog()
        return Listing([(*self._namespace, TRANSACTIONS)])

    async def load(self) -> Mapping[str, str]:
        return await (await self._call.root.catalog()).properties()

    async def create(self, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Makes the catalog, with these properties, where there is none yet."""
        root = self._call.root
        if not await root.initialise(properties):
            raise AlreadyExistsError(f"Namespace already exists: {dotted(self._namespace)}; the catalog {root.name} has been made before")
        return await self.load()


class Transactions(Fixed):
    """`sys.dtxns`: lists the transactions that have not ended."""

    async def children(self, page: Page | None) -> Listing:
        catalog = await self._call.root.catalog()
        ids = [info.transaction_id for info in await catalog.transactions.list_open()]
        if page is None:
            return Listing([self._child(found) for found in ids])
        rest = [found for found in ids if page.token is None or found > page.token]
        shown = rest[: page.size]
        return Listing([self._child(found) for found in shown], shown[-1] if len(shown) < len(rest) else None)

    def _child(self, transaction_id: str) -> Identifier:
        return (*self._namespace, TRANSACTION_PREFIX + transaction_id)


class Reserved(Fixed):
    """Any other name below `sys`: nothing is there, and nothing can be made."""

    async def children(self, page: Page | None) -> Listing:
        self._refuse()

    async def load(self) -> Mapping[str, str]:
        self._refuse()

    async def check_exists(self) -> None:
        self._refuse()

    async def create(self, properties: Mapping[str, str]) -> Mapping[str, str]:
        raise InvalidArgumentError(
            f"{dotted(self._namespace)} cannot be made: names below {SYSTEM} are the system's; "
            f"a transaction begins with CREATE NAMESPACE {SYSTEM}.{TRANSACTIONS}.{TRANSACTION_PREFIX}<id>"
        )

    async def update(self, removals: list[str], updates: Mapping[str, str]) -> PropertiesUpdate:
        self._refuse()

    async def drop(self) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise no_namespace(self._namespace)
