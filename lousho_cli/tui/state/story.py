"""What a run does while it does it, as a document. Plain values: it is told on one thread and shown on another."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lousho_cli.app.results import ResumeCheck
from lousho_cli.tui.state.outline import Look, Node, Tone

if TYPE_CHECKING:
    from lousho_cli.domain import events as e
    from lousho_cli.domain.events import Event

_TYPESET = 10_000
"""Up to so many characters an answer is laid out as Markdown while it is written: that is done anew with each piece."""
_LONG = 2000
"""So many characters of a result are told here; the checkpoint has all."""


class Story:
    """Grows by events and sentences; ``nodes`` is what was told so far."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._writing = ""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """From the first to the newest; the answer that is being written last."""
        nodes = tuple(self._nodes)
        writing = self._writing
        look: Look = "markdown" if len(writing) < _TYPESET else "text"
        return (*nodes, Node("writing", writing, look=look)) if writing else nodes

    def _add(self, text: str, tone: Tone = "plain", *, look: Look = "text", label: str = "", label_tone: Tone = "faint") -> None:
        self._nodes.append(Node(str(len(self._nodes)), text, tone, look, label, label_tone))

    def tell(self, text: str) -> None:
        """A sentence for the person."""
        self._add(text, "faint")

    def warn(self, text: str) -> None:
        """Something the person should know."""
        self._add(text, "warning", label="!", label_tone="warning")

    def fail(self, text: str) -> None:
        """Why it did not come to its end."""
        self._add(text, "error", label="✗", label_tone="error")

    def ahead(self, check: ResumeCheck) -> None:
        """What is going to happen, before it does."""
        for label, text in ahead_of(check):
            self._add(text, label=label, label_tone="warning" if label == IN_DOUBT else "heading")

    def on(self, event: Event) -> None:
        """One event of the run."""
        show = _SHOWN.get(event.type)
        if show is not None:
            show(self, event, "".join(f"{name}: " for name in event.path))

    def _step_start(self, event: Event, whose: str) -> None:
        if not event.path:
            self._writing = ""
            self._add("the model is asked", "faint", label=f"step {event.step}", label_tone="assistant")

    def _text(self, event: e.TextDelta, whose: str) -> None:
        if not event.path:  # what a sub-agent says is for its lead
            self._writing += event.text

    def _step_done(self, event: e.StepDone, whose: str) -> None:
        if not event.path:
            self._writing = ""
            if event.text:
                self._add(event.text, look="markdown")
        for call in event.tool_calls:
            self._add(call.arguments, label=f"{whose}calls {call.name}", label_tone="tool")

    def _step_saved(self, event: Event, whose: str) -> None:
        if not event.path:
            self._add(f"step {event.step} is saved", "faint")

    def _runs(self, event: e.ToolStart | e.ToolResume, whose: str) -> None:
        self._add("runs", "faint", label=f"{whose}{event.name}", label_tone="tool")

    def _gave(self, event: e.ToolDone, whose: str) -> None:
        self._add(_cut(event.content), label=f"{whose}{event.name} gave", label_tone="tool")

    def _went_wrong(self, event: e.ToolError, whose: str) -> None:
        self._add(_cut(event.content), "error", label=f"{whose}{event.name}: {_kind(event.content)}", label_tone="error")

    def _asks(self, event: e.ApprovalRequested, whose: str) -> None:
        ask = event.approval
        said = ask.question.text if ask.question is not None else json.dumps(ask.args, ensure_ascii=False, default=str)
        self._add(said, label=f"? {'/'.join((*ask.path, ask.tool_name))} waits for a person", label_tone="warning")

    def _retry(self, event: e.ProviderRetry, whose: str) -> None:
        when = f"in {event.wait_ms / 1000:.3g} s" if event.wait_ms else "at once"
        self.warn(f"{whose}the model call failed: {event.error}; it is asked again {when}")

    def _error(self, event: e.RunError, whose: str) -> None:
        self.fail(f"{whose}{event.message}")

    def _warning(self, event: e.WarningGiven | e.AgentDrifted, whose: str) -> None:
        self.warn(f"{whose}{event.text}")


_SHOWN: dict[str, Callable[[Story, Any, str], None]] = {
    "step.start": Story._step_start,
    "text.delta": Story._text,
    "step.done": Story._step_done,
    "step.saved": Story._step_saved,
    "tool.start": Story._runs,
    "tool.resume": Story._runs,
    "tool.done": Story._gave,
    "tool.error": Story._went_wrong,
    "approval.requested": Story._asks,
    "provider.retry": Story._retry,
    "error": Story._error,
    "warning": Story._warning,
    "agent.drift": Story._warning,
}

IN_DOUBT = "is not repeated"


def ahead_of(check: ResumeCheck) -> list[tuple[str, str]]:
    """What going on will do, as words and the calls that they are of."""
    again = check.again
    first = tuple(call for call in check.will_run if call not in again)
    unsure = tuple(call for call in check.may_ask if call not in again)
    told = (
        ("will run again", again),
        ("will run", first),
        ("will run, or may ask", unsure),
        ("will ask a person", check.will_ask),
        ("waits behind it", check.behind),
        (IN_DOUBT, check.in_doubt),
    )
    return [(words, ", ".join(f"{call.name} {call.arguments} ({call.id})" for call in calls)) for words, calls in told if calls]


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]}… ({len(text)} characters)"


def _kind(content: str) -> str:
    """What became of a call whose result is an error, in a word or two."""
    try:
        kind = json.loads(content)["kind"]
    except (ValueError, TypeError, KeyError):  # a result in somebody else's form
        return "failed"
    return {"rejected": "rejected", "denied": "denied", "not-run": "not run"}.get(kind, "failed")
