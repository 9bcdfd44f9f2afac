"""The three wires as their servers speak them: where each is asked, and one answer written out as its events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lousho_cli.domain.messages import Message

Call = tuple[str, str, str]
"""Id, name and arguments of a call."""

STREAMS = Path(__file__).parents[1] / "streams"


class Said(NamedTuple):
    """What a model says, in the pieces it comes in."""

    text: Sequence[str] = ()
    calls: Sequence[Call] = ()
    thoughts: Sequence[str] = ()
    piece: int = 9  # characters of arguments in one event


class Kind:
    """One wire. ``path`` is asked below the root of a server, ``agent_type`` is its name in an agent file.

    recorded: files of real streams; each asks for tools.

    end: what only the event has that ends an answer. A stream that holds it whole holds the whole answer.
    """

    id = path = agent_type = model = ""
    base_path = "/v1"
    llmock = "openai"
    end = re.compile(b"")
    recorded: tuple[str, ...] = ()

    def provider(self, root: str, **options: Any) -> Any:
        """A provider of this wire that asks the server at ``root``."""
        raise NotImplementedError

    def events(self, said: Said) -> list[bytes]:
        """An answer, each event by itself."""
        raise NotImplementedError

    def written(self, *text: str, **said: Any) -> list[bytes]:
        return self.events(Said(text, **said))

    def stream(self, *text: str, **said: Any) -> bytes:
        return b"".join(self.written(*text, **said))

    def recordings(self) -> list[bytes]:
        return [(STREAMS / f"{name}.sse").read_bytes() for name in self.recorded]

    def whole_from(self, stream: bytes) -> int:
        """How many bytes of a stream hold the whole answer. Behind them stand usage, ``[DONE]``, or nothing."""
        found = self.end.search(stream)
        assert found
        return stream.index(b"\n", found.end())

    def error(self, message: str) -> bytes:
        """An error as this wire's servers report one inside an answer."""
        raise NotImplementedError

    def messages(self, body: Any) -> list[Any]:
        """The transcript in a request."""
        return list(body["messages"])

    def base_url(self, root: str) -> str:
        return root + self.base_path

    def spec(self, root: str) -> dict[str, Any]:
        """The provider of an agent file that asks the server at ``root``."""
        return {"type": self.agent_type, "model": self.model, "base_url": self.base_url(root)}


def event(data: dict[str, Any], name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


class Chat(Kind):
    id, path, agent_type, model = "chat", "/v1/chat/completions", "openai", "gpt-5-mini"
    end = re.compile(rb'"finish_reason": ?"')
    recorded = ("chat_weather", "two_calls")

    def provider(self, root: str, **options: Any) -> Any:
        from lousho_cli.providers.chat.provider import OpenAIProvider

        return OpenAIProvider(options.pop("model", self.model), base_url=self.base_url(root), api_key_env="", **options)

    def events(self, said: Said) -> list[bytes]:
        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return event({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": self.model, "choices": [choice]})

        events = [chunk({"role": "assistant", "content": ""})]
        events += [chunk({"reasoning_content": piece}) for piece in said.thoughts]
        events += [chunk({"content": piece}) for piece in said.text]
        for index, (id, name, arguments) in enumerate(said.calls):
            begun = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
            events.append(chunk({"tool_calls": [begun]}))
            pieces = cut(arguments, said.piece)
            events += [chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}) for piece in pieces]
        events.append(chunk({}, "tool_calls" if said.calls else "stop"))
        usage = {"prompt_tokens": 75, "completion_tokens": 51, "total_tokens": 126}
        events.append(
            event({"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": self.model, "choices": [], "usage": usage})
        )
        return [*events, b"data: [DONE]\n\n"]

    def error(self, message: str) -> bytes:
        return event({"error": {"message": message, "type": "server_error", "code": None}})


class Responses(Kind):
    id, path, agent_type, model = "responses", "/v1/responses", "openai-responses", "gpt-5-mini"
    end = re.compile(rb'"type": ?"response.completed"')
    recorded = ("responses_half_characters", "responses_two_calls")

    def provider(self, root: str, **options: Any) -> Any:
        from lousho_cli.providers.responses.provider import OpenAIResponsesProvider

        return OpenAIResponsesProvider(options.pop("model", self.model), base_url=self.base_url(root), api_key_env="", **options)

    def messages(self, body: Any) -> list[Any]:
        return list(body["input"])

    def events(self, said: Said) -> list[bytes]:
        numbered: list[bytes] = []
        items: list[dict[str, Any]] = []

        def add(kind: str, **fields: Any) -> None:
            numbered.append(event({"type": kind, "sequence_number": len(numbered), **fields}, kind))

        def response(status: str, **more: Any) -> dict[str, Any]:
            plain = {"id": "resp_1", "object": "response", "created_at": 1, "model": self.model, "error": None, "incomplete_details": None}
            asked = {"instructions": None, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
            return {**plain, **asked, "temperature": 1.0, "top_p": 1.0, "status": status, "output": list(items), "usage": None, **more}

        add("response.created", response=response("in_progress"))
        add("response.in_progress", response=response("in_progress"))
        if said.thoughts:
            self._reasoning(said.thoughts, items, add)
        if said.text:
            self._message(said.text, items, add)
        for id, name, arguments in said.calls:
            at = len(items)
            item = {"id": f"fc_{at}", "type": "function_call", "status": "completed", "call_id": id, "name": name, "arguments": arguments}
            add("response.output_item.added", output_index=at, item={**item, "status": "in_progress", "arguments": ""})
            for piece in cut(arguments, said.piece):
                add("response.function_call_arguments.delta", item_id=item["id"], output_index=at, delta=piece)
            add("response.function_call_arguments.done", item_id=item["id"], output_index=at, name=name, arguments=arguments)
            add("response.output_item.done", output_index=at, item=item)
            items.append(item)
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {"input_tokens": 75, "output_tokens": 51, "total_tokens": 126, **details}
        add("response.completed", response=response("completed", usage=usage))
        return numbered

    @staticmethod
    def _reasoning(thoughts: Iterable[str], items: list[dict[str, Any]], add: Any) -> None:
        item: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": []}
        add("response.output_item.added", output_index=0, item=item)
        place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
        add("response.reasoning_summary_part.added", **place, part={"type": "summary_text", "text": ""})
        for piece in thoughts:
            add("response.reasoning_summary_text.delta", **place, delta=piece)
        part = {"type": "summary_text", "text": "".join(thoughts)}
        add("response.reasoning_summary_text.done", **place, text=part["text"])
        add("response.reasoning_summary_part.done", **place, part=part)
        item = {**item, "summary": [part], "encrypted_content": "c2VhbGVk"}
        add("response.output_item.done", output_index=0, item=item)
        items.append(item)

    @staticmethod
    def _message(text: Iterable[str], items: list[dict[str, Any]], add: Any) -> None:
        at, part = len(items), {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        item: dict[str, Any] = {"id": f"msg_{at}", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        place = {"item_id": item["id"], "output_index": at, "content_index": 0}
        add("response.output_item.added", output_index=at, item=item)
        add("response.content_part.added", **place, part=part)
        for piece in text:
            add("response.output_text.delta", **place, delta=piece, logprobs=[])
        part = {**part, "text": "".join(text)}
        add("response.output_text.done", **place, text=part["text"], logprobs=[])
        add("response.content_part.done", **place, part=part)
        item = {**item, "status": "completed", "content": [part]}
        add("response.output_item.done", output_index=at, item=item)
        items.append(item)

    def error(self, message: str) -> bytes:
        return event({"type": "error", "sequence_number": 3, "code": "server_error", "message": message, "param": None}, "error")


class Anthropic(Kind):
    id, path, agent_type, model = "anthropic", "/v1/messages", "anthropic", "claude-sonnet-4-5"
    base_path, llmock = "", "anthropic"
    end = re.compile(rb'"type": ?"message_stop"')
    recorded = ("anthropic_thinking_and_call", "anthropic_empty_arguments")

    def provider(self, root: str, **options: Any) -> Any:
        from lousho_cli.providers.anthropic.provider import AnthropicProvider

        return AnthropicProvider(options.pop("model", self.model), base_url=self.base_url(root), api_key_env="", **options)

    def events(self, said: Said) -> list[bytes]:
        events: list[bytes] = []

        def add(kind: str, **fields: Any) -> None:
            events.append(event({"type": kind, **fields}, kind))

        def block(at: int, start: dict[str, Any], *deltas: dict[str, Any]) -> None:
            add("content_block_start", index=at, content_block=start)
            for delta in deltas:
                add("content_block_delta", index=at, delta=delta)
            add("content_block_stop", index=at)

        usage = {"input_tokens": 75, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
        plain = {"id": "msg_1", "type": "message", "role": "assistant", "model": self.model, "content": []}
        add("message_start", message={**plain, "stop_reason": None, "stop_sequence": None, "usage": usage})
        at = 0
        if said.thoughts:
            pieces = [{"type": "thinking_delta", "thinking": piece} for piece in said.thoughts]
            block(at, {"type": "thinking", "thinking": "", "signature": ""}, *pieces, {"type": "signature_delta", "signature": "c2ln"})
            block(at + 1, {"type": "redacted_thinking", "data": "cmVk"})
            at += 2
        if said.text:
            block(at, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in said.text))
            events.insert(-1, event({"type": "ping"}, "ping"))
            at += 1
        for id, name, arguments in said.calls:
            pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in cut(arguments, said.piece)]
            block(at, {"type": "tool_use", "id": id, "name": name, "input": {}}, *pieces)
            at += 1
        stop = "tool_use" if said.calls else "end_turn"
        add("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 51})
        add("message_stop")
        return events

    def error(self, message: str) -> bytes:
        return event({"type": "error", "error": {"type": "api_error", "message": message}}, "error")


KINDS: tuple[Kind, ...] = (Chat(), Responses(), Anthropic())


def heard(message: Message) -> tuple[str, list[Call], str]:
    """Text, calls and reasoning of an answer."""
    thoughts = "".join(block.text for block in message.reasoning)
    return message.text, [(call.id, call.name, call.arguments) for call in message.tool_calls], thoughts
