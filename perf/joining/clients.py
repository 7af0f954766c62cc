"""Client processes: each is forked from one that has PyIceberg imported, and does its task again and again for a while."""

from __future__ import annotations

import logging
import multiprocessing
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from random import Random
from typing import Any

from perf.bench import Bench
from perf.joining.catalogs import Address, RunningCatalog
from perf.joining.sessions import Session
from perf.joining.tally import Tally, effects_of, figures

Task = Callable[[Session, int], None]
"""What a client (its session and its number) does once; a function of a module, or a partial one."""
_PATIENCE_S = 120.0
_processes = multiprocessing.get_context("forkserver")


@dataclass(frozen=True, slots=True)
class _Span:
    """When to count, on the system's monotonic clock, and when to stop."""

    begins: float
    ends: float
    most: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """What a measurement came to."""

    row: dict[str, Any]
    tallies: Sequence[Tally]

    @property
    def effects(self) -> dict[str, int]:
        return effects_of(self.tallies)


def run_clients(
    bench: Bench, catalog: RunningCatalog, session: type[Session], task: Task, clients: int, seconds: float, most: int | None = None
) -> Run:
    """So many processes at once, for so long, or until each has done `most` pieces of work.

    Raises `RuntimeError` if one of them met an error other than a refusal.
    """
    _processes.set_forkserver_preload([__name__, "pyiceberg.io.pyarrow", "pyarrow.parquet", task_module(task)])
    warm_up = bench.seconds(2, 0.5)
    pipes, started = [], []
    try:
        for number in range(clients):
            here, there = _processes.Pipe()
            process = _processes.Process(target=_client, args=(there, catalog.address, session, task, number), daemon=True)
            process.start()
            there.close()
            pipes.append(here)
            started.append(process)
        for pipe in pipes:
            _received(pipe)
        begins = time.monotonic() + warm_up
        ends = begins + seconds
        for pipe in pipes:
            pipe.send(_Span(begins, ends, most))
        time.sleep(max(0.0, begins - time.monotonic()))
        cpu_before = catalog.cpu_s
        tallies = [_received(pipe) for pipe in pipes]
        # With work left over, clients take until after the end to say so; what they did then is not counted.
        ends = min(ends, max(tally.ended for tally in tallies))
        cores = (catalog.cpu_s - cpu_before) / (time.monotonic() - begins)
    finally:
        for pipe in pipes:
            pipe.close()
        for process in started:
            process.join(_PATIENCE_S)
    row = {"catalog": catalog.name, "isolation": session.isolation, **figures(tallies, begins, ends), "server_cores": cores}
    # A client that had done all it was to do used none any more.
    row["client_cores"] = sum(tally.cores * (min(tally.ended, ends) - begins) for tally in tallies) / (ends - begins)
    return Run(row, tallies)


def task_module(task: Task) -> str:
    return getattr(task, "func", task).__module__


def _received(pipe: Connection) -> Any:
    if not pipe.poll(_PATIENCE_S):
        raise RuntimeError("a client did not answer in time")
    answer = pipe.recv()
    if isinstance(answer, str):
        raise RuntimeError(f"a client failed: {answer}")
    return answer


def _client(pipe: Connection, address: Address, make: type[Session], task: Task, number: int) -> None:
    # Each repeated commit is a warning of PyIceberg's.
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    counted, cpu_from = 0, (0.0, 0.0)
    try:
        session = make(address.connect(), Random(number))
        pipe.send(None)
        span: _Span = pipe.recv()
        session.ends = span.ends
        while (now := time.monotonic()) < span.ends and (span.most is None or counted < span.most):
            if not counted:
                cpu_from = now, time.process_time()
            counted += now >= span.begins
            task(session, number)
        session.tally.ended = time.monotonic()
        session.tally.cores = (time.process_time() - cpu_from[1]) / (session.tally.ended - cpu_from[0])
        pipe.send(session.tally)
    except Exception:
        pipe.send(traceback.format_exc(limit=-6))
