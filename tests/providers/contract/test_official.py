"""The official packages as judges: they read an answer as we do, and their types take every request that we send."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from lousho_cli.core.transcript import check
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Reasoning, TextPart, ToolCall
from lousho_cli.ports.provider import ModelRequest, ToolSpec

WORDS = {"end_turn": "stop", "tool_use": "tool_calls", "completed": "stop", "incomplete": "length", "max_tokens": "length"}

# What they read


async def chat(root: str) -> tuple[Any, ...]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=f"{root}/v1", api_key="k", max_retries=0) as client:
        asked: Any = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream_options": {"include_usage": True}}
        async with client.chat.completions.stream(**asked) as stream:
            final = await stream.get_final_completion()
    (choice,) = final.choices
    calls = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
    thoughts = getattr(choice.message, "reasoning_content", "")
    assert final.usage
    return choice.message.content, calls, thoughts, choice.finish_reason, final.usage.prompt_tokens, final.usage.completion_tokens


async def responses(root: str) -> tuple[Any, ...]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=f"{root}/v1", api_key="k", max_retries=0) as client:
        text = ""
        async with client.responses.stream(model="m", input="hello") as stream:
            async for event in stream:
                text += event.delta if event.type == "response.output_text.delta" else ""
            final = await stream.get_final_response()
    assert final.output_text == _joined(text)
    calls = [(item.call_id, item.name, item.arguments) for item in final.output if item.type == "function_call"]
    thoughts = "".join(part.text for item in final.output if item.type == "reasoning" for part in item.summary)
    assert final.usage
    finish = "tool_calls" if calls else final.status
    return final.output_text, calls, thoughts, finish, final.usage.input_tokens, final.usage.output_tokens


async def anthropic(root: str) -> tuple[Any, ...]:
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(base_url=root, api_key="k", max_retries=0) as client:
        async with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hello"}]) as stream:
            final = await stream.get_final_message()
    text = "".join(block.text for block in final.content if block.type == "text")
    calls = [(block.id, block.name, json.dumps(block.input)) for block in final.content if block.type == "tool_use"]
    thoughts = "".join(block.thinking for block in final.content if block.type == "thinking")
    return text, calls, thoughts, final.stop_reason, final.usage.input_tokens, final.usage.output_tokens


READERS = {"chat": chat, "responses": responses, "anthropic": anthropic}


def _joined(text: str) -> str:
    """The two halves of a character that came in two events as one, which the package leaves to us."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _loose(heard: tuple[Any, ...]) -> tuple[Any, ...]:
    text, calls, thoughts, finish, *usage = heard
    # One package gives the arguments as an object, and only an object can be compared.
    parsed = [(id, name, json.loads(arguments)) for id, name, arguments in calls]
    return _joined(text or ""), parsed, thoughts or "", WORDS.get(finish, finish), *usage


async def test_they_read_what_we_read(kind: Any, said: Any, wire: Any) -> None:
    calls = [("c1", "f", '{"id": 2712345678901234567}'), ("c2", "g", "{}")]
    odd = kind.stream("Ich schaue ", "nach: 東京\u2028👩‍👩‍👧.", thoughts=["Two ", "calls."], calls=calls)
    provider = kind.provider(wire.root)
    # One has an id and a keep-alive behind it, which the package takes for an event without data, and fails.
    recordings = [stream for stream in kind.recordings() if b"\nid: 17" not in stream]
    for stream in (*recordings, odd, kind.stream("one ", "two")):
        wire.plays += [wire.Play([stream]), wire.Play([stream])]
        theirs = await READERS[kind.id](wire.root)
        answer = (await wire.events(provider))[-1]
        assert answer.usage is not None
        ours = (*said.heard(answer.message), answer.finish_reason, answer.usage.input_tokens, answer.usage.output_tokens)
        assert _loose(ours) == _loose(theirs)
    await provider.aclose()


# What they take


@cache
def request_type(kind: str) -> TypeAdapter[Any]:
    if kind == "chat":
        from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

        return TypeAdapter(CompletionCreateParamsStreaming)
    if kind == "responses":
        from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

        return TypeAdapter(ResponseCreateParamsStreaming)
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return TypeAdapter(MessageCreateParamsStreaming)


def taken(kind: Any, body: Any) -> Any:
    """A request as the package's type reads it: without what it does not know."""
    return _whole(request_type(kind.id).validate_python(body))


def _whole(value: Any) -> Any:
    """Lists in place of what is only checked when it is gone through."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | None) else [_whole(item) for item in value]


def _known(value: Any) -> Any:
    """Without the one field that the imitators of chat completions have and the package does not know."""
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items() if key != "reasoning_content"}
    return [_known(item) for item in value] if isinstance(value, list) else value


TOOLS = (
    ToolSpec("forecast", "Forecast for a city", {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
    ToolSpec("now", "", {"type": "object", "properties": {}}),
)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SYSTEM = Message("system", "Be brief.")
ASKS = Message("user", "Weather?")


def turn(*calls: ToolCall, text: str = "", **more: Any) -> Message:
    return Message("assistant", text, tool_calls=calls, **more)


def result(call_id: str, text: str = '"sun"', **more: Any) -> Message:
    return Message("tool", text, tool_call_id=call_id, tool_name="forecast", **more)


LISBON, PORTO = ToolCall("call_1", "forecast", '{"city":"Lisbon"}'), ToolCall("call_2", "forecast", '{"city":"Porto"}')
TRANSCRIPTS: dict[str, tuple[Message, ...]] = {
    "one message": (ASKS,),
    "parallel calls": (SYSTEM, ASKS, turn(LISBON, PORTO, text="Let me look."), result("call_1"), result("call_2")),
    "a failed call": (ASKS, turn(LISBON), result("call_1", '{"error":"no such city"}', is_error=True), turn(text="No.")),
    "an empty result": (ASKS, turn(LISBON), result("call_1", "")),
    "arguments that are no JSON": (ASKS, turn(ToolCall("call_1", "forecast", '{"city": ')), result("call_1", '"not JSON"', is_error=True)),
    "arguments that are no object": (ASKS, turn(ToolCall("call_1", "forecast", "[1]")), result("call_1")),
    "several turns": (ASKS, turn(LISBON), result("call_1"), turn(PORTO), result("call_2"), turn(text="Sun."), ASKS),
    "an empty answer": (ASKS, turn(), Message("user", "Still there?")),
    "two user messages": (SYSTEM, ASKS, Message("user", "And trains?"), Message("user", "")),
    "input behind results": (ASKS, turn(LISBON), result("call_1"), Message("user", "Hurry."), turn(text="Sun."), ASKS),
    "reasoning": (ASKS, turn(LISBON, reasoning=(Reasoning("Two cities."),)), result("call_1")),
    "signed reasoning": (
        ASKS,
        turn(LISBON, text="Hm.", reasoning=(Reasoning("Two cities.", signature="c2ln"), Reasoning(redacted="cmVk"))),
        result("call_1"),
    ),
    "images": (
        Message(
            "user",
            (
                TextPart("What is this?"),
                ImagePart(PIXEL, "image/png"),
                ImagePart("https://example.invalid/cat.png"),
                ImagePart(f"data:image/png;base64,{PIXEL}"),
            ),
        ),
    ),
    "a file": (Message("user", (FilePart("JVBERi0xLjQK", "application/pdf", "a.pdf"), TextPart("Read it."))),),
    "odd characters": (
        Message("system", "\u2028é👩‍👩‍👧"),
        Message("user", "half \ud83d and \x00 and \u0085"),
        turn(LISBON, text="\ufeff"),
        result("call_1", '"\u2028"'),
    ),
    "blank texts": (Message("system", " "), Message("user", " \n"), turn(LISBON, text=" "), result("call_1", " ")),
}


def body_of(kind: Any, messages: tuple[Message, ...]) -> Any:
    provider = kind.provider("http://127.0.0.1:9")
    turns = sum(message.role == "assistant" for message in messages)
    return json.loads(provider._wire.encode(ModelRequest(messages=messages, tools=TOOLS, turns=turns), kind.model))


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_their_types_take_what_we_send(kind: Any, name: str) -> None:
    body = body_of(kind, TRANSCRIPTS[name])
    assert taken(kind, body) == _known(body)


def test_their_types_refuse_what_is_wrong(kind: Any) -> None:
    """So the test above can fail."""
    body = body_of(kind, TRANSCRIPTS["parallel calls"])
    messages = kind.messages(body)
    messages[0]["role"] = "nobody"
    with pytest.raises(ValidationError):
        taken(kind, body)
    messages[0]["role"] = "user"
    messages[-1]["unknown"] = 1
    assert taken(kind, body) != _known(body)


# Any transcript at all

TEXT = st.text(max_size=6)
CALLS = st.builds(
    ToolCall,
    st.sampled_from(["call_1", "call_2", "ca ll:3", "é"]),
    st.just("forecast"),
    st.sampled_from(["{}", '{"city":"x"}', "", "[", "7"]),
)
REASONING = st.builds(Reasoning, TEXT, st.sampled_from([None, "c2ln"]), st.none()) | st.just(Reasoning(redacted="cmVk"))
MESSAGES = st.one_of(
    st.builds(lambda text: Message("user", text), TEXT),
    st.builds(
        lambda text, calls, reasoning: Message("assistant", text, tool_calls=tuple(calls), reasoning=tuple(reasoning)),
        TEXT,
        st.lists(CALLS, max_size=3, unique_by=lambda call: call.id),
        st.lists(REASONING, max_size=2),
    ),
)


def answered(messages: list[Message], text: Callable[[], str]) -> tuple[Message, ...]:
    """The same with a result behind each call."""
    whole: list[Message] = [ASKS]
    for message in messages:
        whole.append(message)
        whole += [Message("tool", text(), tool_call_id=call.id, tool_name=call.name) for call in message.tool_calls]
    return tuple(whole)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_their_types_take_any_transcript(kind: Any, data: Any) -> None:
    messages = answered(data.draw(st.lists(MESSAGES, max_size=6)), lambda: data.draw(TEXT))
    assert check(messages) is None
    body = body_of(kind, messages)
    assert taken(kind, body) == _known(body)
