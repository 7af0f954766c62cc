"""Servers behind lossy proxies, client processes, and blows that hit both while they work."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.histories.ledger import ended_in
from tests.support.lossy_proxy import Fate, LossyProxy, Weather
from tests.support.servers import Place, RunningServer, running_server

_REPOSITORY = Path(__file__).parents[2]
_PULSE_SECONDS = 0.02
_PATIENCE_SECONDS = 600.0


class Arena:
    """Use `open_arena`."""

    def __init__(
        self,
        place: Place,
        folder: Path,
        proxies: Sequence[LossyProxy],
        server_stack: ExitStack,
        proxy_stack: ExitStack,
        environment: Mapping[str, str],
    ) -> None:
        self.place = place
        self.folder = folder
        self._proxies = proxies
        self._server_stack = server_stack
        self._proxy_stack = proxy_stack
        self._environment = environment
        self._starts = 0
        self.servers: list[RunningServer] = []
        self.blows: Counter[str] = Counter()
        for proxy in proxies:
            self.servers.append(self._start())
            proxy.upstream = self.servers[-1].url

    @property
    def urls(self) -> list[str]:
        """What clients get: the proxies, whose addresses outlive servers."""
        return [proxy.url for proxy in self._proxies]

    @property
    def fates(self) -> Counter[Fate]:
        """What became of all requests so far."""
        return sum((proxy.fates for proxy in self._proxies), Counter())

    def strike_server(self, number: int) -> None:
        """`kill -9`, and another one in its place."""
        self._proxies[number].upstream = None
        self.servers[number].kill()
        self.servers[number] = self._start()
        self._proxies[number].upstream = self.servers[number].url
        self.blows["server"] += 1

    def calm(self) -> None:
        """Close the proxies, once what is late has arrived. From now on nothing happens that is not asked for."""
        self._proxy_stack.close()

    def _start(self) -> RunningServer:
        self._starts += 1
        log = self.folder / f"server{self._starts}.log"
        return self._server_stack.enter_context(running_server(self.place, log, environment=self._environment))


@contextmanager
def open_arena(
    place: Place, folder: Path, *, servers: int, weather: Weather, seed: int, environment: Mapping[str, str] | None = None
) -> Iterator[Arena]:
    """Servers on one catalog for the block's duration."""
    with ExitStack() as server_stack, ExitStack() as proxy_stack:
        proxies = [proxy_stack.enter_context(LossyProxy(weather, seed + number)) for number in range(servers)]
        yield Arena(place, folder, proxies, server_stack, proxy_stack, environment or {})


class Clients:
    """Processes of one module, told their names `c1`, `c2`, … and where their ledgers are."""

    def __init__(self, module: str, arena: Arena, rng: random.Random, arguments: Callable[[str, int, Path], Sequence[str]]) -> None:
        """`arguments`: of a client's command line, by name, seed and ledger."""
        self._module = module
        self._arena = arena
        self._rng = rng
        self._arguments = arguments
        self._running: list[subprocess.Popen[str]] = []
        self._started = 0

    def start(self) -> None:
        self._started += 1
        name = f"c{self._started}"
        arguments = self._arguments(name, self._rng.getrandbits(32), self._arena.folder / f"{name}.ledger")
        command = [sys.executable, "-m", self._module, *arguments]
        self._running.append(subprocess.Popen(command, cwd=_REPOSITORY, stderr=subprocess.PIPE, text=True))

    def strike(self) -> None:
        """Kill one (`kill -9`) and start another."""
        victim = self._running.pop(self._rng.randrange(len(self._running)))
        victim.kill()
        victim.communicate()
        self._arena.blows["client"] += 1
        self.start()

    @property
    def at_work(self) -> bool:
        return any(process.poll() is None for process in self._running)

    def finish(self) -> None:
        """Wait for all. Raises `AssertionError` with what a client that failed said."""
        for process in self._running:
            _, said = process.communicate(timeout=_PATIENCE_SECONDS)
            assert process.returncode == 0, said

    def kill_all(self) -> None:
        for process in self._running:
            process.kill()
            process.communicate()


def fight(arena: Arena, clients: Clients, rng: random.Random, *, number: int, blows: Sequence[str], every: int) -> None:
    """`number` clients work; `blows` ("server" or "client") are struck one by one, each after about `every` more endings."""
    pulse = threading.Event()
    try:
        for _ in range(number):
            clients.start()
        for blow in blows:
            goal = ended_in(arena.folder) + rng.randint(every // 2, every + every // 2)
            while ended_in(arena.folder) < goal and clients.at_work:
                pulse.wait(_PULSE_SECONDS)
            if blow == "server":
                arena.strike_server(rng.randrange(len(arena.servers)))
            else:
                clients.strike()
        (arena.folder / "enough").touch()
        clients.finish()
    finally:
        clients.kill_all()
