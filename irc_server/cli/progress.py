"""How far a long command has come, on a terminal's standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """Something to tell what is being done, how much of it is done, and how much there is (None: not known)."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        shown = ""

        def tell(doing: str, done: int, total: int | None) -> None:
            nonlocal shown
            # Whatever is done next is shown at once, be it ever so short.
            progress.update(task, description=doing, completed=done, total=total, refresh=doing != shown)
            shown = doing

        yield tell
