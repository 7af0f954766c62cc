"""The load generator: keep-alive HTTP/1.1 over raw sockets, in a process of its own.

It reads one JSON order from standard input and writes one JSON result a phase to standard output. Requests are built
beforehand; of an answer it reads the status, the length and nothing else, so that it stays cheaper than any server.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

COUNTER = b"%%%%%%%%"
"""Stands in a request for how often its client has sent it, in as many digits."""
_DRAIN_S = 60.0
_LENGTH = b"content-length: "


@dataclass(slots=True)
class Phase:
    """What all clients send until its time is over, and what came of it."""

    seconds: float
    requests: list[list[bytes]]
    """For each client the requests that it sends in turn."""
    begins: float = 0.0
    ends: float = 0.0
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    acknowledged: dict[tuple[int, int], int] = field(default_factory=dict)
    """(client, number of its request): how often it was answered by 2xx."""
    first_refusal: str = ""


class Client(asyncio.Protocol):
    """One connection: the next request goes out when the answer to the last one is there."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._transport: asyncio.Transport | None = None
        self._held = b""
        self._phase: Phase | None = None
        self._done: asyncio.Future[None] | None = None
        self._turn = 0
        self._sent: list[int] = []
        self._sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(ConnectionError(f"The server closed connection {self.number}: {exc}"))

    async def run(self, phase: Phase, sent: list[int]) -> None:
        """Take part in a phase. `sent` counts each request across phases."""
        self._phase, self._sent, self._turn = phase, sent, 0
        self._done = asyncio.get_running_loop().create_future()
        self._send()
        await self._done

    def close(self) -> None:
        self._done = None
        if self._transport is not None:
            self._transport.close()

    def _send(self) -> None:
        assert self._phase is not None and self._transport is not None
        requests = self._phase.requests[self.number]
        turn = self._turn % len(requests)
        request = requests[turn]
        if self._sent:
            self._sent[turn] += 1
            request = request.replace(COUNTER, b"%08d" % self._sent[turn])
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        if self._held:
            data = self._held + data
        head = data.find(b"\r\n\r\n")
        if head < 0:
            self._held = data
            return
        at = data.find(_LENGTH, 0, head)
        length = int(data[at + len(_LENGTH) : data.index(b"\r", at)]) if at >= 0 else 0
        if len(data) < head + 4 + length:
            self._held = data
            return
        self._held = b""
        self._answered(data)

    def _answered(self, answer: bytes) -> None:
        phase = self._phase
        assert phase is not None and self._done is not None
        now = time.perf_counter()
        status = int(answer[9:12])
        phase.latencies.append(now - self._sent_at)
        phase.statuses[status] += 1
        if status < 300:
            if self._sent:
                key = (self.number, self._turn % len(phase.requests[self.number]))
                phase.acknowledged[key] = phase.acknowledged.get(key, 0) + 1
        elif not phase.first_refusal:
            phase.first_refusal = answer[:600].decode("latin-1")
        self._turn += 1
        phase.ends = now
        if now - phase.begins >= phase.seconds:
            self._done.set_result(None)
        else:
            self._send()


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def run(order: dict[str, Any]) -> None:
    """Connect the clients, run the phases one after the other, say what came of each."""
    loop = asyncio.get_running_loop()
    clients = [
        (await loop.create_connection(lambda number=number: Client(number), order["host"], order["port"]))[1]  # type: ignore[misc]
        for number in range(order["clients"])
    ]
    counts: dict[str, list[list[int]]] = {}
    for named in order["phases"]:
        requests = [[text.encode("latin-1") for text in own] for own in order["requests"][named["name"]]]
        requests = [requests[client.number % len(requests)] for client in clients]
        counted = any(COUNTER in request for own in requests for request in own)
        sent = counts.setdefault(named["name"], [[0] * len(own) if counted else [] for own in requests])
        phase = Phase(named["seconds"], requests)
        used, own_used = cpu_seconds(order["pid"]), time.process_time()
        phase.begins = time.perf_counter()
        await asyncio.wait_for(asyncio.gather(*(client.run(phase, sent[client.number]) for client in clients)), phase.seconds + _DRAIN_S)
        print(json.dumps(_summary(named["name"], phase, cpu_seconds(order["pid"]) - used, time.process_time() - own_used)), flush=True)
    for client in clients:
        client.close()


def _summary(name: str, phase: Phase, server_cpu_s: float, own_cpu_s: float) -> dict[str, Any]:
    ordered = sorted(phase.latencies)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000

    return {
        "name": name,
        "requests": len(ordered),
        "seconds": phase.ends - phase.begins,
        "p50_ms": at(0.5),
        "p90_ms": at(0.9),
        "p99_ms": at(0.99),
        "server_cpu_s": server_cpu_s,
        "generator_cpu_s": own_cpu_s,
        "statuses": {str(status): count for status, count in phase.statuses.items()},
        "acknowledged": [[client, number, count] for (client, number), count in sorted(phase.acknowledged.items())],
        "first_refusal": phase.first_refusal,
    }


def main() -> None:
    try:
        import uvloop

        run_in = uvloop.run
    except ImportError:
        run_in = asyncio.run
    run_in(run(json.load(sys.stdin)))


if __name__ == "__main__":
    main()
