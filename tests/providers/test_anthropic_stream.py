"""What a Messages server sends, by the book and otherwise, and what becomes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lousho_cli.domain.messages import Reasoning, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import ProviderError
from lousho_cli.ports.provider import Answer, ReasoningDelta, TextDelta
from lousho_cli.providers.anthropic.provider import AnthropicProvider
from tests.providers import messages_server as m
from tests.providers.conftest import Wire


@pytest.fixture
def asks(wire: Wire) -> Wire:
    return m.spoken(wire)


async def test_case_127_a_recorded_call_without_arguments(asks: Any) -> None:
    answer = await asks.ask((m.STREAMS / "anthropic_empty_arguments.sse").read_bytes())
    assert answer.message.tool_calls == (ToolCall("toolu_01CzN6riCPqw4pVSuTd9Dwn7", "pelican_name_generator", "{}"),)
    assert (answer.finish_reason, answer.model, answer.message.native) == ("tool_calls", "claude-haiku-4-5-20251001", None)


async def test_case_136_usage_is_not_added_up(asks: Any) -> None:
    answer = await asks.ask((m.STREAMS / "anthropic_thinking_and_call.sse").read_bytes())
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (598, 92)
    (thought,) = answer.message.reasoning
    assert thought.text.startswith("The user wants me to:\n1. Use")
    assert thought.signature.startswith("EoQDCm0IDhgCKkCDzGs2kL2PgnDCZU")
    assert [call.name for call in answer.message.tool_calls] == ["fixed_version"]
    assert answer.message.native is None, "our own fields hold all of it"
    last = await asks.ask((m.STREAMS / "anthropic_answer.sse").read_bytes())
    assert last.usage == CallUsage(707, 89, 0, 0, cache_write_tokens=0)
    assert last.message.content.endswith("plenty of room to grow!)")


async def test_a_count_that_is_repeated_as_nothing_stands(asks: Any) -> None:
    last = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 0, "output_tokens": 92}}
    answer = await asks.ask(
        m.events(m.opening(input_tokens=598, output_tokens=8), m.started(0, m.said("hi")), last, {"type": "message_stop"})
    )
    assert answer.usage == CallUsage(598, 92)


async def test_cached_tokens_are_part_of_the_input(asks: Any) -> None:
    usage = {"input_tokens": 3, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 1000}
    answer = await asks.ask(m.events(m.opening(**usage), m.started(0, m.said("hi")), *m.closing()))
    assert answer.usage == CallUsage(1203, 5, 1000, cache_write_tokens=200)


async def test_a_server_that_says_nothing_of_tokens(asks: Any) -> None:
    start, end = {"type": "message_start", "message": {"usage": None}}, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    answer = await asks.ask(m.events(start, m.started(0, m.said("hi")), end, {"type": "message_stop"}))
    assert (answer.usage, answer.model) == (None, "claude-x")


async def test_case_139_what_nobody_knows_is_passed_over(asks: Any) -> None:
    for name in ("anthropic_empty_arguments", "anthropic_thinking_and_call", "anthropic_answer"):
        plain = (m.STREAMS / f"{name}.sse").read_bytes()
        future = m.events(
            {"type": "future_event", "index": 0, "error": None},
            {"type": "ping"},
            m.delta(0, "future_delta", text="x"),
            m.delta(7, "later", n=1),
        )
        first, rest = plain.split(b"event: content_block_stop", 1)
        odd = first.replace(b'"index":0', b'"index":0,"future_key":{"a":[1]}') + future + b"event: content_block_stop" + rest
        assert await asks.ask(odd) == await asks.ask(plain)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause"),
        ("refusal", "content_filter"),
        ("future_reason", "other"),
    ],
)
async def test_stop_reasons(asks: Any, said: str, reason: str) -> None:
    assert (await asks.ask(m.answer(m.said("hi"), reason=said))).finish_reason == reason
    with_call = await asks.ask(m.answer(m.said("hi"), m.call("c", "t"), reason=said))
    expected = reason if reason in ("length", "content_filter") else "tool_calls"
    assert (with_call.finish_reason, len(with_call.message.tool_calls)) == (expected, 0 if said == "refusal" else 1)


async def test_thinking_comes_in_pieces_and_goes_out_whole(asks: Any) -> None:
    lines = [
        m.opening(),
        m.started(0, {"type": "thinking", "thinking": "", "signature": ""}),
        m.delta(0, "thinking_delta", thinking="Hm 🧭 …"),
        m.delta(0, "thinking_delta", thinking=" so"),
        m.delta(0, "signature_delta", signature="Ep+/"),
        m.delta(0, "signature_delta", signature="x=="),
        m.started(1, {"type": "redacted_thinking", "data": "q/Zz="}),
        m.started(2, {"type": "thinking", "thinking": "", "signature": "unseen="}),
        m.started(3, m.said("")),
        m.delta(3, "text_delta", text="Done"),
        *m.closing(),
    ]
    asks.plays.append(asks.Play([m.events(*lines)]))
    *deltas, last = await asks.events(asks.provider())
    assert deltas == [ReasoningDelta("Hm 🧭 …"), ReasoningDelta(" so"), TextDelta("Done")]
    assert isinstance(last, Answer)
    assert last.message.reasoning == (Reasoning("Hm 🧭 … so", "Ep+/x=="), Reasoning(redacted="q/Zz="), Reasoning("", "unseen="))
    assert last.message.native is None


async def test_signed_thinking_is_told_whole_once_it_ends(asks: Any) -> None:
    lines = [
        m.opening(),
        m.started(0, {"type": "thinking", "thinking": "", "signature": ""}),
        m.delta(0, "thinking_delta", thinking="Hm"),
        m.delta(0, "signature_delta", signature="Ep=="),
        {"type": "content_block_stop", "index": 0},
        m.started(1, {"type": "redacted_thinking", "data": "q/Zz="}),
        {"type": "content_block_stop", "index": 1},
        m.started(2, {"type": "thinking", "thinking": "unsigned"}),
        {"type": "content_block_stop", "index": 2},
        m.started(3, m.said("Done")),
        {"type": "content_block_stop", "index": 3},
        *m.closing(),
    ]
    asks.plays.append(asks.Play([m.events(*lines)]))
    *deltas, _ = await asks.events(asks.provider())
    blocks = [delta.block for delta in deltas if isinstance(delta, ReasoningDelta) and delta.block is not None]
    assert blocks == [Reasoning("Hm", "Ep=="), Reasoning(redacted="q/Zz=")]
    assert [delta.text for delta in deltas] == ["Hm", "", "", "unsigned", "Done"]


async def test_half_characters_are_joined(asks: Any) -> None:
    line = b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%b"}}\n\n'
    halves = line % b"a\\ud83e" + line % b"\\udded b\\ud83e"
    answer = await asks.ask(m.events(m.opening(), m.started(0, m.said(""))) + halves + m.events(*m.closing()))
    assert answer.message.content == "a\U0001f9ed b"


async def test_calls_interleaved_in_any_order_keep_their_order_and_exact_text(asks: Any) -> None:
    body = m.events(
        m.opening(),
        m.started(2, m.call("b", "second")),
        m.started(1, m.call("a", "first")),
        m.delta(1, "input_json_delta", partial_json='{"n": 2712345678901234567,'),
        m.delta(2, "input_json_delta", partial_json='{"x":1.10'),
        m.delta(1, "input_json_delta", partial_json=' "s": "é"}'),
        m.delta(2, "input_json_delta", partial_json="}"),
        *m.closing("tool_use"),
    )
    answer = await asks.ask(body)
    assert answer.message.tool_calls == (
        ToolCall("b", "second", '{"x":1.10}'),
        ToolCall("a", "first", '{"n": 2712345678901234567, "s": "é"}'),
    )


async def test_what_imitators_do_to_blocks(asks: Any) -> None:
    """No index, one index twice, deltas of a block that never began, input at the beginning, no id, one id twice, no event names."""
    lines = [
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Let "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "me "}},
        {"type": "content_block_start", "content_block": m.said("look")},
        {"type": "content_block_start", "index": 0, "content_block": m.call("x", "a", n=2712345678901234567)},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "name": "b", "input": '{"m":1}'}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "x", "name": "c"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"k":'}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "2}"}},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    body = b"".join(b"data: %b\n\n" % json.dumps(line).encode() for line in lines) + b"data: [DONE]\n\n"
    message = (await asks.ask(body)).message
    assert (message.content, message.reasoning) == ("Let me look", (Reasoning("hm"),))
    assert [(call.id, call.name, call.arguments) for call in message.tool_calls] == [
        ("x", "a", '{"n":2712345678901234567}'),
        ("toolu_000000000001", "b", '{"m":1}'),
        ("x_2", "c", '{"k":2}'),
    ]


async def test_a_server_that_does_not_stream(asks: Any) -> None:
    whole = {
        "type": "message",
        "model": "claude-2",
        "content": [m.thinking("hm", "s=="), m.said("Look."), m.call("c", "t", n=2712345678901234567)],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }
    answer = await asks.ask(asks.Play([json.dumps(whole).encode()], headers={"content-type": "application/json"}))
    assert (answer.message.content, answer.finish_reason, answer.usage) == ("Look.", "tool_calls", CallUsage(7, 3))
    assert answer.message.tool_calls == (ToolCall("c", "t", '{"n":2712345678901234567}'),)
    assert answer.message.reasoning == (Reasoning("hm", "s=="),)
    error = await asks.fail(json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}).encode())
    assert (error.category, error.retryable) == ("overloaded", True)
    assert (await asks.fail(b'{"choices": []}')).category == "server"


@pytest.mark.parametrize("stop", range(6))
async def test_a_stream_without_its_end_mark_is_a_cut_and_worth_asking_again(asks: Any, stop: int) -> None:
    lines = [
        m.opening(),
        m.started(0, m.said("")),
        m.delta(0, "text_delta", text="Yes"),
        {"type": "content_block_stop", "index": 0},
        *m.closing(),
    ]
    error = await asks.fail(m.events(*lines[: stop or 1]))
    assert (error.category, error.retryable, error.partial) == ("network", True, stop > 1)
    error = await asks.fail(asks.Play([m.events(*lines[: stop or 1])], end="cut"))
    assert (error.category, error.retryable) == ("network", True)


async def test_done_is_an_end_only_behind_a_reason(asks: Any) -> None:
    start = m.events(m.opening(), m.started(0, m.said("Yes")))
    assert (await asks.fail(start + b"data: [DONE]\n\n")).retryable
    told = m.events({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    assert (await asks.ask(start + told + b"data: [DONE]\n\n")).message.content == "Yes"


async def test_an_answer_that_ended_loses_nothing_with_its_connection(asks: Any) -> None:
    assert (await asks.ask(asks.Play([m.answer(m.said("Yes"))], end="cut"))).message.content == "Yes"
    assert (await asks.ask(asks.Play([m.answer(m.said("Yes"))], end="hang"))).message.content == "Yes"


async def test_an_answer_that_says_nothing_is_one_and_an_empty_stream_is_none(asks: Any) -> None:
    assert (await asks.ask(m.answer())).message.content == ""
    error = await asks.fail(m.events(m.opening(), {"type": "message_stop"}))
    assert (error.category, error.retryable) == ("server", True)


@pytest.mark.parametrize(
    "line",
    [
        b"null",
        b"[]",
        b"7",
        b'{"type":["x"]}',
        b'{"type":"content_block_delta","index":0}',
        b'{"type":"content_block_delta","delta":"x"}',
        b'{"type":"content_block_delta","delta":{"text":"x"}}',
        b'{"type":"content_block_start","content_block":{"type":"tool_use","id":"c"}}',
        b'{"type":',
    ],
)
async def test_what_can_not_be_read_is_an_error_never_an_answer(asks: Any, line: bytes) -> None:
    error = await asks.fail(m.events(m.opening()) + b"event: x\ndata: " + line + b"\n\n" + m.events(*m.closing()))
    assert (error.category, error.retryable) == ("server", True)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "message_start"},
        {"type": "message_start", "message": {"content": 7, "usage": [], "model": 3}},
        {"type": "message_delta", "usage": {"output_tokens": "many"}},
        {"type": "content_block_start", "content_block": "x"},
        {"type": "content_block_stop"},
        m.delta(0, "text_delta", text=None),
        m.delta(0, "input_json_delta", partial_json=None),
        m.delta(0, "signature_delta"),
        m.delta(0, "citations_delta"),
    ],
)
async def test_an_event_that_lacks_something_does_no_harm(asks: Any, line: Any) -> None:
    assert (await asks.ask(m.events(m.opening(), line, m.started(0, m.said("Yes")), *m.closing()))).message.content == "Yes"


async def test_a_page_is_no_answer(asks: Any) -> None:
    error = await asks.fail(b"<html>sign in</html>")
    assert (error.retryable, error.hint) == (False, "Check base_url.")


async def test_case_128_an_error_inside_a_success(asks: Any) -> None:
    start = m.events(m.opening(), m.started(0, m.said("Half")))
    for name in (b"event: error\n", b""):
        line = b'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}\n\n'
        error = await asks.fail(start + name + line)
        assert (error.category, error.retryable, error.partial) == ("overloaded", True, True)
        assert "overloaded_error" in error.detail
    error = await asks.fail(start + b'data: {"error":{"message":"boom","code":500}}\n\n')
    assert (error.category, error.retryable) == ("server", True)


@pytest.mark.parametrize(
    ("status", "kind", "category", "retryable"),
    [
        (529, "overloaded_error", "overloaded", True),
        (429, "rate_limit_error", "rate-limit", True),
        (500, "api_error", "server", True),
        (401, "authentication_error", "auth-failure", False),
        (400, "invalid_request_error", "bad-request", False),
    ],
)
async def test_statuses(asks: Any, status: int, kind: str, category: str, retryable: bool) -> None:
    body = json.dumps({"type": "error", "error": {"type": kind, "message": "why not"}, "request_id": "req_7"}).encode()
    error = await asks.fail(asks.Play([body], status, {"content-type": "application/json", "retry-after": "3"}))
    assert (error.category, error.retryable, error.retry_after_ms) == (category, retryable, 3000)
    assert "why not" in error.detail


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tides", "n": 2712345678901234567}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "encrypted_content": "E/+=="}],
}


def without_its_own(call: Any) -> Any:
    """A call as it is kept: the rest stands in the message."""
    return {key: value for key, value in call.items() if key not in ("id", "name", "input")}


@pytest.mark.parametrize(
    ("blocks", "kept"),
    [
        ([m.thinking("a", "s1"), m.said("x"), m.call("c", "t"), m.call("d", "t")], False),
        ([m.thinking("a", ""), m.said("x")], False),
        ([m.said(" \n"), m.call("c", "t")], False),
        ([m.said("x"), m.thinking("a", "s1"), m.call("c", "t")], True),
        ([m.said("x"), m.said("y")], True),
        ([m.call("c", "t"), m.said("x")], True),
        ([SEARCH, FOUND, m.said("x")], True),
        ([{"type": "future_block", "n": 2712345678901234567}], True),
        ([m.call("c", "t") | {"caller": {"type": "direct"}}], False),
        ([SEARCH, m.call("c", "t") | {"caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}], True),
        ([m.said("x") | {"citations": [{"type": "char_location", "cited_text": "x"}]}], True),
    ],
)
async def test_what_our_fields_do_not_hold_is_kept_as_it_came(asks: Any, blocks: list[Any], kept: bool) -> None:
    message = (await asks.ask(m.answer(*blocks))).message
    assert (message.native is not None) == kept
    if message.native is not None:
        stored = json.loads(message.native.content)
        places = [without_its_own(block) if block["type"] == "tool_use" else block for block in blocks]
        assert (message.native.wire, stored) == ("anthropic", places)


async def test_citations_and_unknown_deltas_are_kept(asks: Any) -> None:
    cited = {"type": "char_location", "cited_text": "x", "n": 2712345678901234567}
    body = m.events(
        m.opening(),
        m.started(0, m.said("")),
        m.delta(0, "text_delta", text="x"),
        m.delta(0, "citations_delta", citation=cited),
        m.started(1, {"type": "compaction", "content": None}),
        m.delta(1, "compaction_delta", content="so "),
        m.delta(1, "compaction_delta", content="far"),
        *m.closing(),
    )
    message = (await asks.ask(body)).message
    assert message.native is not None
    assert json.loads(message.native.content) == [m.said("x") | {"citations": [cited]}, {"type": "compaction", "content": "so far"}]


async def test_no_key_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ProviderError) as caught:
        await Wire.events(AnthropicProvider("claude-x"))
    assert (caught.value.category, caught.value.code) == ("auth-failure", "LOUSHO_PROVIDER_KEY_MISSING")
