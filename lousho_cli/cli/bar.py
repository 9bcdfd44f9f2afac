"""A bar on a terminal, for work whose amount is known."""

from __future__ import annotations

from typing import Any, TextIO


class Bar:
    """How far it is, how long it took, and a line of text beside it. Shown at once; to be closed."""

    def __init__(self, stream: TextIO, total: int, *, colour: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(file=stream, markup=False, highlight=False, emoji=False, no_color=not colour)
        text = TextColumn("{task.description}", markup=False)
        self._progress: Any = Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), text, console=console, transient=True)
        self._progress.start()
        self._task = self._progress.add_task("", total=total)

    def update(self, text: str) -> None:
        """Says something else beside it."""
        self._progress.update(self._task, description=text)

    def advance(self, text: str) -> None:
        """One more is done."""
        self._progress.update(self._task, description=text, advance=1)

    def close(self) -> None:
        """Takes it away."""
        self._progress.stop()
