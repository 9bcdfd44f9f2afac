"""An eval run while it runs: on a terminal a bar with what passed, what failed and what it cost so far; elsewhere nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lousho_cli.app.evaluating.evaluate import Watcher
from lousho_cli.app.hostile_text import one_line
from lousho_cli.cli.face import Face

if TYPE_CHECKING:
    from lousho_cli.evals.eval_results import CaseResult

_NAME = 40


@contextmanager
def watching_evals(face: Face) -> Iterator[EvalView]:
    """A view of what is run in the block."""
    view = EvalView(face)
    try:
        yield view
    finally:
        view.close()


class EvalView(Watcher):
    """See above."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._bar: Any = None
        self._task: Any = None
        self._passed = self._failed = 0
        self._cost: float | None = None

    def begins(self, selected: int) -> None:
        self._bar = self._face.err.bar(selected)

    def starts(self, name: str) -> None:
        if self._bar is not None:
            self._bar.update(self._said(name))

    def ended(self, result: CaseResult) -> None:
        self._passed += result.result == "passed"
        self._failed += result.result in ("failed", "error")
        if result.usage.cost_usd is not None and result.source != "replayed":
            self._cost = (self._cost or 0) + result.usage.cost_usd
        if self._bar is not None:
            self._bar.advance(self._said(result.case))

    def warn(self, text: str) -> None:
        self._face.err.warning(text)

    def close(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _said(self, name: str) -> str:
        cost = "" if self._cost is None else f" ${self._cost:.4f}"
        failed = f", {self._failed} failed" if self._failed else ""
        return one_line(f"{self._passed} passed{failed}{cost} {name}", 60 + _NAME)
