"""The chunks of a chat-completions stream, folded into deltas and one answer.

Takes what servers really send: usage in a chunk without choices or not at all, null where text
should be, reasoning under two names, a finish reason that lies, an error in the middle of a
success. What is no whole answer becomes an error, never an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lousho_cli.domain.messages import Message, Reasoning
from lousho_cli.domain.usage import CallUsage
from lousho_cli.ports.provider import Answer, ReasoningDelta, TextDelta
from lousho_cli.providers.chat.calls import CallFragments
from lousho_cli.providers.wire.errors import cut_error, error_of, malformed_error, stream_error
from lousho_cli.providers.wire.surrogates import Joiner

_FINISH = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}


class ChatBuilder:
    """Chunks in, deltas out, and the answer at the end.

    model: the name to report when the server tells none. new_id: for calls that came without an id.
    """

    def __init__(self, model: str, new_id: Callable[[], str]) -> None:
        self._model = model
        self._new_id = new_id
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
        if not isinstance(chunk, Mapping):
            raise malformed_error("an event that is no object", partial=self.partial)
        choice = self._choice(chunk)
        self._refuse_errors(chunk, choice)
        if isinstance(chunk.get("model"), str) and chunk["model"]:
            self._model = chunk["model"]
        self._usage = _usage_of(chunk) or self._usage
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            # A whole message after deltas is what they said once more.
            delta = choice.get("message") if not self.partial else None
        if isinstance(delta, Mapping):
            yield from self._delta(delta)
        if isinstance(choice.get("finish_reason"), str) and choice["finish_reason"]:
            self._finish = choice["finish_reason"]

    def _choice(self, chunk: Mapping[str, Any]) -> Mapping[str, Any]:
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and not choice.get("index"):
                return choice
        return {}

    def _refuse_errors(self, chunk: Mapping[str, Any], choice: Mapping[str, Any]) -> None:
        for place in (chunk, choice):
            found = error_of({"error": place.get("error")})
            if found is not None:
                raise stream_error(*found, partial=self.partial)
        if "choices" not in chunk and (found := error_of(chunk)) is not None:
            raise stream_error(*found, partial=self.partial)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        text, thought = _pieces(delta)
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
        if self._finish == "error":
            raise stream_error("error", "the model ended with an error", partial=self.partial)
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
        )
        return Answer(message=message, finish_reason=_finish_reason(self._finish, bool(calls)), usage=self._usage, model=self._model)


def _finish_reason(said: str | None, calls: bool) -> str:
    """The server's word, except that it is about calls exactly when there are calls."""
    reason = _FINISH.get(said or "stop", "other")
    if calls:
        return "tool_calls" if reason in ("stop", "other") else reason
    return "stop" if reason == "tool_calls" else reason


def _pieces(delta: Mapping[str, Any]) -> tuple[str, str]:
    """Text and reasoning of a delta."""
    content = delta.get("content")
    thought = delta.get("reasoning_content") or delta.get("reasoning")
    thought = thought if isinstance(thought, str) else ""
    if isinstance(content, list):
        return _part_text(content, "text"), thought + _part_text(content, "thinking")
    text = content if isinstance(content, str) else ""
    refusal = delta.get("refusal")
    return text + (refusal if isinstance(refusal, str) else ""), thought


def _part_text(parts: list[Any], kind: str) -> str:
    """The joined text of the parts of one kind; a thinking part holds a list of text parts, or text."""
    texts = []
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") == kind:
            value = part.get(kind)
            texts.append(_part_text(value, "text") if isinstance(value, list) else str(value or ""))
    return "".join(texts)


def _usage_of(chunk: Mapping[str, Any]) -> CallUsage | None:
    """What a chunk says about tokens; None when it says nothing."""
    usage = chunk.get("usage")
    if not isinstance(usage, Mapping):
        extra = chunk.get("x_groq")
        usage = extra.get("usage") if isinstance(extra, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    prompt, completion = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = _count(prompt, "cached_tokens")
    cost = usage.get("cost")
    found = CallUsage(
        input_tokens=_count(usage, "prompt_tokens"),
        output_tokens=_count(usage, "completion_tokens"),
        cached_input_tokens=_count(usage, "prompt_cache_hit_tokens") if cached is None else cached,
        reasoning_tokens=_count(completion, "reasoning_tokens"),
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
    )
    return None if found == CallUsage() else found


def _count(source: Any, key: str) -> int | None:
    value = source.get(key) if isinstance(source, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
