"""The events of a Responses stream, folded into deltas and one answer.

Only a finished response is an end: a stream that stops without one was cut, whatever else it said. The output of
the finished response counts before what was streamed of it; where it is missing or has holes, what was streamed stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lousho_cli.domain.messages import Message, Reasoning, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.ports.provider import Answer
from lousho_cli.providers.responses.items import (
    CALL,
    MESSAGE,
    OUTPUT_TEXT,
    REASONING,
    REASONING_TEXT,
    REFUSAL,
    SUMMARY_TEXT,
    Delta,
    Item,
    Items,
    Part,
    Text,
    item_id,
)
from lousho_cli.providers.responses.native import native_of
from lousho_cli.providers.responses.request import WIRE
from lousho_cli.providers.wire.calls import argument_text, unique_id
from lousho_cli.providers.wire.errors import cut_error, error_of, malformed_error, stream_error
from lousho_cli.providers.wire.surrogates import whole

_NO_DELTAS: Iterator[Delta] = iter(())  # used up from the start, so that one serves all


class ResponsesBuilder:
    """Events in, deltas out, and the answer at the end.

    model: the name to report when the server tells none. new_id: for calls that came without an id. wire: the name
    under which what only this server understands is kept.
    """

    def __init__(self, model: str, new_id: Callable[[], str], wire: str = WIRE) -> None:
        self._model = model
        self._new_id = new_id
        self._wire = wire
        self._items = Items()
        self._texts: dict[tuple[Any, ...], Text] = {}  # where the deltas of an event go, by how it names its place
        self._usage: CallUsage | None = None
        self._finish: str | None = None

    @property
    def partial(self) -> bool:
        """Whether text, reasoning or a call has come."""
        return any(not item.empty for item in self._items)

    @property
    def ended(self) -> bool:
        """Whether the finished response has come."""
        return self._finish is not None

    closed = ended

    def done(self) -> None:
        """Takes ``[DONE]``, which is no part of this wire and ends nothing."""

    def event(self, name: str, value: Any) -> Iterator[Delta]:
        """Takes one event; ``name`` is its type where it does not tell one itself.

        Raises:
            ProviderError: it is an error, a response that failed, or nothing that can be read.
        """
        if type(value) is not dict:
            raise malformed_error("an event that is no object", partial=self.partial)
        kind = value.get("type", name)
        take = _EVENTS.get(kind) if type(kind) is str else None
        if take is None:
            return self._unknown(value)
        return take[0](self, value, take[1])

    def whole(self, value: Any) -> Iterator[Delta]:
        """Takes the response of a server that does not stream."""
        if type(value) is not dict:
            raise malformed_error("it is no response", partial=self.partial)
        if not isinstance(value.get("output"), list) and value.get("status") != "failed":
            found = error_of(value)
            raise stream_error(*found, partial=False) if found else malformed_error("it is no response")
        if value.get("status") in ("queued", "in_progress"):
            raise cut_error(partial=False, why="the response is still being made")
        return self._response(value, "completed")

    def _unknown(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        """An event of a kind that is not told of here: nothing, unless it holds an error in some other form."""
        found = error_of({"error": event.get("error")}) if "type" in event else error_of(event)
        if found is not None and not str(event.get("type", "")).startswith("response."):
            raise stream_error(*found, partial=self.partial)
        return _NO_DELTAS

    def _error(self, event: Mapping[str, Any], _: None) -> Iterator[Delta]:
        raise stream_error(*(error_of(event) or ("", "it does not say which")), partial=self.partial)

    def _begun(self, event: Mapping[str, Any], _: None) -> Iterator[Delta]:
        response = event.get("response")
        self._name_model(response if isinstance(response, Mapping) else {})
        return _NO_DELTAS

    def _announced(self, event: Mapping[str, Any], _: None) -> Iterator[Delta]:
        item = event.get("item")
        if isinstance(item, Mapping) and isinstance(item.get("type"), str):
            self._texts.clear()
            self._items.announced(item, _index(event)).announce(item)
        return _NO_DELTAS

    def _told(self, event: Mapping[str, Any], _: None) -> Iterator[Delta]:
        entry = event.get("item")
        if not isinstance(entry, Mapping) or not isinstance(entry.get("type"), str):
            return _NO_DELTAS
        self._texts.clear()
        return self._items.closed(entry, _index(event)).tell(entry)

    def _part_told(self, event: Mapping[str, Any], _: None) -> Iterator[Delta]:
        entry = event.get("part")
        kind = REASONING if isinstance(entry, Mapping) and entry.get("type") in ("summary_text", "reasoning_text") else MESSAGE
        key = "summary_index" if "summary_index" in event else "content_index"
        return self._item(event, kind).tell_part(_index(event, key) or 0, entry)

    def _delta(self, event: Mapping[str, Any], part: Part) -> Iterator[Delta]:
        piece = event.get("delta")
        if type(piece) is not str:
            return _NO_DELTAS
        place = (part, event.get("item_id"), event.get("output_index"), event.get(part.number))
        try:
            text = self._texts[place]
        except (KeyError, TypeError):
            text = self._item(event, part.item).part(part, _index(event, part.number) or 0)
            self._texts[part, item_id(place[1]), _index(event), _index(event, part.number)] = text
        piece = text.push(piece)
        return iter((part.delta(piece),)) if piece else _NO_DELTAS

    def _text_told(self, event: Mapping[str, Any], part: Part) -> Iterator[Delta]:
        entry = {"type": part.name, part.text: event.get(part.text)}
        return self._item(event, part.item).tell_part(_index(event, part.number) or 0, entry)

    def _arguments(self, event: Mapping[str, Any], _: None) -> Iterator[Delta]:
        piece = event.get("delta")
        if piece is not None:
            self._item(event, CALL).arguments.push(argument_text(piece))
        return _NO_DELTAS

    def _arguments_told(self, event: Mapping[str, Any], _: None) -> Iterator[Delta]:
        if event.get("arguments") is not None:
            self._item(event, CALL).arguments.settle(argument_text(event["arguments"]))
        return _NO_DELTAS

    def _item(self, event: Mapping[str, Any], kind: str) -> Item:
        return self._items.named(kind, item_id(event.get("item_id")), _index(event))

    def _finished(self, event: Mapping[str, Any], status: str) -> Iterator[Delta]:
        response = event.get("response")
        return self._response(response if isinstance(response, Mapping) else {}, status)

    def _response(self, response: Mapping[str, Any], status: str) -> Iterator[Delta]:
        """Takes the finished response. ``status`` is what its event says, which its own may make worse."""
        own = response.get("status")
        status = own if status == "completed" and own in ("incomplete", "failed", "cancelled") else status
        if status == "cancelled":
            raise cut_error(partial=self.partial, why="the response was cancelled")
        found = error_of({"error": response.get("error")})
        if found is not None or status == "failed":
            raise stream_error(*(found or ("server_error", "the response failed")), partial=self.partial)
        self._name_model(response)
        self._usage = _usage_of(response.get("usage")) or self._usage
        output = response.get("output")
        yield from self._items.settle(output if isinstance(output, list) else [])
        self._finish = "stop" if status == "completed" else _why_incomplete(response.get("incomplete_details"))

    def _name_model(self, response: Mapping[str, Any]) -> None:
        if isinstance(response.get("model"), str) and response["model"]:
            self._model = response["model"]

    def answer(self) -> Answer:
        """The whole answer.

        Raises:
            ProviderError: the stream stopped without its end, there is nothing in it, or a call can not be run.
        """
        if self._finish is None:
            raise cut_error(partial=self.partial)
        if not self._items and self._finish == "stop":
            raise malformed_error("it is empty")
        calls = self._calls()
        message = Message(
            role="assistant",
            content="".join(text for item in self._items if item.kind == MESSAGE for text in item.texts(OUTPUT_TEXT, REFUSAL)),
            tool_calls=calls,
            reasoning=tuple(
                Reasoning(text=text)
                for item in self._items
                if item.kind == REASONING
                for text in item.texts(SUMMARY_TEXT, REASONING_TEXT)
                if text
            ),
            native=native_of((item.whole() for item in self._items), self._wire),
        )
        finish = self._finish
        if calls:  # one of an answer that was cut short may be cut as well, and only "length" keeps it from being run
            finish = "tool_calls" if finish == "stop" else "length"
        return Answer(message=message, finish_reason=finish, usage=self._usage, model=self._model)

    def _calls(self) -> tuple[ToolCall, ...]:
        """The calls in order, each with an id of its own, and ``{}`` for arguments that are blank."""
        taken: set[str] = set()
        calls = []
        for item in self._items:
            if item.kind != CALL:
                continue
            name = item.told.get("name")
            if not isinstance(name, str) or not name:
                raise malformed_error("a tool call without a name", partial=True)
            given = item_id(item.told.get("call_id"))
            call_id = unique_id(whole(given) if given else f"call_{self._new_id()}", taken)
            taken.add(call_id)
            arguments = str(item.arguments)
            calls.append(ToolCall(id=call_id, name=whole(name), arguments=arguments if arguments.strip() else "{}"))
        return tuple(calls)


_Take = Callable[[ResponsesBuilder, dict[str, Any], Any], Iterator[Delta]]


def _table() -> dict[str, tuple[_Take, Any]]:
    """What is done with an event, and with what, by its type."""
    builder = ResponsesBuilder
    table: dict[str, tuple[_Take, Any]] = {
        "error": (builder._error, None),
        "response.created": (builder._begun, None),
        "response.queued": (builder._begun, None),
        "response.in_progress": (builder._begun, None),
        "response.output_item.added": (builder._announced, None),
        "response.output_item.done": (builder._told, None),
        "response.content_part.done": (builder._part_told, None),
        "response.reasoning_summary_part.done": (builder._part_told, None),
        "response.function_call_arguments.delta": (builder._arguments, None),
        "response.function_call_arguments.done": (builder._arguments_told, None),
        "response.done": (builder._finished, "completed"),
    }
    for part in (OUTPUT_TEXT, REFUSAL, REASONING_TEXT, SUMMARY_TEXT):
        stem = "reasoning_summary_text" if part is SUMMARY_TEXT else part.name
        table[f"response.{stem}.delta"] = (builder._delta, part)
        table[f"response.{stem}.done"] = (builder._text_told, part)
    for status in ("completed", "incomplete", "failed", "cancelled"):
        table[f"response.{status}"] = (builder._finished, status)
    return table


_EVENTS = _table()


def _why_incomplete(details: Any) -> str:
    """Why a response stopped early."""
    reason = details.get("reason") if isinstance(details, Mapping) else None
    return "content_filter" if reason == "content_filter" else "length"


def _usage_of(usage: Any) -> CallUsage | None:
    """What a response says about tokens; None when it says nothing."""
    if not isinstance(usage, Mapping):
        return None
    read, written = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    cost = usage.get("cost")
    found = CallUsage(
        input_tokens=_count(usage, "input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        cached_input_tokens=_count(read, "cached_tokens"),
        cache_write_tokens=_count(read, "cache_write_tokens"),
        reasoning_tokens=_count(written, "reasoning_tokens"),
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
    )
    return None if found == CallUsage() else found


def _count(source: Any, key: str) -> int | None:
    value = source.get(key) if isinstance(source, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _index(event: Mapping[str, Any], key: str = "output_index") -> int | None:
    value = event.get(key)
    return value if isinstance(value, int) else None
