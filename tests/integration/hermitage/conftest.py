"""Two servers on one catalog: sessions talk to one or the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.servers import Place, RunningServer, running_server


@pytest.fixture(scope="package")
def two_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RunningServer]]:
    folder: Path = tmp_path_factory.mktemp("hermitage")
    place = Place(str(folder / "catalog"))
    with ExitStack() as stack:
        yield [stack.enter_context(running_server(place, folder / f"server{number}.log")) for number in range(2)]
