"""The chunks of a chat-completions stream, folded into deltas and one answer.

Takes what servers really send: usage in a chunk without choices, in a choice or not at all, null where
text should be, reasoning under several names, a finish reason that lies, an error in the middle of a success. What is
no whole answer becomes an error, never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lousho_cli.domain.messages import Message, Reasoning
from lousho_cli.domain.usage import CallUsage
from lousho_cli.ports.provider import Answer, ReasoningDelta, TextDelta
from lousho_cli.providers.chat.calls import CallFragments
from lousho_cli.providers.chat.dialects import PLAIN, Dialect
from lousho_cli.providers.chat.extras import THINKING, Details, Extras, kept, signatures_in
from lousho_cli.providers.chat.usage import usage_of
from lousho_cli.providers.wire.errors import cut_error, error_of, malformed_error, stream_error
from lousho_cli.providers.wire.surrogates import Joiner, inner_whole

_FINISH = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "sensitive": "content_filter",
}

_BROKEN_OFF = {
    "error": ("error", "the model ended with an error"),
    "abort": ("error", "the server gave the request up"),
    "network_error": ("error", "the server lost the model"),
    "insufficient_system_resource": ("overloaded_error", "the server has no resources left to go on"),
    "malformed_function_call": ("tool_use_failed", "the model wrote a call that its server could not read"),
}
"""Reasons to end that are none: code and text of the error that they are."""


class ChatBuilder:
    """Chunks in, deltas out, and the answer at the end.

    model: the name to report when the server tells none. new_id: for calls that came without an id. wire: the name
    under which what only this server understands is kept. dialect: what it takes back.
    """

    def __init__(self, model: str, new_id: Callable[[], str], wire: str = "chat", dialect: Dialect = PLAIN) -> None:
        self._model = model
        self._new_id = new_id
        self._wire, self._dialect, self._field = wire, dialect, ""
        self._details = Details()
        self._extra: dict[str, Any] = {}
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._text_joiner, self._reasoning_joiner = Joiner(), Joiner()
        self._calls = CallFragments()
        self._usage: CallUsage | None = None
        self._finish: str | None = None
        self._done = False

    @property
    def partial(self) -> bool:
        """Whether text, reasoning or a call has come."""
        return bool(self._text or self._reasoning or self._calls)

    @property
    def ended(self) -> bool:
        """Whether the end mark has come: a finish reason, or ``[DONE]``."""
        return self._done or self._finish is not None

    @property
    def closed(self) -> bool:
        """Whether ``[DONE]`` has come: usage may stand behind a finish reason."""
        return self._done

    def done(self) -> None:
        """Takes ``[DONE]``."""
        self._done = True

    def event(self, name: str, value: Any) -> Iterator[TextDelta | ReasoningDelta]:
        """Takes one event, whatever its name."""
        return self.whole(value)

    def whole(self, chunk: Any) -> Iterator[TextDelta | ReasoningDelta]:
        """Takes one chunk, or a whole answer of a server that does not stream.

        Raises:
            ProviderError: it is an error object, or nothing that can be read.
        """
        if not isinstance(chunk, dict):
            raise malformed_error("an event that is no object", partial=self.partial)
        choice = self._choice(chunk)
        groq = chunk.get("x_groq")
        if "error" in chunk or "error" in choice or groq or "choices" not in chunk:
            self._refuse_errors(chunk, choice, groq)
        if isinstance(chunk.get("model"), str) and chunk["model"]:
            self._model = chunk["model"]
        if "usage" in chunk or "usage" in choice or groq:
            self._usage = usage_of(chunk, choice, groq) or self._usage
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            # A whole message after deltas is what they said once more.
            delta = choice.get("message") if not self.partial else None
        if isinstance(delta, dict):
            yield from self._delta(delta)
        if isinstance(choice.get("finish_reason"), str) and choice["finish_reason"]:
            self._finish = choice["finish_reason"]

    def _choice(self, chunk: dict[str, Any]) -> dict[str, Any]:
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                return choice
        return {}

    def _refuse_errors(self, chunk: dict[str, Any], choice: dict[str, Any], groq: Any) -> None:
        for place in (chunk, choice, groq):
            if isinstance(place, dict) and place.get("error") and (found := error_of({"error": place["error"]})):
                raise stream_error(*found, partial=self.partial)
        if "choices" not in chunk and (found := error_of(chunk)) is not None:
            raise stream_error(*found, partial=self.partial)

    def _delta(self, delta: dict[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        text, thought, field = _pieces(delta)
        if "reasoning_details" in delta and isinstance(delta["reasoning_details"], list):
            shown = self._details.add(delta["reasoning_details"])
            thought = thought or shown
        if "extra_content" in delta:
            self._extra |= signatures_in(delta["extra_content"])
        self._field = self._field or field
        if thought and (thought := self._reasoning_joiner.push(thought)):
            self._reasoning.append(thought)
            yield ReasoningDelta(thought)
        if text and (text := self._text_joiner.push(text)):
            self._text.append(text)
            yield TextDelta(text)
        calls = delta.get("tool_calls")
        if isinstance(calls, list):
            self._calls.add(calls)

    def answer(self) -> Answer:
        """The whole answer.

        Raises:
            ProviderError: the stream stopped without its end mark, ended in an error, or a call can not be run.
        """
        if not self.ended:
            raise cut_error(partial=self.partial)
        if self._finish is None and not self.partial:
            raise malformed_error("it is empty")
        said = (self._finish or "stop").lower()
        if (broken := _BROKEN_OFF.get(said.rpartition(" ")[2])) is not None:
            raise stream_error(*broken, partial=self.partial)
        try:
            calls = self._calls.whole(self._new_id)
        except ValueError as error:
            raise malformed_error(str(error), partial=self.partial) from None
        reasoning = "".join(self._reasoning)
        message = Message(
            role="assistant",
            content="".join(self._text),
            tool_calls=calls,
            reasoning=(Reasoning(text=reasoning),) if reasoning else (),
            native=kept(self._extras(), self._wire),
        )
        return Answer(message=message, finish_reason=_finish_reason(said, bool(calls)), usage=self._usage, model=self._model)

    def _extras(self) -> Extras:
        known = not self._dialect.echo or self._field == self._dialect.reasoning
        return Extras("" if known else self._field, self._details.whole(), self._extra, self._calls.extras())


def _finish_reason(said: str, calls: bool) -> str:
    """The server's word, except that it is about calls exactly when there are calls."""
    reason = _FINISH.get(said, "other")
    if calls:
        return "tool_calls" if reason in ("stop", "other") else reason
    return "stop" if reason == "tool_calls" else reason


def _pieces(delta: dict[str, Any]) -> tuple[str, str, str]:
    """Text and reasoning of a delta, and the field in which reasoning stood."""
    content = delta.get("content")
    field = "reasoning_content" if delta.get("reasoning_content") else "reasoning"
    thought = delta.get(field)
    if not thought or not isinstance(thought, str):
        thought = field = ""
    if isinstance(content, list):
        inside = _part_text(content, "thinking")
        return _part_text(content, "text"), inner_whole(thought + inside), field or (THINKING if inside else "")
    text = content if isinstance(content, str) else ""
    refusal = delta.get("refusal")
    if isinstance(refusal, str) and refusal:
        text = inner_whole(text + refusal)
    return text, thought, field


def _part_text(parts: list[Any], kind: str) -> str:
    """The joined text of the parts of one kind; a thinking part holds a list of text parts, or text."""
    texts = []
    for part in parts:
        if isinstance(part, dict) and part.get("type") == kind:
            value = part.get(kind)
            texts.append(_part_text(value, "text") if isinstance(value, list) else str(value or ""))
    return inner_whole("".join(texts))
