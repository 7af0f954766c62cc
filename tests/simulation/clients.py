"""Clients: each does its steps of the plan, one after the other, and writes down what it was told."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

from catalog_format import paths
from catalog_format.catalog import PlaceScope, StoredCatalog
from catalog_format.door import TransactionInfo, TransactionStatus
from catalog_format.errors import (
    AlreadyExistsError,
    BadRequest,
    ConflictError,
    ContendedError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchNamespaceError,
    NoSuchTransactionError,
    NoSuchVersionError,
    RetryLater,
    TransactionEndedError,
    TransactionRefusedError,
    TreelineError,
)
from catalog_format.maintenance.check import check
from catalog_format.maintenance.expire import ExpiryPolicy
from catalog_format.maintenance.purge import PATIENCE_MS
from catalog_format.scope import RequestContext
from tests.simulation.actor import Actor
from tests.simulation.faults import ClockJump
from tests.simulation.history import Answer, Attempt, Done, Fate, Transaction
from tests.simulation.operation import Operation
from tests.simulation.operations import OPERATIONS
from tests.simulation.plan import Ending, Step, TransactionStep
from tests.simulation.process import EPOCH_MS
from tests.simulation.sights import GivenUp, Sight
from tests.simulation.world import World

Scoped = Callable[[StoredCatalog], Awaitable[PlaceScope]]

PAUSE_BETWEEN_TRIES = 1.5


class Client(Actor):
    """One user of the catalog."""

    def __init__(self, world: World, number: int) -> None:
        super().__init__(world, f"client {number}")

    async def run(self, steps: list[Step]) -> None:
        for step in steps:
            if step.pause:
                await asyncio.sleep(step.pause)
            self._tell("begins", step)
            await self._do(step)

    async def _do(self, step: Step) -> None:
        match step.verb:
            case "transaction":
                assert isinstance(step, TransactionStep)
                await self._transaction(step)
            case "begin-again":
                await self._begin_again(step)
            case "commit-again":
                await self._commit_again(step)
            case "list-open":
                await self._read(step, step.where, _list_open, step.patience)
            case "check":
                await self._audit(step)
            case "time-travel":
                await self._time_travel(step)
            case "expire":
                # By age, too: up to everything but the last versions.
                policy = ExpiryPolicy(int(step.fraction**2 * self._world.loop.time() * 1000), step.amount)
                await self._expire(step, step.where, policy, step.patience)
            case "collect":
                purge_after_s = 0.0 if step.fraction < 0.5 else PATIENCE_MS / 1000
                await self._collect(step, step.where, purge_after_s, step.patience)
            case "purge-now":
                await self._purge_now(step, step.where, step.target, step.patience)
            case "load-past":
                version = int(step.fraction * (self._world.disk.latest + 1))
                await self._operation(step, lambda catalog: catalog.at(version), version=version)
            case _:
                await self._operation(step, _main)

    # One operation, plain or inside of a transaction.

    async def _operation(self, step: Step, scoped: Scoped, transaction: Transaction | None = None, version: int | None = None) -> Done:
        operation = OPERATIONS[step.verb](step, self._world.disk.read)
        done = Done(step.id, transaction=None if transaction is None else transaction.id)
        if transaction is not None:
            transaction.operations.append(done)
        else:
            self._world.history.operations[step.id] = done
        context = RequestContext(step.id, step.id, hashlib.sha256(step.id.encode()).digest()) if step.keyed else RequestContext(step.id)
        if operation.looks_first:
            look, _ = await self._attempt(step, operation, scoped, operation.prepare, done.transaction, version, 0)
            done.looks.append(look)
            if look.fate is not Fate.ACKNOWLEDGED:
                return done
        self._world.disk.write_all(operation.files, self._world.loop.time())
        done.wanted = operation.wanted
        for number in range(step.tries):
            if number:
                await asyncio.sleep(PAUSE_BETWEEN_TRIES)
            send = _sender(operation, context)
            attempt, retry = await self._attempt(step, operation, scoped, send, done.transaction, version, number)
            done.attempts.append(attempt)
            if not retry and (attempt.fate is not Fate.UNKNOWN or not step.keyed):
                break
        self._tell("is done with", step, done.fate)
        return done

    async def _attempt(
        self,
        step: Step,
        operation: Operation,
        scoped: Scoped,
        ask: Callable[[PlaceScope], Awaitable[list[Sight]]],
        transaction_id: str | None,
        version: int | None,
        number: int,
    ) -> tuple[Attempt, bool]:
        """The request's record, and whether it may be repeated because nothing was tried."""

        async def work(catalog: StoredCatalog) -> list[Sight]:
            return await ask(await scoped(catalog))

        world = self._world
        process = await world.process(step.where + number)
        began = world.moment(transaction_id)
        sights: list[Sight] = []
        retry = False
        try:
            sights = await process.call(work, step.patience, step.cancels)
            fate = Fate.ACKNOWLEDGED
            self._tell(step.id, "acknowledged by", process.name)
        except Exception as error:
            self._tell(step.id, "fails at", process.name, repr(error)[:160])
            fate = self._fate(error, step)
            retry = isinstance(error, RetryLater)
            if isinstance(error, NoSuchVersionError) and version is not None:
                sights.append(GivenUp(version))
            elif isinstance(error, MissingFileError) and world.plan.purges_at_once:
                # Whoever shows a table that is purged at once loses it.
                pass
            elif isinstance(error, BadRequest | ConflictError) and not (transaction_id and self._has_ended(error, transaction_id)):
                sight = operation.denied(error)
                if _is_about_time(error) and world.plan.of(ClockJump):
                    # Iceberg refuses metadata that would be more than a minute older than what they follow.
                    pass
                elif sight is None:
                    world.history.complaints.append(f"{step} was refused for no good reason: {error!r}")
                else:
                    sights.append(sight)
            elif retry and world.plan.is_calm and not isinstance(error, ContendedError):
                world.history.complaints.append(f"{step} was told of trouble with the store, and there was none: {error!r}")
        return Attempt(began, world.moment(transaction_id), fate, tuple(sights), version), retry

    # Transactions.

    async def _transaction(self, step: TransactionStep) -> None:
        transaction = Transaction(f"x{step.id[1:]}", step.isolation)
        self._world.history.transactions[transaction.id] = transaction
        if not await self._begin(step, transaction):
            return
        await asyncio.gather(*(self._work(worker, transaction) for worker in step.workers))
        match step.ending:
            case Ending.COMMIT:
                await asyncio.gather(*(self._commit(step, transaction, where) for where in step.finishers))
            case Ending.ROLLBACK:
                await self._rollback(step, transaction)
            case Ending.RACE:
                await asyncio.gather(self._commit(step, transaction, step.finishers[0]), self._rollback(step, transaction))
        self._tell("is done with", step.id, [answer.said for answer in transaction.answers])

    async def _begin(self, step: TransactionStep, transaction: Transaction) -> bool:
        """Whether the transaction is there to be worked in."""
        for number in range(3):
            process = await self._world.process(step.where + number)
            began, is_taken = self._world.loop.time(), transaction.id in self._world.disk.began
            try:
                info = await process.call(
                    lambda catalog: catalog.transactions.begin(transaction.id, step.isolation, step.ttl_ms), step.patience, step.cancels
                )
            except AlreadyExistsError as error:
                self._tell(step.id, "begin:", repr(error))
                transaction.begins.append(Fate.REFUSED)
                # Somebody whose clock is ahead may have met it, and found it expired, before it was acknowledged.
                # An earlier try may have been told to begin another, and have left its state.
                if not is_taken and Fate.UNKNOWN not in transaction.begins and "was used before" not in error.message:
                    self._world.history.complaints.append(f"{step.id}: a new transaction id was refused: {error!r}")
                return await self._is_there(step, transaction)
            except Exception as error:
                self._tell(step.id, "begin:", repr(error)[:160])
                transaction.begins.append(self._fate(error, step.id, "BEGIN"))
                await asyncio.sleep(PAUSE_BETWEEN_TRIES)
            else:
                self._tell(step.id, "begins", transaction.id, "on version", info.base_version, "at", process.name)
                transaction.begins.append(Fate.ACKNOWLEDGED)
                transaction.base_version, transaction.began = info.base_version, began
                return True
        return False

    async def _is_there(self, step: Step, transaction: Transaction) -> bool:
        try:
            info = await self._world.ask(step.where, lambda catalog: catalog.transactions.load(transaction.id))
        except Exception as error:
            self._tell(step.id, "looks for", transaction.id, repr(error)[:160])
            return False
        return info.status is TransactionStatus.OPEN

    async def _work(self, steps: tuple[Step, ...], transaction: Transaction) -> None:
        for step in steps:
            if step.pause:
                await asyncio.sleep(step.pause)
            self._tell("in", transaction.id, step)
            done = await self._operation(step, lambda catalog: catalog.within(transaction.id), transaction)
            if done.fate is Fate.UNKNOWN:
                return

    async def _commit(self, step: Step, transaction: Transaction, where: int) -> None:
        await self._end(step, transaction, where, lambda catalog: catalog.transactions.commit(transaction.id))

    async def _rollback(self, step: Step, transaction: Transaction) -> None:
        async def rollback(catalog: StoredCatalog) -> TransactionInfo | None:
            await catalog.transactions.rollback(transaction.id)
            return None

        await self._end(step, transaction, step.where + 1, rollback)

    async def _end(
        self, step: Step, transaction: Transaction, where: int, work: Callable[[StoredCatalog], Awaitable[TransactionInfo | None]]
    ) -> None:
        for number in range(max(2, step.tries)):
            if number:
                await asyncio.sleep(PAUSE_BETWEEN_TRIES)
            answer = await self._answer(step, transaction, where + number, work)
            transaction.answers.append(answer)
            if answer.said != "unknown":
                return

    async def _answer(
        self, step: Step, transaction: Transaction, where: int, work: Callable[[StoredCatalog], Awaitable[TransactionInfo | None]]
    ) -> Answer:
        process = await self._world.process(where)
        try:
            info = await process.call(work, step.patience, step.cancels)
        except TransactionRefusedError as error:
            self._tell(transaction.id, "refused by", process.name, error.message)
            return Answer("refused", reason=error.message)
        except TransactionEndedError as error:
            self._tell(transaction.id, "has ended, says", process.name, error.message)
            return Answer("committed" if "was committed in version" in error.message else "ended", reason=error.message)
        except Exception as error:
            self._tell(transaction.id, "unknown after", process.name, repr(error)[:160])
            self._fate(error, transaction.id, "COMMIT or ROLLBACK")
            if isinstance(error, NoSuchTransactionError) and Fate.ACKNOWLEDGED in transaction.begins:
                self._world.history.complaints.append(f"{transaction.id}, end: {error!r}")
            return Answer("unknown")
        if info is None:
            self._tell(transaction.id, "rolled back by", process.name)
            return Answer("ended")
        self._tell(transaction.id, "committed in version", info.version, "by", process.name)
        return Answer("committed", info.version)

    async def _begin_again(self, step: Step) -> None:
        """An id that was begun once must never begin again."""
        known = [each for each in self._world.history.transactions.values() if Fate.ACKNOWLEDGED in each.begins]
        if not known:
            return
        transaction = known[int(step.fraction * len(known))]
        try:
            await self._world.ask(step.where, lambda catalog: catalog.transactions.begin(transaction.id), step.patience)
        except Exception as error:
            self._tell(transaction.id, "cannot begin again:", repr(error)[:160])
            self._fate(error, transaction.id, "BEGIN again")
        else:
            self._world.history.complaints.append(f"{transaction.id} began a second time")

    async def _commit_again(self, step: Step) -> None:
        """Somebody asks once more, anywhere: the answer is the same, now and later."""
        known = [each for each in self._world.history.transactions.values() if any(answer.said != "unknown" for answer in each.answers)]
        if known:
            transaction = known[int(step.fraction * len(known))]
            await self._commit(step, transaction, step.where)

    # Reads of other kinds.

    async def _time_travel(self, step: Step) -> None:
        world = self._world
        at_ms = EPOCH_MS + int(step.fraction * world.loop.time() * 1000)

        async def work(catalog: StoredCatalog) -> int | None:
            try:
                return await catalog.version_at(at_ms)
            except NoSuchVersionError:
                return None

        existed = world.disk.latest
        found = await self._read(step, step.where, work, step.patience)
        if isinstance(found, int) and not world.plan.staleness:
            world.history.times.append((at_ms, found, existed))

    async def _audit(self, step: Step) -> None:
        """`check` beside everything that goes on: it may fail for want of the store, but it must not see ghosts."""
        world = self._world

        async def work(catalog: StoredCatalog) -> list[str]:
            return (await check(catalog.storage, catalog.versions, catalog.nodes, catalog.logs)).problems

        problems = await self._read(step, step.where, work, step.patience)
        if problems and world.plan.is_calm:
            world.history.complaints.append(f"check found, while others worked: {problems}")

    def _has_ended(self, error: TreelineError, transaction_id: str) -> bool:
        """Whether the transaction that the request was for takes no more, for whatever reason."""
        if isinstance(error, MissingFileError):
            # Who reads slowly in a transaction that ends meanwhile may find its files collected.
            return paths.open_transaction_path(transaction_id) not in self._world.disk.files
        # A transaction whose base was given up is about to be ended by whoever did that.
        ended = isinstance(error, TransactionEndedError | NoSuchTransactionError | NoSuchVersionError)
        return ended or (isinstance(error, NoSuchNamespaceError) and "Transaction " in error.message)


async def _main(catalog: StoredCatalog) -> PlaceScope:
    return catalog.main


async def _list_open(catalog: StoredCatalog) -> list[TransactionInfo]:
    return await catalog.transactions.list_open()


def _sender(operation: Operation, context: RequestContext) -> Callable[[PlaceScope], Awaitable[list[Sight]]]:
    return lambda scope: operation.send(scope, context)


def _is_about_time(error: TreelineError) -> bool:
    return isinstance(error, InvalidArgumentError) and error.message.startswith("Invalid update timestamp")
