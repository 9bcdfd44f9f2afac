"""What the imitators of chat completions want otherwise: each quirk as its server shows it, and what we then send."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from lousho_cli.domain.messages import Message, Native, Reasoning, ToolCall
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.provider import ModelRequest, ToolSpec
from lousho_cli.providers.chat.provider import OpenAIProvider

TOOLS = (ToolSpec("look", "Looks", {"type": "object"}),)
USER = Message(role="user", content="go")


def result(call_id: str) -> Message:
    return Message(role="tool", content='"ok"', tool_call_id=call_id)


async def sent(wire: Any, *messages: Message, tools: tuple[ToolSpec, ...] = TOOLS, **options: Any) -> list[dict[str, Any]]:
    """The messages that are sent for a transcript."""
    model = options.pop("model", None)
    await wire.ask(wire.said(), ModelRequest(messages=(USER, *messages), tools=tools, model=model), **options)
    body: list[dict[str, Any]] = wire.seen[-1].body["messages"][1:]
    return body


def thoughts(message: dict[str, Any]) -> dict[str, Any]:
    """The fields of a sent message that are about reasoning."""
    return {key: value for key, value in message.items() if key.startswith(("reasoning", "thinking"))}


def called(wire: Any, *first: dict[str, Any], ids: tuple[str, ...] = ("a",), **more: Any) -> bytes:
    """An answer that calls the tool, with further deltas before, and further fields of its first call."""
    calls = [wire.calls(wire.fragment("look", "{}", index=at, id=call_id, **(more if at == 0 else {}))) for at, call_id in enumerate(ids)]
    body: bytes = wire.sse(*(wire.chunk(delta) for delta in first), *calls, wire.chunk(finish="tool_calls"))
    return body


# Reasoning that goes back


@pytest.mark.parametrize(
    ("dialect", "field"),
    [
        ("openai", "reasoning_content"),  # a server that nobody knows
        ("llamacpp", "reasoning_content"),
        ("vllm", "reasoning"),
        ("ollama", "reasoning"),
        ("openrouter", "reasoning"),
        ("groq", None),
        ("gemini", None),
        ("mistral", None),
        ("together", None),
        ("xai", None),
    ],
)
async def test_reasoning_of_another_server_goes_where_it_is_taken(wire: Any, dialect: str, field: str | None) -> None:
    """Groq, Mistral and Gemini answer 400 or 422 to a field they do not know; vLLM silently drops the one of DeepSeek."""
    thought = Message(role="assistant", content="hm", reasoning=(Reasoning(text="deep "), Reasoning(text="down", signature="s")))
    (message,) = await sent(wire, thought, dialect=dialect)
    assert thoughts(message) == ({field: "deep down"} if field else {})


@pytest.mark.parametrize(("dialect", "back"), [("openai", True), ("vllm", True), ("together", True), ("groq", False), ("xai", False)])
@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
async def test_reasoning_goes_back_in_the_field_it_came_in(wire: Any, dialect: str, back: bool, field: str) -> None:
    answer = await wire.ask(called(wire, {field: "deep "}, {field: "down"}), dialect=dialect)
    message, _ = await sent(wire, answer.message, result("a"), dialect=dialect)
    assert thoughts(message) == ({field: "deep down"} if back else {})


async def test_the_field_of_reasoning_can_be_said(wire: Any) -> None:
    answer = await wire.ask(called(wire, {"reasoning": "deep"}))
    for field in ("reasoning_content", "none"):
        message, _ = await sent(wire, answer.message, result("a"), reasoning_field=field)
        assert thoughts(message) == ({} if field == "none" else {field: "deep"})


async def test_deepseek_gets_all_reasoning_back_with_tools_and_none_without(wire: Any) -> None:
    """With tools it answers 400 where reasoning is missing, blank text included; its older models answer 400 where it is there."""
    answer = await wire.ask(called(wire, {"reasoning_content": "deep"}), dialect="deepseek")
    plain = Message(role="assistant", content="Done.", reasoning=(Reasoning(text="easy"),))
    foreign = Message(role="assistant", content="x")
    with_tools = await sent(wire, answer.message, result("a"), plain, USER, foreign, dialect="deepseek")
    assert [message.get("reasoning_content") for message in with_tools if message["role"] == "assistant"] == ["deep", "easy", " "]
    (without,) = await sent(wire, plain, tools=(), dialect="deepseek")
    assert thoughts(without) == {}


async def test_openrouters_details_go_back_as_they_were(wire: Any) -> None:
    pieces = [
        {"reasoning": "Let ", "reasoning_details": [{"type": "reasoning.text", "text": "Let ", "format": "f-1", "index": 0}]},
        {"reasoning": "me", "reasoning_details": [{"type": "reasoning.text", "text": "me", "format": "f-1", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "", "signature": "Zm9v+/==", "format": "f-1", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "abc", "id": "r-1", "format": "f-1", "index": 1}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "def", "id": "r-2", "format": "f-1", "index": 1}]},
    ]
    answer = await wire.ask(called(wire, *pieces), dialect="openrouter")
    assert answer.message.reasoning == (Reasoning(text="Let me"),)
    message, _ = await sent(wire, answer.message, result("a"), dialect="openrouter")
    assert thoughts(message) == {
        "reasoning_details": [
            {"type": "reasoning.text", "text": "Let me", "format": "f-1", "index": 0, "signature": "Zm9v+/=="},
            {"type": "reasoning.encrypted", "data": "abc", "id": "r-1", "format": "f-1", "index": 1},
            {"type": "reasoning.encrypted", "data": "def", "id": "r-2", "format": "f-1", "index": 1},
        ]
    }


async def test_openrouters_details_alone_are_read(wire: Any) -> None:
    details = [{"type": "reasoning.summary", "summary": "In short.", "index": 0}]
    answer = await wire.ask(called(wire, {"reasoning_details": details}), dialect="openrouter")
    assert answer.message.reasoning == (Reasoning(text="In short."),)


async def test_mistral_thinks_in_its_content_and_gets_it_back_there(wire: Any) -> None:
    def thinking(text: str) -> dict[str, Any]:
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}

    answer = await wire.ask(
        wire.sse(*map(wire.chunk, (thinking("deep "), thinking("down"), {"content": "391"})), wire.chunk(finish="stop"))
    )
    assert (answer.message.content, answer.message.reasoning) == ("391", (Reasoning(text="deep down"),))
    (message,) = await sent(wire, answer.message, dialect="mistral")
    assert message["content"] == [*thinking("deep down")["content"], {"type": "text", "text": "391"}]


async def test_what_one_server_wrote_for_itself_is_sent_to_no_other(wire: Any) -> None:
    details = [{"type": "reasoning.text", "text": "deep", "signature": "s", "index": 0}]
    play = called(wire, {"reasoning": "deep", "reasoning_details": details}, extra_content={"google": {"thought_signature": "s"}})
    answer = await wire.ask(play, dialect="openrouter")
    elsewhere = {"base_url": "http://models.invalid/v1", "proxy": f"http://127.0.0.1:{wire.port}", "api_key_env": ""}
    message, _ = await sent(wire, answer.message, result("a"), **elsewhere)
    assert thoughts(message) == {"reasoning_content": "deep"}
    assert "extra_content" not in message["tool_calls"][0]


async def test_a_damaged_native_form_is_left_out(wire: Any) -> None:
    for content in ("no json", "[]", '{"calls": [{}, {}]}'):
        damaged = Message(role="assistant", tool_calls=(ToolCall("a", "look"),), native=Native("chat:127.0.0.1", content))
        message, _ = await sent(wire, damaged, result("a"))
        assert "extra_content" not in message["tool_calls"][0]


# Gemini


async def test_geminis_signatures_go_back_with_their_calls(wire: Any) -> None:
    """Gemini 3 answers 400 to a call of its own without its signature; of parallel ones only the first has one."""
    signed = {"google": {"thought_signature": "c2ln+/=="}}
    answer = await wire.ask(called(wire, ids=("a", "b"), extra_content=signed), dialect="gemini")
    message, *_ = await sent(wire, answer.message, result("a"), result("b"), dialect="gemini", model="gemini-3-pro-preview")
    assert [call.get("extra_content") for call in message["tool_calls"]] == [signed, None]


async def test_geminis_signature_of_a_text_goes_back_and_what_is_only_for_reading_does_not(wire: Any) -> None:
    read_only, signed = {"google": {"thought": True}}, {"google": {"thought_signature": "s"}}
    deltas = [{"content": "hi", "extra_content": read_only}, {"content": "", "extra_content": signed}]
    answer = await wire.ask(wire.sse(*map(wire.chunk, deltas), wire.chunk(finish="stop")), dialect="gemini")
    (message,) = await sent(wire, answer.message, dialect="gemini")
    assert message["extra_content"] == signed


@pytest.mark.parametrize(("model", "stands_in"), [("gemini-3-pro", True), ("models/gemini-3.5-flash", True), ("gemini-2.5-pro", False)])
async def test_gemini_3_gets_a_signature_for_calls_of_another_model(wire: Any, model: str, stands_in: bool) -> None:
    calls = Message(role="assistant", tool_calls=(ToolCall("a", "look"), ToolCall("b", "look")))
    message, *_ = await sent(wire, calls, result("a"), result("b"), dialect="gemini", model=model)
    extra = {"google": {"thought_signature": "skip_thought_signature_validator"}} if stands_in else None
    assert [call.get("extra_content") for call in message["tool_calls"]] == [extra, None]


# Other fields


async def test_mistral_takes_only_call_ids_of_nine_letters(wire: Any) -> None:
    calls = Message(role="assistant", tool_calls=(ToolCall("call_weather", "look"), ToolCall("abcDEF123", "look")))
    message, *results = await sent(wire, calls, result("call_weather"), result("abcDEF123"), dialect="mistral")
    first, second = (call["id"] for call in message["tool_calls"])
    assert (len(first), first.isalnum(), second) == (9, True, "abcDEF123")
    assert [answer["tool_call_id"] for answer in results] == [first, second]
    again, *_ = await sent(wire, calls, result("call_weather"), result("abcDEF123"), dialect="mistral")
    assert again == message, "the same id every time"


async def test_openai_gets_ids_and_names_that_it_takes(wire: Any) -> None:
    """Of another server, whose ids are longer than 40 characters, and of a model that called what is no name."""
    long_id = "chatcmpl-tool-0123456789abcdef0123456789abcdef"
    calls = Message(role="assistant", tool_calls=(ToolCall(long_id, "functions.look", "{broken"), ToolCall("call:0", "look")))
    transcript = (calls, result(long_id), result("call:0"))
    message, *results = await sent(wire, *transcript)
    assert [call["id"] for call in message["tool_calls"]] == [long_id, "call:0"]
    assert message["tool_calls"][0]["function"]["name"] == "functions.look", "a server that knows it by this name"
    provider = OpenAIProvider("m", api_key_env="")
    sends = json.loads(provider._wire.encode(ModelRequest(messages=(USER, *transcript)), "m"))["messages"]
    ids = [call["id"] for call in sends[1]["tool_calls"]]
    assert all(len(call_id) <= 40 for call_id in ids)
    assert ids == [results["tool_call_id"] for results in sends[2:]]
    assert ids[1] == "call:0"
    function = sends[1]["tool_calls"][0]["function"]
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function["name"])
    assert function["arguments"] == "{broken", "which OpenAI takes, and its model knows again"


async def test_arguments_that_are_no_object_stop_no_later_request(wire: Any) -> None:
    """A call that was cut by the limit of an answer. Ollama, vLLM and llama.cpp read the arguments, and refuse the whole request."""
    cut = ToolCall("a", "look", '{"path": "a", "content": "x')
    exact = ToolCall("b", "look", '{ "n": 2712345678901234567 }')
    message, *_ = await sent(wire, Message(role="assistant", tool_calls=(cut, exact)), result("a"), result("b"), dialect="ollama")
    first, second = (call["function"]["arguments"] for call in message["tool_calls"])
    assert json.loads(first) == {"INVALID_JSON": cut.arguments}
    assert second == exact.arguments


async def test_mistral_wants_an_answer_between_a_result_and_a_person(wire: Any) -> None:
    """A run that was aborted leaves a result with nothing behind it, and Mistral answers 400 to what a person says next."""
    calls = Message(role="assistant", tool_calls=(ToolCall("abcDEF123", "look"),))
    aborted = (calls, result("abcDEF123"), Message(role="assistant"), USER)
    roles = [[message["role"] for message in await sent(wire, *aborted, dialect=kind)] for kind in ("mistral", "groq")]
    assert roles == [["assistant", "tool", "assistant", "user"], ["assistant", "tool", "user"]]


@pytest.mark.parametrize(("options", "asked"), [({}, True), ({"dialect": "mistral"}, False), ({"stream_options": False}, False)])
async def test_a_server_that_refuses_stream_options_is_not_sent_them(wire: Any, options: dict[str, Any], asked: bool) -> None:
    answer = await wire.ask(wire.sse(wire.chunk({"content": "a"}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 2})), **options)
    assert ("stream_options" in wire.seen[0].body) == asked
    assert answer.usage.input_tokens == 1, "usage comes without being asked for"


@pytest.mark.parametrize(
    "host", ["api.groq.com", "api.cerebras.ai", "api.openai.com", "api.mistral.ai", "generativelanguage.googleapis.com", "api.x.ai"]
)
async def test_a_server_is_known_by_its_host_too(wire: Any, host: str) -> None:
    options = {"base_url": f"http://{host}/v1", "proxy": f"http://127.0.0.1:{wire.port}", "api_key_env": ""}
    (message,) = await sent(wire, Message(role="assistant", content="x", reasoning=(Reasoning(text="deep"),)), **options)
    assert thoughts(message) == {}


@pytest.mark.parametrize("options", [{"dialect": "grok"}, {"reasoning_field": "thoughts"}])
def test_a_wrong_option_names_itself(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIProvider("m", **options)
    assert caught.value.field == f"provider.{next(iter(options))}"


async def test_the_same_transcript_is_the_same_bytes_and_a_longer_one_begins_with_them(wire: Any) -> None:
    for dialect in ("deepseek", "gemini", "mistral", "openrouter"):
        answer = await wire.ask(called(wire, {"reasoning": "deep"}), dialect=dialect)
        longer = (answer.message, result("a"), Message(role="assistant", content="x"), USER)
        for messages in (longer[:2], longer[:2], longer):
            await sent(wire, *messages, dialect=dialect)
        first, second, last = (json.dumps(seen.body["messages"]) for seen in wire.seen[-3:])
        assert first == second
        assert last.startswith(first[:-1])


# How an answer ends, and what it used


@pytest.mark.parametrize(
    ("said", "meant"),
    [("STOP", "stop"), ("MAX_TOKENS", "length"), ("SAFETY", "content_filter"), ("eos_token", "stop"), ("model_length", "length")],
)
async def test_other_words_for_how_it_ended(wire: Any, said: str, meant: str) -> None:
    assert (await wire.ask(wire.sse(wire.chunk({"content": "a"}, said)))).finish_reason == meant


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("insufficient_system_resource", "overloaded"),  # DeepSeek
        ("abort", "server"),  # vLLM
        ("network_error", "server"),  # GLM
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "server"),  # Gemini
        ("error", "server"),  # OpenRouter, Mistral
    ],
)
async def test_an_answer_that_its_server_gave_up_is_no_answer(wire: Any, said: str, category: str) -> None:
    error = await wire.fail(wire.sse(wire.chunk({"content": "half an ans"}), wire.chunk(finish=said)))
    assert (error.category, error.retryable, error.partial) == (category, True, True)


@pytest.mark.parametrize("where", ["x_groq", "error"])
async def test_groqs_errors_inside_a_success(wire: Any, where: str) -> None:
    told = {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": "<look>{}"}
    chunk = {"error": told} if where == "error" else wire.chunk({}, x_groq={"id": "r", "error": told})
    error = await wire.fail(wire.sse(wire.chunk({"content": "a"}), chunk))
    assert error.retryable
    assert "<look>{}" in error.detail


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"x_groq": {"usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}}, (5, 7, None)),
        ({"usage": None, "choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 5, "cached_tokens": 3}}]}, (5, None, 3)),
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 112}}, (5, 107, None)),
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 5}}, (5, 7, None)),
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 7, "prompt_cache_hit_tokens": 4}}, (5, 7, 4)),
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": None}}, (5, 7, None)),
    ],
    ids=["groq", "moonshot", "gemini and xai: thoughts only in the total", "a total that lies", "deepseek", "vllm"],
)
async def test_usage_in_its_several_places(wire: Any, chunk: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    usage = (await wire.ask(wire.sse(wire.chunk({"content": "a"}, "stop"), {"choices": [], **chunk}))).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens) == expected
