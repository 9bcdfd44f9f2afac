"""The events of a Messages stream, folded into deltas and one answer.

``message_stop`` is the only end: an answer that stops before it was cut, whatever it had said of its end by then. What is
not known is passed over, unless it is a block, which is kept to be sent back. What is no whole answer becomes an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lousho_cli.core.decide import PAUSED
from lousho_cli.domain.messages import Message, Native, ToolCall
from lousho_cli.ports.provider import Answer, ReasoningDelta, TextDelta
from lousho_cli.providers.anthropic.blocks import Part, Parts, wire_block
from lousho_cli.providers.anthropic.native import Block, pack
from lousho_cli.providers.anthropic.usage import Counts
from lousho_cli.providers.wire.calls import unique_id
from lousho_cli.providers.wire.errors import cut_error, error_of, malformed_error, stream_error
from lousho_cli.providers.wire.surrogates import whole

Delta = TextDelta | ReasoningDelta
Event = Mapping[str, Any]

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
    "pause_turn": PAUSED,
    "compaction": PAUSED,
}
_THINKING = ("thinking", "redacted_thinking")
_ORDER = {"thinking": 0, "redacted_thinking": 0, "text": 1, "tool_use": 2}


class MessagesBuilder:
    """Events in, deltas out, and the answer at the end.

    model: the name to report when the server tells none. new_id: for calls that came without an id.
    """

    def __init__(self, model: str, new_id: Callable[[], str]) -> None:
        self._model = model
        self._new_id = new_id
        self._parts = Parts()
        self._counts = Counts()
        self._reason: str | None = None
        self._ended = False
        self._events: dict[str, Callable[[Event], Iterator[Delta]]] = {
            "content_block_start": self._start,
            "content_block_stop": self._stop,
            "ping": _nothing,
            "message_start": self._message_start,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._error,
        }
        self._deltas: dict[str, Callable[[Any, Event], Iterator[Delta]]] = {
            "text_delta": self._text,
            "input_json_delta": self._input,
            "thinking_delta": self._thought,
            "signature_delta": self._signature,
            "citations_delta": self._citation,
        }

    @property
    def partial(self) -> bool:
        """Whether text, thinking or a call has come."""
        return bool(self._parts.all)

    @property
    def ended(self) -> bool:
        """Whether the end mark has come: ``message_stop``."""
        return self._ended

    @property
    def closed(self) -> bool:
        """The same: nothing stands behind it."""
        return self._ended

    def done(self) -> None:
        """Takes ``[DONE]``, which imitators send: an end where they told a reason before."""
        self._ended = self._ended or self._reason is not None

    def event(self, name: str, value: Any) -> Iterator[Delta]:
        """Takes one event; what kind it is stands in itself, else in its name.

        Raises:
            ProviderError: it is an error, or nothing that can be read.
        """
        try:
            kind = value.get("type", name)
            if kind == "content_block_delta":  # nearly all of them
                delta = value["delta"]
                return self._deltas.get(delta["type"], self._more)(value.get("index"), delta)
            return self._events.get(kind, self._unknown)(value)
        except (AttributeError, LookupError, TypeError):
            raise malformed_error("an event that is not what it says it is", partial=self.partial) from None

    def whole(self, value: Any) -> Iterator[Delta]:
        """Takes the answer of a server that does not stream.

        Raises:
            ProviderError: it is an error object, or no answer.
        """
        if not isinstance(value, Mapping) or value.get("type") == "error" or not isinstance(value.get("content"), list):
            yield from self._error(value)
        yield from self._message_start({"message": value})
        self._reason = self._reason or "end_turn"

    def _error(self, value: Event) -> Iterator[Delta]:
        found = error_of(value)
        if found is None:
            raise malformed_error("it is no answer of a model", partial=self.partial)
        raise stream_error(*found, partial=self.partial)

    def _unknown(self, value: Event) -> Iterator[Delta]:
        """A kind of event of later times is passed over, an error that does not say it is one is not."""
        return self._error(value) if value.get("error") else _NOTHING

    def _message_start(self, value: Event) -> Iterator[Delta]:
        message = value.get("message")
        if not isinstance(message, Mapping):
            return
        model = message.get("model")
        if isinstance(model, str) and model:
            self._model = whole(model)
        self._counts.add(message.get("usage"))
        self._reason = self._reason or _word(message.get("stop_reason"))
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            yield from self._start({"content_block": block})

    def _message_delta(self, value: Event) -> Iterator[Delta]:
        self._counts.add(value.get("usage"))
        delta = value.get("delta")
        if isinstance(delta, Mapping):
            self._reason = _word(delta.get("stop_reason")) or self._reason
        return _NOTHING

    def _message_stop(self, value: Event) -> Iterator[Delta]:
        self._ended = True
        return _NOTHING

    def _start(self, value: Event) -> Iterator[Delta]:
        """A block begins, perhaps with text in it already."""
        block = value.get("content_block")
        if not isinstance(block, Mapping):
            return _NOTHING
        part = self._parts.begin(value.get("index"), block)
        if part.kind in ("text", "thinking") and (text := part.said(block.get(part.kind))):
            return iter((TextDelta(text) if part.kind == "text" else ReasoningDelta(text),))
        return _NOTHING

    def _stop(self, value: Event) -> Iterator[Delta]:
        """A block ends; one of thinking that is signed is told whole."""
        part = self._parts.known(value.get("index"))
        if part is None or part.kind not in _THINKING:
            return _NOTHING
        block = part.reasoning
        return iter((ReasoningDelta("", block),)) if block.signature or block.redacted else _NOTHING

    def _text(self, index: Any, delta: Event) -> Iterator[Delta]:
        text = self._parts.at(index, "text").said(delta.get("text"))
        return iter((TextDelta(text),)) if text else _NOTHING

    def _thought(self, index: Any, delta: Event) -> Iterator[Delta]:
        text = self._parts.at(index, "thinking").said(delta.get("thinking"))
        return iter((ReasoningDelta(text),)) if text else _NOTHING

    def _input(self, index: Any, delta: Event) -> Iterator[Delta]:
        piece = delta.get("partial_json")
        if isinstance(piece, str):
            self._parts.taking_input(index).takes(piece)
        return _NOTHING

    def _signature(self, index: Any, delta: Event) -> Iterator[Delta]:
        piece = delta.get("signature")
        if isinstance(piece, str):
            self._parts.at(index, "thinking").signature.append(piece)
        return _NOTHING

    def _citation(self, index: Any, delta: Event) -> Iterator[Delta]:
        if "citation" in delta:
            self._parts.at(index, "text").citations.append(delta["citation"])
        return _NOTHING

    def _more(self, index: Any, delta: Event) -> Iterator[Delta]:
        """An unknown delta: text that is added to a field of a block nobody knows, passed over in one we do."""
        part = self._parts.known(index)
        if part is not None and part.kind not in _ORDER:
            for key, piece in delta.items():
                if key != "type" and isinstance(piece, str):
                    part.more.setdefault(key, []).append(piece)
        return _NOTHING

    def answer(self) -> Answer:
        """The whole answer.

        Raises:
            ProviderError: the stream stopped before its end mark, says nothing at all, or a call has no name.
        """
        if not self._ended:
            raise cut_error(partial=self.partial)
        if self._reason is None and not self.partial:
            raise malformed_error("it is empty")
        parts = self._parts.all
        if self._reason == "refusal":  # what it had begun to ask for is not to be done
            parts = [part for part in parts if part.kind != "tool_use"]
        calls = self._calls([part for part in parts if part.kind == "tool_use"])
        reasoning = tuple(part.reasoning for part in parts if part.kind in _THINKING)
        message = Message(
            role="assistant",
            content="".join([part.whole_text for part in parts if part.kind == "text"]),
            tool_calls=calls,
            reasoning=tuple(thought for thought in reasoning if thought.text or thought.signature or thought.redacted),
            native=_native(parts),
        )
        return Answer(message, _finish_reason(self._reason, bool(calls)), self._counts.usage(), self._model)

    def _calls(self, parts: list[Part]) -> tuple[ToolCall, ...]:
        """Calls in the order they began, each with an id of its own."""
        calls: dict[str, ToolCall] = {}
        for part in parts:
            name, wanted = part.start.get("name"), part.start.get("id")
            if not name or not isinstance(name, str):
                raise malformed_error("a tool call without a name", partial=True)
            wanted = whole(wanted) if wanted and isinstance(wanted, str) else f"toolu_{self._new_id()}"
            call_id = unique_id(wanted, calls)
            calls[call_id] = ToolCall(call_id, whole(name), part.arguments)
        return tuple(calls.values())


def _native(parts: list[Part]) -> Native | None:
    """The blocks as they came, where a message of ours would send others: thinking, one text, calls, in this order."""
    pairs = [(part.kind, block) for part in parts if (block := wire_block(part)) is not None]
    order = [_ORDER.get(kind, -1) for kind, _ in pairs]
    plainly = order == sorted(order) and -1 not in order and order.count(1) < 2 and not any(map(_has_more, pairs))
    return None if plainly else pack(block for _, block in pairs)


def _has_more(pair: tuple[str, Block]) -> bool:
    return "citations" in pair[1] or "caller" in pair[1]


def _finish_reason(said: str | None, calls: bool) -> str:
    """The server's word, except that it is about calls exactly when there are calls."""
    reason = _FINISH.get(said or "end_turn", "other")
    if calls:
        return "tool_calls" if reason in ("stop", "other", PAUSED) else reason
    return "stop" if reason == "tool_calls" else reason


def _word(value: Any) -> str | None:
    return value if value and isinstance(value, str) else None


_NOTHING: Iterator[Delta] = iter(())


def _nothing(value: Event) -> Iterator[Delta]:
    return _NOTHING
