"""What is sent to a Messages server: never anything it refuses, and the same bytes every time."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lousho_cli.core.transcript import check, repair
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Native, Reasoning, TextPart, ToolCall
from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.ports.provider import ModelRequest, ToolSpec
from lousho_cli.providers.anthropic.provider import AnthropicProvider
from lousho_cli.providers.anthropic.request import encode_request, endpoint
from lousho_cli.providers.anthropic.turns import OPENING
from lousho_cli.providers.wire.calls import wire_word
from tests.providers import messages_server as m
from tests.providers.conftest import Wire
from tests.providers.messages_rules import blocks_of, refusal, thought

U, A, T = "user", "assistant", "tool"
TOOLS = (ToolSpec("zeta", "last", {"type": "object", "b": 1, "a": 2}), ToolSpec("alpha", " ", {"properties": {}}))
TRANSCRIPT = (
    Message("system", "Be brief."),
    Message(U, "Forecast?", metadata={"source": "cli"}),
    Message(
        A,
        "Let me look.",
        tool_calls=(ToolCall("a", "forecast", '{"zebra":1, "n": 2712345678901234567}'), ToolCall("b", "forecast")),
        reasoning=(Reasoning("two", "s1=="), Reasoning(redacted="r+/"), Reasoning("not signed")),
    ),
    Message(T, '{"n":2712345678901234567}', tool_call_id="a", tool_name="forecast"),
    Message(T, '"no"', tool_call_id="b", tool_name="forecast", is_error=True),
    Message(U, "And tomorrow?"),
    Message(A),
    Message(A, "Rain."),
    Message("system", "Be briefer."),
    Message(U, "Thanks."),
)


@pytest.fixture
def asks(wire: Wire) -> Wire:
    return m.spoken(wire)


def sent(*messages: Message, tools: tuple[ToolSpec, ...] = (), cache: bool = False, **extra: Any) -> Any:
    """The body of a request, which no rule of the wire forbids."""
    body = json.loads(encode_request(ModelRequest(messages, tools), "claude-x", extra, max_tokens=8, prompt_cache=cache))
    assert refusal(body, issued_in(body)) is None
    return body


def issued_in(body: Any) -> list[Any]:
    return [block for message in body["messages"] for block in blocks_of(message) if block["type"] in ("thinking", "redacted_thinking")]


async def test_the_body_of_a_request(asks: Any) -> None:
    await asks.ask(m.answer(m.said("hi")), ModelRequest(TRANSCRIPT, TOOLS), extra_body={"temperature": 0})
    mark = {"cache_control": {"type": "ephemeral"}}
    assert asks.seen[0].body == {
        "model": "claude-x",
        "max_tokens": 8192,
        "temperature": 0,
        "stream": True,
        "tools": [
            {"name": "zeta", "description": "last", "input_schema": {"type": "object", "b": 1, "a": 2}},
            {"name": "alpha", "input_schema": {"type": "object", "properties": {}}},
        ],
        "system": [m.said("Be brief."), m.said("Be briefer.") | mark],
        "messages": [
            {"role": "user", "content": [m.said("Forecast?")]},
            {
                "role": "assistant",
                "content": [
                    m.thinking("two", "s1=="),
                    {"type": "redacted_thinking", "data": "r+/"},
                    m.said("Let me look."),
                    m.call("a", "forecast", zebra=1, n=2712345678901234567),
                    m.call("b", "forecast"),
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": '{"n":2712345678901234567}'},
                    {"type": "tool_result", "tool_use_id": "b", "content": '"no"', "is_error": True},
                    m.said("And tomorrow?") | mark,
                ],
            },
            {"role": "assistant", "content": [m.said("Rain.")]},
            {"role": "user", "content": [m.said("Thanks.") | mark]},
        ],
    }
    assert asks.seen[0].path == "/v1/messages"
    assert b'"input":{"zebra":1, "n": 2712345678901234567}' in asks.seen[0].raw, "the model's exact text"


async def test_headers_and_the_key(asks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", " key-from-environment\n")
    await asks.ask(m.answer(m.said("hi")), headers={"anthropic-beta": "context-1m"})
    headers = asks.seen[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"], headers["anthropic-beta"]) == (
        "key-from-environment",
        "2023-06-01",
        "context-1m",
    )
    assert "authorization" not in headers
    error = await asks.fail(asks.Play([b'{"error":{"message":"bad key-from-environment"}}'], 401))
    assert "key-from-environment" not in error.detail


@pytest.mark.parametrize("base", ["", "/", "/v1", "/v1/", "/v1/messages", "/v1/messages/"])
def test_paths(base: str) -> None:
    assert endpoint(f"http://h{base}") == "http://h/v1/messages"
    assert endpoint(f"https://h/proxy{base}?x=1") == "https://h/proxy/v1/messages?x=1"


def test_the_environment_may_name_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    assert AnthropicProvider().address == "https://api.anthropic.com/v1/messages"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9/")
    assert AnthropicProvider().address == "http://127.0.0.1:9/v1/messages"


@pytest.mark.parametrize(
    ("given", "thinking", "tokens"),
    [
        (None, None, 8192),
        (100, None, 100),
        (None, {"type": "enabled", "budget_tokens": 1024}, 9216),
        (2000, {"type": "enabled", "budget_tokens": 1024}, 2000),
        (None, {"type": "adaptive"}, 32_000),
        (None, {"type": "disabled"}, 8192),
    ],
)
async def test_how_long_an_answer_may_be(asks: Any, given: int | None, thinking: Any, tokens: int) -> None:
    extra = {"thinking": thinking} if thinking else {}
    await asks.ask(m.answer(m.said("hi")), max_tokens=given, extra_body=extra)
    assert asks.seen[0].body["max_tokens"] == tokens


@pytest.mark.parametrize(
    ("options", "field", "kind"),
    [
        ({"max_tokens": 0}, "provider.max_tokens", RangeError),
        ({"max_tokens": True}, "provider.max_tokens", RangeError),
        ({"max_tokens": "8k"}, "provider.max_tokens", RangeError),
        ({"prompt_cache": "yes"}, "provider.prompt_cache", ConfigurationError),
        ({"extra_body": {"system": "x"}}, "provider.extra_body.system", ConfigurationError),
        ({"extra_body": {"max_tokens": 5}}, "provider.extra_body.max_tokens", ConfigurationError),
        ({"extra_body": {"tools": {"type": "x"}}}, "provider.extra_body.tools", ConfigurationError),
    ],
)
def test_a_wrong_option_names_itself(options: dict[str, Any], field: str, kind: type[ConfigurationError]) -> None:
    with pytest.raises(kind) as caught:
        AnthropicProvider("claude-x", **options)
    assert caught.value.field == field


def test_a_servers_own_tools_stand_behind_those_of_the_run() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    raw = encode_request(ModelRequest((Message(U, "x"),), TOOLS[:1]), "m", {"tools": [search]}, max_tokens=8, prompt_cache=True)
    assert json.loads(raw)["tools"] == [
        {"name": "zeta", "description": "last", "input_schema": {"type": "object", "b": 1, "a": 2}},
        search | {"cache_control": {"type": "ephemeral"}},
    ]
    assert search == {"type": "web_search_20250305", "name": "web_search"}, "what was configured is not written to"


# The same bytes


def without_marks(raw: bytes) -> bytes:
    return raw.replace(b',"cache_control":{"type":"ephemeral"}', b"")


def body_up_to(count: int, cache: bool) -> bytes:
    return encode_request(ModelRequest(TRANSCRIPT[:count], TOOLS), "claude-x", {}, max_tokens=8, prompt_cache=cache)


@pytest.mark.parametrize("cache", [True, False])
def test_a_longer_request_begins_with_the_bytes_of_a_shorter(cache: bool) -> None:
    for count in (2, 5, 6):  # each ends in a user's turn; a later system message would change what stands in front
        shorter, longer = (without_marks(body_up_to(size, cache)) for size in (count, 8))
        shared = shorter.removesuffix(b"]}]}")
        assert hashlib.sha256(longer[: len(shared)]).digest() == hashlib.sha256(shared).digest()


def test_the_marks_of_a_request_stand_where_the_next_one_looks() -> None:
    def marked(count: int) -> list[bytes]:
        """What stands in front of each mark, which is what a server keeps."""
        pieces = body_up_to(count, True).split(b',"cache_control":{"type":"ephemeral"}')
        return [b"".join(pieces[: at + 1]) for at in range(len(pieces) - 1)]

    first, second, third = marked(2), marked(5), marked(8)
    assert (len(first), len(second), len(third)) == (2, 3, 3)
    assert first[-1] in second
    assert second[0] == third[0] == first[0]
    assert b"cache_control" not in body_up_to(8, False)


def test_the_same_bytes_in_another_process() -> None:
    code = (
        "import hashlib, lousho_cli.providers.anthropic.request as a; from lousho_cli.ports.provider import ModelRequest as R\n"
        "from lousho_cli.domain.messages import Message as M, ToolCall as C\n"
        "t = (M('user', 'é'), M('assistant', tool_calls=(C('call|1', 'f.g'), C('call:1', 'x')),), M('tool', 'r', tool_call_id='call|1'),"
        " M('tool', 'r', tool_call_id='call:1'))\n"
        "print(hashlib.sha256(a.encode_request(R(t), 'm', {}, max_tokens=1, prompt_cache=True)).hexdigest())"
    )
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, env={"PYTHONHASHSEED": x}, capture_output=True, text=True, check=True).stdout for x in "12"]
    assert runs[0] == runs[1] != ""


def test_importing_and_making_it_loads_no_http_client() -> None:
    code = (
        "import sys, lousho_cli; lousho_cli.AnthropicProvider('m')\n"
        "print([name for name in ('httpx', 'httpx_sse', 'pydantic') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_lone_surrogates_do_not_stop_a_request() -> None:
    body = sent(
        Message(U, "a\ud83db"),
        Message(A, tool_calls=(ToolCall("c\ud800", "t", '{"k":"\ud83d"}'), ToolCall("d", "t", '{"k":"\\ud83d"}'))),
        Message(T, "x\udc00", tool_call_id="c\ud800"),
        Message(T, "y", tool_call_id="d"),
    )
    (asked, calls, results) = body["messages"]
    assert asked["content"] == [m.said("a\ufffdb")]
    assert [block["input"] for block in calls["content"]] == [{"k": "\ufffd"}, {"k": "\ufffd"}]
    assert results["content"][0]["content"] == "x\ufffd"


# The rules of the wire


@pytest.mark.parametrize(
    ("arguments", "sends"),
    [
        ("{}", {}),
        ("", {}),
        (" \n", {}),
        ('{"a":1e999}', None),
        ('{"path":"a","content":"x', {"INVALID_JSON": '{"path":"a","content":"x'}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        ("null", {"INVALID_JSON": "null"}),
        ('"{}"', {"INVALID_JSON": '"{}"'}),
        ('{"a":"\t"}', {"a": "\t"}),
        ('{"a":NaN}', {"a": "NaN"}),
        ("[" * 100_000, {"INVALID_JSON": "[" * 100_000}),
    ],
)
def test_arguments_are_an_object(arguments: str, sends: Any) -> None:
    body = sent(Message(U, "x"), Message(A, tool_calls=(ToolCall("c", "t", arguments),)), Message(T, "r", tool_call_id="c"))
    (call,) = body["messages"][1]["content"]
    assert sends is None or call["input"] == sends


def test_ids_and_names_of_other_wires_are_made_valid_and_stay_in_pairs() -> None:
    ids = ["call|1", "call:1", "fc_1", "", "x" * 200 + ".", "y" * 200]
    calls = tuple(ToolCall(call_id, "files.read" if call_id else "t" * 90) for call_id in ids)
    results = [Message(T, call_id or "none", tool_call_id=call_id) for call_id in ids]
    body = sent(Message(U, "x"), Message(A, tool_calls=calls), *results, Message(A, tool_calls=calls[:1]), results[0])
    blocks = body["messages"][1]["content"]
    assert blocks[2]["id"] == "fc_1"
    assert blocks[0]["id"].startswith("call_1-")
    assert len({block["id"] for block in blocks}) == 6
    assert all(len(block["id"]) <= 64 for block in blocks)
    assert {block["name"] for block in blocks[:2]} == {wire_word("files.read")}
    assert body["messages"][3]["content"][0]["id"] == blocks[0]["id"] + "_2", "an id that another answer used already"
    assert [block["content"] for block in body["messages"][2]["content"]] == [call_id or "none" for call_id in ids]


def test_a_transcript_that_begins_with_an_answer_or_holds_nothing() -> None:
    assert sent(Message(A, "hello"), Message(U, "x"))["messages"][0] == {"role": "user", "content": [m.said(OPENING)]}
    assert sent(Message("system", "s"))["messages"] == [{"role": "user", "content": [m.said(OPENING)]}]
    assert sent(Message(U, " \n"), Message(A, "hello"), Message(U, ""))["messages"][0]["content"] == [m.said(OPENING)]


def test_an_answer_at_the_end_has_no_white_space_behind_it() -> None:
    assert sent(Message(U, "x"), Message(A, "a \n"))["messages"][1]["content"] == [m.said("a")]
    assert sent(Message(U, "x"), Message(A, "a \n"), Message(U, "y"))["messages"][1]["content"] == [m.said("a \n")]


def test_thinking_that_led_to_nothing_is_left_out() -> None:
    only = Message(A, reasoning=(Reasoning("hm", "s=="),))
    assert [x["role"] for x in sent(Message(U, "x"), only, Message(U, "y"))["messages"]] == ["user"]
    kept = sent(Message(U, "x"), Message(A, "a", reasoning=(Reasoning("", "s=="),)), only)["messages"][1]["content"]
    assert kept == [m.thinking("", "s=="), m.said("a")]


def test_thinking_is_not_asked_for_within_an_answer_that_began_without_it() -> None:
    """As where another model called the tool. The server would refuse the request; from the next message on it is asked for again."""
    thinking = {"type": "enabled", "budget_tokens": 1024}
    call = Message(A, tool_calls=(ToolCall("c", "t"),))
    signed = Message(A, tool_calls=(ToolCall("c", "t"),), reasoning=(Reasoning("hm", "s=="),))
    result = Message(T, "r", tool_call_id="c")
    asked = [
        (Message(U, "x"),),
        (Message(U, "x"), signed, result),
        (Message(U, "x"), signed, result, call, result),
        (Message(U, "x"), call, result, Message(A, "done"), Message(U, "y")),
        (Message(U, "x"), call, result, Message(U, "y")),
    ]
    for messages in asked:
        assert sent(*messages, thinking=thinking)["thinking"] == thinking
    for messages in ((Message(U, "x"), call, result), (Message(U, "x"), call, result, signed, result)):
        assert "thinking" not in sent(*messages, thinking=thinking)
    assert sent(Message(U, "x"), call, result, thinking={"type": "adaptive"})["thinking"], "a server that decides by itself demands none"


def test_thinking_that_another_wire_signed_is_left_out() -> None:
    message = Message(A, "a", reasoning=(Reasoning("hm", "gAAAA"),), native=Native("responses", "[]"))
    assert sent(Message(U, "x"), message, Message(U, "y"))["messages"][1]["content"] == [m.said("a")]


def test_case_138_no_blank_text_is_sent() -> None:
    body = sent(
        Message("system", ""),
        Message(U, (TextPart(" "), TextPart("x"))),
        Message(A, "", tool_calls=(ToolCall("c", "t"),)),
        Message(T, "", tool_call_id="c"),
        Message(U, "  "),
        cache=True,
    )
    assert "system" not in body
    assert [[block["type"] for block in message["content"]] for message in body["messages"]] == [["text"], ["tool_use"], ["tool_result"]]
    assert "content" not in body["messages"][2]["content"][0]


def test_case_142_results_say_that_they_failed() -> None:
    picture = ImagePart("AAAA", "image/png")
    contents: list[Any] = ['{"error":"x"}', "", " ", (TextPart("no"), picture), (picture,)]
    calls = tuple(ToolCall(f"c{at}", "t") for at in range(len(contents)))
    failed = [Message(T, content, tool_call_id=f"c{at}", is_error=True) for at, content in enumerate(contents)]
    results = sent(Message(U, "x"), Message(A, tool_calls=calls), *failed)["messages"][2]["content"]
    assert all(block["is_error"] is True for block in results)
    assert all(block["content"] for block in results)
    assert results[3]["content"] == [m.said("no")], "nothing but text in an error"


def test_pictures_and_files() -> None:
    def b64(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    parts = (
        ImagePart("https://pictures.example/a.png"),
        ImagePart("AAAA", "image/jpeg"),
        ImagePart("BBBB"),
        ImagePart("data:image/webp;base64,CCCC"),
        ImagePart("data:image/gif,%41"),
        FilePart("DDDD", "application/pdf", "a.pdf"),
        FilePart(b64("Zürich"), "text/csv", "a.csv"),
        FilePart(b64(" "), "text/plain"),
        FilePart("/w==", "text/plain"),
        FilePart("EEEE", "image/png", "a.png"),
    )
    blocks = sent(Message(U, parts))["messages"][0]["content"]

    def data(media_type: str, data: str) -> Any:
        return {"type": "base64", "media_type": media_type, "data": data}

    assert [block["source"] for block in blocks] == [
        {"type": "url", "url": "https://pictures.example/a.png"},
        data("image/jpeg", "AAAA"),
        data("image/png", "BBBB"),
        data("image/webp", "CCCC"),
        data("image/gif", "QQ=="),
        data("application/pdf", "DDDD"),
        {"type": "text", "media_type": "text/plain", "data": "Zürich"},
        data("text/plain", "/w=="),
        data("image/png", "EEEE"),
    ]
    assert [(block["type"], block.get("title")) for block in blocks[4:7]] == [("image", None), ("document", "a.pdf"), ("document", "a.csv")]
    result = sent(Message(U, "x"), Message(A, tool_calls=(ToolCall("c", "t"),)), Message(T, (TextPart("see"), parts[1]), tool_call_id="c"))
    assert [block["type"] for block in result["messages"][2]["content"][0]["content"]] == ["text", "image"]


# Answers kept as they came

SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"q": 1.10}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}


def native(*blocks: Any, calls: tuple[ToolCall, ...] = (), text: str = "") -> Message:
    return Message(A, text, tool_calls=calls, native=Native("anthropic", json.dumps(blocks, ensure_ascii=False)))


def test_a_native_answer_is_sent_as_it_is_with_the_calls_of_the_message() -> None:
    blocks = [m.thinking("a", "s1"), m.said("x"), m.thinking("b", "s2"), {"type": "tool_use"}, m.said("y"), {"type": "future", "n": 1.10}]
    message = native(*blocks, calls=(ToolCall("new id", "t", '{"n":2712345678901234567}'),))
    content = sent(Message(U, "x"), message, Message(T, "r", tool_call_id="new id"))["messages"][1]["content"]
    assert content == [*blocks[:3], m.call(wire_word("new id"), "t", n=2712345678901234567), *blocks[4:]]


@pytest.mark.parametrize("content", ["[]", "{", "[1]", '[{"type":1}]', '[{"type":"tool_use"}]'])
def test_a_native_answer_that_does_not_fit_its_message_is_ignored(content: str) -> None:
    message = Message(A, "x", native=Native("anthropic", content))
    assert sent(Message(U, "x"), message, Message(U, "y"))["messages"][1]["content"] == [m.said("x")]


def test_a_servers_own_call_is_sent_in_pairs_only() -> None:
    paused, rest = native(m.said("x"), SEARCH), native(FOUND, m.said("y"))
    at_the_end = sent(Message(U, "x"), paused)["messages"]
    assert at_the_end[1]["content"] == [m.said("x"), SEARCH], "the model goes on with it"
    assert sent(Message(U, "x"), paused, rest, Message(U, "z"))["messages"][1]["content"] == [m.said("x"), SEARCH, FOUND, m.said("y")]
    assert sent(Message(U, "x"), paused, Message(U, "z"))["messages"][1]["content"] == [m.said("x")]
    assert sent(Message(U, "x"), rest, Message(U, "z"))["messages"][1]["content"] == [m.said("y")]
    assert [x["role"] for x in sent(Message(U, "x"), native(SEARCH), Message(U, "z"))["messages"]] == ["user"]


def test_a_call_that_a_servers_tool_made() -> None:
    caller = {"type": "code_execution_20250825", "tool_id": "srv_1"}
    asking = native(SEARCH, {"type": "tool_use", "caller": caller}, calls=(ToolCall("c", "t"),))
    result = Message(T, "r", tool_call_id="c")
    assert sent(Message(U, "x"), asking, result)["messages"][1]["content"] == [SEARCH, m.call("c", "t") | {"caller": caller}]
    assert sent(Message(U, "x"), asking, result, Message(U, "stop"))["messages"][1]["content"] == [m.call("c", "t")]


# Whatever a transcript holds

texts = st.sampled_from(["", " ", "x", "x \n", "é\ud83d"])
call_ids = st.sampled_from(["a", "b", "c|1", "c:1", ""])
reasonings = st.builds(Reasoning, texts, st.sampled_from([None, "", "s=="]), st.sampled_from([None, None, "r=="]))
natives = st.sampled_from([None, None, native(SEARCH).native, native(FOUND, m.said("y")).native, native(m.said("x"), SEARCH, FOUND).native])
calls = st.builds(ToolCall, call_ids, st.sampled_from(["t", "f.g"]), st.sampled_from(["", "{}", "[", '{"a":1}']))
answers = st.builds(
    Message,
    st.just(A),
    texts,
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    reasoning=st.lists(reasonings, max_size=2).map(tuple),
    native=natives,
)
others = st.one_of(
    st.builds(Message, st.sampled_from([U, "system"]), texts),
    st.builds(Message, st.just(T), texts, tool_call_id=call_ids, is_error=st.booleans()),
)


@given(st.lists(st.one_of(answers, others), max_size=8))
@settings(max_examples=150, deadline=None)
def test_no_transcript_makes_a_request_that_the_server_refuses(messages: list[Message]) -> None:
    whole = repair(messages)[0]
    assert check(whole) is None
    for extra in ({}, {"thinking": {"type": "enabled", "budget_tokens": 1024}}):
        body = sent(*whole, cache=True, **extra)
        assert body == sent(*copy.deepcopy(whole), cache=True, **extra)
    assert all(thought(block)[2] == "s==" or thought(block)[3] == "r==" for block in issued_in(body))
