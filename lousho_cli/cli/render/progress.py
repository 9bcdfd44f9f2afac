"""A run while it runs: its answer as it streams, what was saved, and on a terminal what it is doing now.

Nothing is called saved before it is. A reader of stdout that goes away ends the showing, never the run.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from lousho_cli.cli.face import Face

ARGUMENTS_WIDTH = 200
"""Characters of a call's arguments that a line shows."""


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
        self.streamed = False
        self._middle_of_line = False
        self._asked: dict[int, str] = {}
        self._tokens = 0
        self._spinner: AbstractContextManager[Any] | None = None
        self._broken: OSError | None = None

    def on_event(self, event: Any) -> None:
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

    def tell(self, text: str) -> None:
        """A sentence for the person."""
        self._rest()
        self._face.err.note(text)

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

    def step_start(self, event: Any) -> None:
        self._doing(f"step {event.step}: the model is asked")

    def text_delta(self, event: Any) -> None:
        if self._live:
            self._rest()
            self._face.out.piece(event.data["text"])
            self._middle_of_line, self.streamed = not event.data["text"].endswith("\n"), True

    def step_done(self, event: Any) -> None:
        self._end_line()
        used = event.data.get("usage") or {}
        self._tokens += (used.get("input_tokens") or 0) + (used.get("output_tokens") or 0)
        names = [call["name"] for call in event.data["tool_calls"]]
        self._asked[event.step] = f"calls {', '.join(names)}" if names else "answer"
        self.streamed = self.streamed and not names

    def step_saved(self, event: Any) -> None:
        step = event.step
        if step is None or step not in self._asked:
            return
        self._rest()
        self._face.err.note(f"step {step} saved: {self._asked.pop(step)}")

    def tool_start(self, event: Any) -> None:
        self._doing(f"step {event.step}: {event.data.get('name')} is running")

    def retry(self, event: Any) -> None:
        data = event.data
        self.tell(f"the model call failed: {data['error']}; retry {data['count']} in {data['wait_ms'] / 1000:g} s")

    def warning(self, event: Any) -> None:
        self._rest()
        self._face.err.warning(event.data["text"])

    def _doing(self, text: str) -> None:
        tokens = f" ({self._tokens} tokens so far)" if self._tokens else ""
        self._rest()
        if not self._middle_of_line:
            self._spinner = self._face.err.progress(text + tokens)
            self._spinner.__enter__()

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


_SHOWN: dict[str, Any] = {
    "step.start": RunView.step_start,
    "text.delta": RunView.text_delta,
    "step.done": RunView.step_done,
    "step.saved": RunView.step_saved,
    "tool.start": RunView.tool_start,
    "provider.retry": RunView.retry,
    "agent.drift": RunView.warning,
    "warning": RunView.warning,
}
