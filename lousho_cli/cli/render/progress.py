"""A run while it runs: its answer as it streams, what was saved, and on a terminal what it is doing now.

Nothing is called saved before it is. A reader of stdout that goes away ends the showing, never the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from lousho_cli.app.hostile_text import one_line
from lousho_cli.cli.face import Face
from lousho_cli.cli.own_stdout import own_stdout
from lousho_cli.cli.render.logged import saying_what_is_logged
from lousho_cli.cli.render.usage import Tally
from lousho_cli.core.background import agent_in

if TYPE_CHECKING:
    from lousho_cli.domain import events as e
    from lousho_cli.domain.events import Event

ARGUMENTS_WIDTH = 200
"""Characters of a call's arguments that a line shows."""

MESSAGE_WIDTH = 300
"""Characters that a line shows of why a call failed; the transcript has all of them."""


_FAILED = {
    "rate-limit": "rate limited",
    "overloaded": "the model server is overloaded",
    "timeout": "the model call timed out",
    "network": "the connection to the model failed",
}
"""What a model call failed of, by its category."""

_NOT_FAILED = {"rejected": "rejected", "denied": "denied", "not-run": "not run"}
"""Kinds of an error result that are no failure of the tool, in words."""


@contextmanager
def showing(face: Face, output: str) -> Iterator[RunView]:
    """A view of what is run in the block. Code of an agent runs there, so stdout is ours alone."""
    with own_stdout(face.out):
        view = RunView(face, output)
        try:
            with saying_what_is_logged(view.warn):
                yield view
        except BaseException:
            view.stop()
            raise


class RunView:
    """Shows one command's runs.

    Args:
        output: ``text``, or ``ndjson`` for one JSON line an event.
    """

    def __init__(self, face: Face, output: str = "text") -> None:
        self._face = face
        self._lines: Any = None
        if output == "ndjson":
            from lousho_cli.app.streaming import Lines

            face.json = face.out.compact = True
            self._lines = Lines()
        self._live = face.out.terminal and not face.json and not face.quiet
        self._pieces: list[str] = []
        self._shown = ""
        self._middle_of_line = False
        self._asked: dict[tuple[tuple[str, ...], int | None], str] = {}
        self._used = Tally()
        self._step: int | None = None
        self._asking = False
        self._running: dict[tuple[str, ...], str] = {}
        self._spinner: AbstractContextManager[Any] | None = None
        self._progress: Any = None
        self._broken: OSError | None = None

    def on_event(self, event: Event) -> None:
        """Shows one event. Never raises: what can not be shown must not stop what runs."""
        if self._broken is not None:
            return
        try:
            if self._lines is not None:
                self._face.out.json_line(self._lines.of(event))
            show = _SHOWN.get(event.type)
            if show is not None:
                show(self, event)
        except OSError as error:
            self._broken = error

    def has_shown(self, text: str) -> bool:
        """Whether an answer already stands on the screen."""
        return bool(self._shown) and self._shown == text

    def tell(self, text: str) -> None:
        """A sentence for the person, on a line of its own. It stays the last line until something else happens. Never raises."""
        try:
            self._rest()
            self._end_line()
        except OSError as error:
            self._broken = error
        self._face.err.over_echo()
        self._face.err.note(text)

    def warn(self, text: str) -> None:
        """Something the person should know; what goes on is shown below it. Never raises, as ``on_event``."""
        try:
            self._rest()
            self._face.err.warning(text)
            self._spin()
        except OSError as error:
            self._broken = error

    def stop(self) -> None:
        """Ends the showing on the way out of an error."""
        try:
            self.close()
        except OSError:  # the error that is being told is the one that counts
            return

    def close(self) -> None:
        """Ends the showing. Raises OSError when stdout could not be written on the way."""
        self._rest()
        self._end_line()
        if self._broken is not None:
            raise self._broken

    # What each event shows

    def step_start(self, event: Event) -> None:
        if not _path(event):
            self._step, self._asking, self._pieces = event.step, True, []
            self._spin()

    def text_delta(self, event: e.TextDelta) -> None:
        if self._live and not _path(event):  # what a sub-agent says is for its lead
            self._rest()
            self._face.out.piece(event.text)
            self._pieces.append(event.text)
            self._middle_of_line = not event.text.endswith("\n")

    def step_done(self, event: e.StepDone) -> None:
        self._end_line()
        self._used.add(event.usage)
        names = [call.name for call in event.tool_calls]
        self._asked[_path(event), event.step] = f"calls {', '.join(names)}" if names else "answer"
        if not _path(event):
            self._shown, self._pieces, self._asking = "".join(self._pieces), [], False
        self._spin()

    def step_saved(self, event: e.StepSaved) -> None:
        asked = self._asked.pop((_path(event), event.step), None)
        if asked is not None:
            self._note(f"{_whose(event)}step {event.step} saved: {asked}")

    def tool_start(self, event: e.ToolStart | e.ToolResume) -> None:
        if not _path(event):
            self._step = event.step
        self._running[(*_path(event), event.id)] = event.name
        self._spin()

    def tool_done(self, event: e.ToolDone) -> None:
        self._running.pop((*_path(event), event.id), None)
        self._spin()

    def tool_error(self, event: e.ToolError) -> None:
        ran = self._running.pop((*_path(event), event.id), None) is not None
        what, why = _went_wrong(event.content, ran=ran)
        self._note(f"{_whose(event)}step {event.step}: {what}: {event.name}{why}")

    def asked(self, event: e.ApprovalRequested) -> None:
        """A call asks and goes on: whoever sits here has to hear of it. What a run stopped for is told at its end."""
        ask = event.approval
        if ask.step is not None and ask.question is not None:
            tool = "/".join((*ask.path, ask.tool_name))
            how = self._face.named(f"from another terminal: lousho answer {ask.id}")
            self._note(f"{tool} asks: {one_line(ask.question.text)}; {how}")

    def retry(self, event: e.ProviderRetry) -> None:
        self._end_line()
        what = _FAILED.get(event.category, "the model call failed")
        how = "going on with the answer" if event.continued else "asking again"
        of = f" of {event.limit}" if event.limit is not None else ""
        when = f"in {event.wait_ms / 1000:.3g} s" if event.wait_ms else "at once"
        self._note(f"{_whose(event)}{what}: {event.error}; {how} {when} (retry {event.count}{of})")

    def run_done(self, event: e.RunDone) -> None:
        if not _path(event):
            self._asking, self._running = False, {}
            self._spin()

    def _note(self, text: str) -> None:
        """A line, and on below it with what is going on."""
        self._rest()
        self._face.err.note(text)
        self._spin()

    def _spin(self) -> None:
        """The spinner says what is going on; without anything, and in the middle of a line of text, there is none."""
        if self._running:
            doing = f"{', '.join(self._running.values())} {'is' if len(self._running) == 1 else 'are'} running"
        else:
            doing = "the model is asked" if self._asking else ""
        if not doing or self._middle_of_line:
            self._rest()
            return
        text = f"step {self._step}: {doing}{self._used.so_far()}"
        if self._spinner is None:
            self._spinner = self._face.err.progress(text)
            self._progress = self._spinner.__enter__()
        else:
            self._progress.update(text)

    def _rest(self) -> None:
        """Takes the spinner away: it and a line of text can not share a terminal."""
        spinner, self._spinner = self._spinner, None
        if spinner is not None:
            spinner.__exit__(None, None, None)

    def _end_line(self) -> None:
        if self._middle_of_line:
            self._middle_of_line = False
            self._face.out.line()
            self._face.out.flush()


def _whose(event: Event) -> str:
    """The sub-agent that an event is of, before what is said of it."""
    return "".join(f"{name}: " for name in _path(event))


def _path(event: Event) -> tuple[str, ...]:
    """The agents below the one that is run: what they say is for it. One in the background has a session of its own."""
    agent = agent_in(event.session)
    return (agent, *event.path) if agent else event.path


def _went_wrong(content: str, *, ran: bool) -> tuple[str, str]:
    """What became of a call whose result is an error, in a word or two, and what to put behind its name.

    Args:
        ran: it had begun, and may have done something before it was cancelled.
    """
    try:
        result = json.loads(content)
        kind, message = result["kind"], result["message"]
    except (ValueError, TypeError, KeyError):  # a result in somebody else's form
        return "failed", ""
    why = message if kind not in _NOT_FAILED else result.get("reason")
    said = f", {one_line(why, MESSAGE_WIDTH)}" if isinstance(why, str) and why else ""
    return "cut off" if ran and kind == "not-run" else _NOT_FAILED.get(kind, "failed"), said


_SHOWN: dict[str, Any] = {
    "step.start": RunView.step_start,
    "text.delta": RunView.text_delta,
    "step.done": RunView.step_done,
    "step.saved": RunView.step_saved,
    "tool.start": RunView.tool_start,
    "tool.resume": RunView.tool_start,
    "tool.done": RunView.tool_done,
    "tool.error": RunView.tool_error,
    "approval.requested": RunView.asked,
    "provider.retry": RunView.retry,
    "run.done": RunView.run_done,
}
