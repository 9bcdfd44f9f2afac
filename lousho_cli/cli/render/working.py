"""What a worker does: a line for each thing that happens to a session, and on a terminal a status line below them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from lousho_cli.app.hostile_text import one_line
from lousho_cli.cli.face import Face
from lousho_cli.cli.own_stdout import own_stdout
from lousho_cli.cli.render.logged import saying_what_is_logged
from lousho_cli.cli.render.usage import dollars, in_short


@contextmanager
def shown(face: Face) -> Iterator[WorkView]:
    """A view for a block in which code of agents runs, so that stdout is ours alone."""
    with own_stdout(face.out):
        view = WorkView(face)
        try:
            with saying_what_is_logged(view.warn):
                yield view
        finally:
            view.rest()


class WorkView:
    """Shows one worker. A reader of stdout that goes away ends the showing, never the work."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._status: AbstractContextManager[Any] | None = None
        self._line: Any = None
        self._broken = False
        self._warned: set[str] = set()
        self._reported = ""

    def say(self, what: Any) -> None:
        """Something happened to a session."""
        if self._face.json:
            self._print(self._face.out.json_line, what)
        elif not self._face.quiet:
            self.rest()
            self._print(self._face.out.line, _said(self._face, what))
        elif what.type in _ENDS:
            self._print(self._face.out.line, what.session)

    def _print(self, line: Callable[[Any], None], what: Any) -> None:
        if self._broken:
            return
        try:
            line(what)
            self._face.out.flush()
        except OSError:
            self._broken = True

    def report(self, status: Any) -> None:
        """How the worker stands, said now and then: to a program each time, to a person where something changed since.

        On a terminal the status line says it all the time.
        """
        if self._face.json:
            self._print(self._face.out.json_line, status)
        elif not self._face.quiet and not self._face.err.terminal and (text := _status(status)) != self._reported:
            self._reported = text
            self._print(self._face.out.line, f"status: {text}{_store(status.store)}")

    def stand(self, standing: Any) -> None:
        """How the worker stands now, on a terminal."""
        text = _status(standing)
        if self._status is None:
            self._status = self._face.err.progress(text)
            self._line = self._status.__enter__()
        else:
            self._line.update(text)

    def warn(self, text: str, *, again: bool = False) -> None:
        """Something the person should know, said once unless it is to be said ``again``."""
        if text in self._warned and not again:
            return
        self._warned = {*self._warned, text} if len(self._warned) < _REMEMBERED else {text}
        self.rest()
        self._face.err.warning(text)
        self._face.err.warnings.clear()  # there is no envelope to stand in, and a worker lives long

    def tell(self, text: str) -> None:
        """A sentence about what is happening."""
        self.rest()
        self._face.err.note(text)

    def rest(self) -> None:
        """Takes the status line away: it and a line of text can not share a terminal."""
        status, self._status = self._status, None
        if status is not None:
            status.__exit__(None, None, None)


_REMEMBERED = 1000
"""How many warnings are remembered, so that none is repeated."""

_ENDS = ("settled", "failed", "waits")


def _said(face: Face, what: Any) -> str:
    name = f"{what.session}: "
    match what.type:
        case "settled":
            steps = f"{what.done.steps} step{'' if what.done.steps == 1 else 's'}"
            how = what.done.outcome if what.done.finish_reason in ("stop", "aborted") else f"{what.done.outcome}, {what.done.finish_reason}"
            return f"{name}{how}: {steps}, {in_short(what.done.usage.all)}"
        case "failed":
            return f"{name}failed: {_error(what.error)}"
        case "waits":
            asks = one_line(what.waits.question or what.waits.named_tool)
            decides = face.named(f"lousho {'approve' if what.waits.kind == 'tool' else 'answer'} {what.waits.id}")
            return f"{name}waits for a person: {asks}; {decides}"
        case "left":
            return f"{name}left: {_error(what.error)}"
        case "given-back":
            return f"{name}given back{', with work left' if what.pending else ''}"
    return f"{name}taken, with agent {what.agent}"


def _error(error: Any) -> str:
    return f"{one_line(error.message)}{f' [{error.code}]' if error.code else ''}"


def _status(standing: Any) -> str:
    parts = [f"{standing.running} running", f"{standing.queued} queued", f"{standing.done} done"]
    if standing.failed:
        parts.append(f"{standing.failed} failed")
    if standing.waiting:
        parts.append(f"{standing.waiting} wait for a person")
    if standing.claims_lost:
        parts.append(f"{standing.claims_lost} lost to other hosts")
    return ", ".join([*parts, f"cost {dollars(standing.cost_usd)}"])


def _store(times: Any) -> str:
    return "" if times is None else f", store {times.median_ms:g} ms, at most {times.max_ms:g} ms"
