"""What is sent: the address, and a body that is the same bytes every time and that its makers' own types take."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from warm_process import run

from lousho_cli import Agent, AgentExecutor, FileStore, OpenAIResponsesProvider, function_tool
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Native, Reasoning, TextPart, ToolCall
from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.ports.provider import ModelRequest, ToolSpec
from lousho_cli.providers.responses.request import encode_request, endpoint

TRANSCRIPT = (
    Message(role="system", content="Be brief."),
    Message(role="user", content="Forecast?", metadata={"source": "cli"}),
    Message(
        role="assistant",
        tool_calls=(ToolCall("a", "forecast", '{"zebra":1, "alpha": 2}'), ToolCall("b", "forecast")),
        reasoning=(Reasoning(text="of another wire", signature="c2ln"),),
    ),
    Message(role="tool", content='{"n":2712345678901234567}', tool_call_id="a", tool_name="forecast"),
    Message(role="tool", content='"no"', tool_call_id="b", tool_name="forecast", is_error=True),
    Message(role="assistant"),
    Message(role="user"),
    Message(role="assistant", content="Rain."),
)
TOOLS = (ToolSpec("zeta", "last", {"type": "object", "b": 1, "a": 2}), ToolSpec("alpha", "first", {"type": "object"}))
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA/+=="}


def body_of(messages: tuple[Message, ...], model: str = "m-1", **extra: Any) -> Any:
    return json.loads(encode_request(ModelRequest(messages=messages), model, extra))


def answer_of(*items: dict[str, Any], calls: tuple[ToolCall, ...] = (), content: str = "x", wire: str = "responses:127.0.0.1") -> Message:
    return Message(role="assistant", content=content, tool_calls=calls, native=Native(wire, json.dumps(items)))


async def test_the_body_of_a_request(wire: Any, say: Any) -> None:
    await wire.ask(say.hi(), ModelRequest(messages=TRANSCRIPT, tools=TOOLS, turns=2))
    alpha = {"type": "function", "name": "alpha", "description": "first", "parameters": {"type": "object"}, "strict": False}
    assert wire.seen[0].body == {
        "model": "m-1",
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "tools": [
            {"type": "function", "name": "zeta", "description": "last", "parameters": {"type": "object", "b": 1, "a": 2}, "strict": False},
            alpha,
        ],
        "input": [
            {"type": "message", "role": "system", "content": "Be brief."},
            {"type": "message", "role": "user", "content": "Forecast?"},
            {"type": "function_call", "call_id": "a", "name": "forecast", "arguments": '{"zebra":1, "alpha": 2}'},
            {"type": "function_call", "call_id": "b", "name": "forecast", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": '{"n":2712345678901234567}'},
            {"type": "function_call_output", "call_id": "b", "output": '"no"'},
            {"type": "message", "role": "assistant", "content": "Rain."},
        ],
    }


async def test_the_same_request_is_the_same_bytes_and_a_longer_one_begins_with_them(wire: Any, say: Any) -> None:
    for request in (ModelRequest(TRANSCRIPT[:5], TOOLS), ModelRequest(TRANSCRIPT[:5], TOOLS), ModelRequest(TRANSCRIPT, TOOLS)):
        await wire.ask(say.hi(), request)
    first, second, longer = (seen.raw for seen in wire.seen)
    assert first == second
    assert longer.startswith(first[:-2])


def test_case_117_an_answer_that_is_only_calls_has_no_message_responses() -> None:
    kinds = [item.get("role") or item["type"] for item in body_of(TRANSCRIPT)["input"]]
    assert kinds == ["system", "user", *["function_call"] * 2, *["function_call_output"] * 2, "assistant"]


def test_a_user_message_of_several_parts() -> None:
    parts = (
        TextPart("look"),
        TextPart(""),
        ImagePart("https://pictures.example/a.png"),
        ImagePart("AAAA", "image/jpeg"),
        FilePart("CCCC", "application/pdf", "a.pdf"),
    )
    assert body_of((Message(role="user", content=parts), Message(role="user", content=(TextPart(""),))))["input"] == [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "detail": "auto", "image_url": "https://pictures.example/a.png"},
                {"type": "input_image", "detail": "auto", "image_url": "data:image/jpeg;base64,AAAA"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,CCCC"},
            ],
        }
    ]


def test_what_came_of_this_wire_goes_back_as_it_came() -> None:
    """Its calls are those of the message, which may have got other ids since."""
    text = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [], "phase": "commentary", "n": 10**30}
    call = {"type": "function_call", "id": "fc_1", "status": "completed"}
    message = answer_of(REASONING, text, call, calls=(ToolCall("other", "f", '{"a": 1}'),))
    sent = encode_request(ModelRequest(messages=(message,)), "m-1", {}, "responses:127.0.0.1")
    assert json.dumps(REASONING).encode() in sent
    assert json.loads(sent)["input"] == [REASONING, text, {**call, "call_id": "other", "name": "f", "arguments": '{"a": 1}'}]


@pytest.mark.parametrize(
    "message",
    [
        answer_of(REASONING, wire="anthropic"),
        answer_of(REASONING, wire="responses:elsewhere.example"),
        answer_of(REASONING, {"type": "function_call"}),
        answer_of(REASONING, {"no": "type"}),
        Message(role="assistant", content="x", native=Native("responses:127.0.0.1", "no JSON")),
        Message(role="assistant", content="x", native=Native("responses:127.0.0.1", '{"type": "reasoning"}')),
    ],
)
def test_what_does_not_fit_the_message_is_not_sent(message: Message) -> None:
    assert body_of((message,))["input"] == [{"type": "message", "role": "assistant", "content": "x"}]


async def test_what_another_server_encrypted_is_not_sent(wire: Any, say: Any) -> None:
    """Only the server that wrote it can read it, and any other refuses the request."""
    answer = await wire.ask(say.answer(say.reasoning("hm", encrypted="gAAAA=="), say.text("hi", at=1)))
    here = ModelRequest(messages=(*wire.hello.messages, answer.message, Message(role="user", content="and?")))
    _ = await wire.ask(say.hi(), here)
    assert b"gAAAA" in wire.seen[-1].raw
    elsewhere = OpenAIResponsesProvider("m-1", base_url="https://models.example/v1", api_key_env="")
    sent = json.loads(elsewhere._wire.encode(here, "m-1"))["input"]
    assert sent[1] == {"type": "message", "role": "assistant", "content": "hi"}
    assert len(sent) == 3


def test_a_name_that_no_tool_may_have_is_made_one() -> None:
    """A model that called what is no name would have every later request refused."""
    sent = body_of((Message(role="assistant", tool_calls=(ToolCall("a", "functions.look"), ToolCall("b", "look"))),))["input"]
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", sent[0]["name"])
    assert sent[1]["name"] == "look"


def test_ids_of_other_wires_that_are_too_long_are_shortened_alike() -> None:
    calls = tuple(ToolCall("x" * 64 + tail, "f") for tail in ("", "1", "2"))
    results = tuple(Message(role="tool", content="1", tool_call_id=call.id) for call in calls)
    sent = body_of((Message(role="assistant", tool_calls=calls), *results))["input"]
    ids = [item["call_id"] for item in sent]
    assert ids[:3] == ids[3:]
    assert ids[0] == "x" * 64
    assert len(set(ids)) == 3
    assert all(len(id) <= 64 for id in ids)


async def test_a_lone_surrogate_does_not_stop_a_request(wire: Any, say: Any) -> None:
    messages = (Message(role="user", content="a\ud83db"), answer_of(REASONING, content="x"))
    await wire.ask(say.hi(), ModelRequest(messages=messages, tools=TOOLS))
    assert wire.seen[0].body["input"] == [{"type": "message", "role": "user", "content": "a\ufffdb"}, REASONING]


def test_encrypted_reasoning_is_asked_for_where_that_is_harmless() -> None:
    for model in ("gpt-5-mini", "o4-mini", "gpt-oss-20b", "openai/gpt-5.1", "my-deployment"):
        assert body_of((), model)["include"] == ["reasoning.encrypted_content"], model
    for model in ("gpt-4o-mini", "gpt-4.1", "openai/gpt-4o", "gpt-3.5-turbo", "chatgpt-4o-latest", "gpt-5.1-chat-latest"):
        assert "include" not in body_of((), model), model
    assert "include" not in body_of((), include=[])
    assert "include" not in body_of((), include=None)
    assert body_of((), "gpt-4o", include=["message.output_text.logprobs"])["include"] == ["message.output_text.logprobs"]


async def test_headers_and_further_fields(wire: Any, say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " key-from-environment\n")
    extra = {"reasoning": {"effort": "low", "summary": "auto"}, "tools": [{"type": "web_search"}]}
    await wire.ask(say.hi(), ModelRequest(messages=(), tools=TOOLS[1:], model="m-9"), headers={"X-Title": "garden"}, extra_body=extra)
    seen = wire.seen[0]
    assert (seen.headers["x-title"], seen.headers["authorization"]) == ("garden", "Bearer key-from-environment")
    assert (seen.body["model"], seen.body["reasoning"]) == ("m-9", extra["reasoning"])
    assert [tool["type"] for tool in seen.body["tools"]] == ["function", "web_search"]
    await wire.ask(say.hi(), extra_body={"max_output_tokens": 5})
    assert "tools" not in wire.seen[1].body


@pytest.mark.parametrize(
    ("base_url", "path"),
    [
        ("http://h/v1", "/v1/responses"),
        ("http://h/v1/", "/v1/responses"),
        ("http://h/api/v1/", "/api/v1/responses"),
        ("http://h/v1beta/openai", "/v1beta/openai/responses"),
        ("http://h", "/v1/responses"),
        ("http://h:8080/", "/v1/responses"),
        ("http://h/v1/responses", "/v1/responses"),
        ("http://h/v1/responses/?api-version=1", "/v1/responses?api-version=1"),
    ],
)
def test_case_121_paths_responses(base_url: str, path: str) -> None:
    assert endpoint(base_url).partition("//")[2].partition("/")[2] == path[1:]


@pytest.mark.parametrize("base", ["/v1", "/v1/", "/api/v1/", "/v1/responses"])
async def test_case_121_over_the_wire_responses(wire: Any, say: Any, base: str) -> None:
    await wire.ask(say.hi(), base_url=f"http://127.0.0.1:{wire.port}{base}")
    assert wire.seen[0].path == base.rstrip("/").removesuffix("/responses") + "/responses"


def test_the_environment_may_name_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OpenAIResponsesProvider("m").address == "https://api.openai.com/v1/responses"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert OpenAIResponsesProvider("m").address == "http://127.0.0.1:9/v1/responses"
    assert (OpenAIResponsesProvider.name, OpenAIResponsesProvider("m").model) == ("openai-responses", "m")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"base_url": "127.0.0.1:11434/v1"}, "provider.base_url"),
        ({"extra_body": {"stream": False}}, "provider.extra_body.stream"),
        ({"extra_body": {"store": True}}, "provider.extra_body.store"),
        ({"extra_body": {"previous_response_id": "resp_1"}}, "provider.extra_body.previous_response_id"),
        ({"extra_body": {"tools": {"type": "web_search"}}}, "provider.extra_body.tools"),
        ({"extra_body": {"tools": ["web_search"]}}, "provider.extra_body.tools"),
        ({"extra_body": {"include": "all"}}, "provider.extra_body.include"),
        ({"connect_timeout_ms": 0}, "provider.connect_timeout_ms"),
    ],
)
def test_a_wrong_option_names_itself(options: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIResponsesProvider("m", **options)
    assert caught.value.field == field
    assert isinstance(caught.value, RangeError) == ("timeout" in field)


async def test_its_makers_types_take_what_is_sent(wire: Any, say: Any) -> None:
    """No field of the body is unknown to them, and no item or tool of another shape."""
    from openai.types.responses import ResponseInputItemParam, ToolParam
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
    from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

    search = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "rain"}}
    told = say.event("output_item.done", output_index=1, item=search)
    blocks = [*say.reasoning("hm").events, told, *say.text("Rain.", at=2).events, *say.call("f", "{}", at=3).events]
    answer = await wire.ask(say.sse(*blocks, say.end()))
    result = Message(role="tool", content="1", tool_call_id="call_1")
    parts = Message(role="user", content=(TextPart("a"), ImagePart("AAAA"), FilePart("BBBB", "text/plain")))
    await wire.ask(say.hi(), ModelRequest(messages=(*TRANSCRIPT, parts, answer.message, result), tools=TOOLS))
    body = wire.seen[-1].body
    assert [item["type"] for item in body["input"][-5:]] == [
        "reasoning",
        "web_search_call",
        "message",
        "function_call",
        "function_call_output",
    ]
    request = TypeAdapter(with_config(ConfigDict(extra="forbid"))(ResponseCreateParamsStreaming))
    items, tools = TypeAdapter(list[ResponseInputItemParam]), TypeAdapter(list[ToolParam])
    request.validate_python(body)
    items.validate_python(body["input"])
    tools.validate_python(body["tools"])
    for judge, wrong in ((request, {**body, "messages": []}), (items, [{"type": "function_call", "name": "f"}]), (tools, [{"name": "f"}])):
        with pytest.raises(ValidationError):
            judge.validate_python(wrong)


CRASHING = """
import asyncio, os, signal, sys
from lousho_cli import Agent, AgentExecutor, FileStore, OpenAIResponsesProvider, function_tool

def forecast(city: str) -> str:
    os.kill(os.getpid(), signal.SIGKILL)

provider = OpenAIResponsesProvider("m-1", base_url=sys.argv[1])
store = FileStore(sys.argv[2]).checkpoints
tools = [function_tool(forecast)]
run = AgentExecutor.execute(Agent("a", prompt="Be brief."), "hello", provider, tools, session_id="s", checkpoint_store=store)
asyncio.run(run)
"""


async def test_case_115_reasoning_goes_back_also_from_another_process_responses(wire: Any, say: Any, tmp_path: Path) -> None:
    """And the request goes on from the bytes of the one before it. The first process dies in its tool."""
    blocks = say.reasoning("hm", encrypted="gAAAA/+ü=="), say.call("forecast", '{"city": "Zürich"}', at=1)
    wire.plays += [wire.Play([say.answer(*blocks)]), wire.Play([say.hi()])]
    arguments = [sys.executable, "-c", CRASHING, wire.base_url, str(tmp_path)]
    died = await asyncio.to_thread(run, arguments, capture_output=True, timeout=60)
    assert died.returncode == -9, died.stderr

    def forecast(city: str) -> str:
        return f"rain in {city}"

    result = await AgentExecutor.execute(
        Agent("a", prompt="Be brief."),
        [],
        wire.provider(),
        [function_tool(forecast)],
        session_id="s",
        checkpoint_store=FileStore(tmp_path).checkpoints,
    )
    assert (result.text, result.steps) == ("hi", 2)
    before, after = (seen.raw for seen in wire.seen)
    assert after.startswith(before[:-2])
    output, call, given = wire.seen[1].body["input"][-3:]
    assert output == blocks[0].item
    assert call == blocks[1].item
    assert (given["call_id"], given["output"]) == ("call_1", '"rain in Zürich"')


async def test_case_115_a_server_that_refuses_what_came_without_its_reasoning_responses(wire: Any, say: Any) -> None:
    """Each of three steps; the last two with the calls' ids made their own."""

    def forecast(city: str = "") -> str:
        return "rain"

    answers = [
        say.answer(say.reasoning(f"hm {step}", id=f"rs_{step}", encrypted=f"gAA{step}"), say.call("forecast", "{}", at=1, call_id=None))
        for step in range(3)
    ]
    wire.plays += [wire.Play([body]) for body in (*answers, say.hi())]
    await AgentExecutor.execute(Agent("a"), "hello", wire.provider(), [function_tool(forecast)])
    for step, seen in enumerate(wire.seen):
        items = seen.body["input"]
        places = [at for at, item in enumerate(items) if item["type"] == "function_call"]
        assert [items[at - 1].get("encrypted_content") for at in places] == [f"gAA{number}" for number in range(step)]
        assert [items[at + 1]["call_id"] for at in places] == [items[at]["call_id"] for at in places]
    shorter, longer = wire.seen[-2].raw, wire.seen[-1].raw
    assert longer.startswith(shorter[:-2])


async def test_reasoning_that_the_server_could_not_read_is_not_sent(wire: Any, say: Any) -> None:
    """Its id would be looked for where nothing was stored, and so would that of what it led to. The last leads to nothing."""
    blocks = [say.reasoning("hm", encrypted=None), say.text("a", at=1, phase="final_answer"), say.reasoning("so", at=2, id="rs_2")]
    answer = await wire.ask(say.answer(*blocks))
    assert [block.text for block in answer.message.reasoning] == ["hm", "so"]
    assert "rs_" not in answer.message.native.content
    assert "msg_1" not in answer.message.native.content
    alone = await wire.ask(say.answer(blocks[0], say.call("f", "{}", at=1)))
    assert alone.message.native is None
    cut = await wire.ask(say.answer(say.reasoning("hm"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert (cut.message.native, cut.finish_reason) == (None, "length")
