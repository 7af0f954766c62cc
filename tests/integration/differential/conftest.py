"""One JVM for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.differential.comparison import Comparison
    from tests.integration.differential.java import Java


@pytest.fixture(scope="package")
def java() -> Iterator[Java]:
    from tests.integration.differential.java import running_java

    with running_java() as started:
        yield started


@pytest.fixture
def comparison(java: Java) -> Comparison:
    from tests.integration.differential.comparison import Comparison

    return Comparison(java)
