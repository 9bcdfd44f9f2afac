"""The loopback server of the folder above, asked by the Responses provider; and answers written out as their events."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from lousho_cli.providers.responses.provider import OpenAIResponsesProvider

Event = dict[str, Any]


class Block(NamedTuple):
    """One item of an answer: the events it is streamed in, and itself as it is told once it is done."""

    events: list[Event]
    item: dict[str, Any]


class Say:
    """Answers by the book, in pieces that a test can leave out or twist."""

    @staticmethod
    def event(kind: str, **fields: Any) -> Event:
        return {"type": f"response.{kind}", **fields}

    def text(self, *pieces: str, at: int = 0, id: str = "msg_1", **more: Any) -> Block:
        place = {"item_id": id, "output_index": at, "content_index": 0}
        part = {"type": "output_text", "text": "".join(pieces), "annotations": [], "logprobs": []}
        item = {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": [part], **more}
        events = [
            self.event("output_item.added", output_index=at, item={**item, "status": "in_progress", "content": []}),
            self.event("content_part.added", **place, part={**part, "text": ""}),
            *(self.event("output_text.delta", **place, delta=piece, logprobs=[]) for piece in pieces),
            self.event("output_text.done", **place, text=part["text"], logprobs=[]),
            self.event("content_part.done", **place, part=part),
            self.event("output_item.done", output_index=at, item=item),
        ]
        return Block(events, item)

    def call(self, name: str, *pieces: str, at: int = 0, id: str = "fc_1", call_id: str | None = "call_1") -> Block:
        place = {"item_id": id, "output_index": at}
        arguments = "".join(pieces)
        item = {"id": id, "type": "function_call", "status": "completed", "call_id": call_id, "name": name, "arguments": arguments}
        events = [
            self.event("output_item.added", output_index=at, item={**item, "status": "in_progress", "arguments": ""}),
            *(self.event("function_call_arguments.delta", **place, delta=piece) for piece in pieces),
            self.event("function_call_arguments.done", **place, arguments=arguments),
            self.event("output_item.done", output_index=at, item=item),
        ]
        return Block(events, item)

    def reasoning(self, *summary: str, at: int = 0, id: str = "rs_1", encrypted: str | None = "gAAA==", **more: Any) -> Block:
        parts = [{"type": "summary_text", "text": text} for text in summary]
        begun = {"id": id, "type": "reasoning", "summary": [], "encrypted_content": encrypted and "half"}
        item = {**begun, "summary": parts, "encrypted_content": encrypted, **more}
        events = [self.event("output_item.added", output_index=at, item=begun)]
        for number, part in enumerate(parts):
            place = {"item_id": id, "output_index": at, "summary_index": number}
            events += [
                self.event("reasoning_summary_part.added", **place, part={**part, "text": ""}),
                self.event("reasoning_summary_text.delta", **place, delta=part["text"]),
                self.event("reasoning_summary_text.done", **place, text=part["text"]),
                self.event("reasoning_summary_part.done", **place, part=part),
            ]
        return Block([*events, self.event("output_item.done", output_index=at, item=item)], item)

    @staticmethod
    def response(*items: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": "m-1",
            "output": list(items),
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": None,
            **more,
        }

    def end(self, *items: dict[str, Any], status: str = "completed", **more: Any) -> Event:
        return self.event(status, response=self.response(*items, status=status, **more))

    def begin(self) -> list[Event]:
        begun = self.response(status="in_progress")
        return [self.event("created", response=begun), self.event("in_progress", response=begun)]

    def answer(self, *blocks: Block, status: str = "completed", **more: Any) -> bytes:
        """A whole answer, its blocks one after the other."""
        events = [event for block in blocks for event in block.events]
        return self.sse(*self.begin(), *events, self.end(*(block.item for block in blocks), status=status, **more))

    @staticmethod
    def sse(*events: Event, done: bool = False) -> bytes:
        """Events as they are sent, numbered and named."""
        numbered = ({**event, "sequence_number": number} for number, event in enumerate(events))
        lines = [f"event: {event.get('type')}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in numbered]
        return ("".join(lines) + ("data: [DONE]\n\n" if done else "")).encode()

    def hi(self) -> bytes:
        """A plain good answer."""
        return self.answer(self.text("hi"))


@pytest.fixture
def say() -> Say:
    return Say()


@pytest.fixture
def wire(wire: Any) -> Any:
    """The server, with providers of this wire."""

    def provider(**options: Any) -> OpenAIResponsesProvider:
        made = OpenAIResponsesProvider("m-1", **{"base_url": wire.base_url, "clock": wire.clock, **options})
        wire._opened.append(made)
        return made

    wire.provider = provider
    return wire
