"""Records of the original product, read as ours."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.codec import checkpoint_from, encode_value
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Reasoning, TextPart, ToolCall
from lousho_cli.domain.originals import checkpoint_from_original, history_from_original, is_original
from lousho_cli.domain.usage import ModelUsage, RunUsage, StepUsage
from lousho_cli.errors import StorageError

CALL = {"id": "call_weather", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Lisbon"}'}}

FULL: dict[str, Any] = {
    "agentId": "trip",
    "sessionId": "trip-1",
    "stepIndex": 1,
    "messages": [
        {"role": "system", "content": "You plan trips."},
        {
            "role": "user",
            "name": "ada",
            "content": [
                {"type": "text", "text": "Plan this: "},
                {"type": "image", "image": {"$bytes": "iVBORw=="}, "mimeType": "image/png"},
                {"type": "file", "data": "data:text/plain;base64,aGk=", "mimeType": "text/plain", "filename": "a.txt"},
            ],
            "metadata": {"pinned": True},
        },
        {
            "role": "assistant",
            "content": "",
            "toolCalls": [CALL],
            "reasoning": [{"text": "hm", "signature": "sig"}, {"text": "", "redactedData": "xx"}],
        },
        {
            "role": "tool",
            "content": '{"error":"Error"}',
            "name": "weather",
            "toolCallId": "call_weather",
            "toolName": "weather",
            "isError": True,
        },
    ],
    "toolCalls": [CALL],
    "usage": {
        "inputTokens": 40,
        "outputTokens": 12,
        "totalTokens": 52,
        "costUsd": 0.001,
        "modelCalls": 1,
        "estimated": False,
        "byModel": {"gpt": {"inputTokens": 40, "outputTokens": 12, "calls": 1, "costUsd": 0.001}},
        "cachedInputTokens": 3,
        "cacheWriteTokens": 2,
        "promptTokens": 40,
        "completionTokens": 12,
    },
    "stepUsage": [
        {
            "step": 1,
            "model": "gpt",
            "usage": {"inputTokens": 40, "outputTokens": 12, "totalTokens": 52},
            "estimated": False,
            "costUsd": 0.001,
        }
    ],
    "finishReason": "tool_calls",
    "businessState": {"order": 7},
    "status": "in-progress",
    "agentFingerprint": {"version": 1, "hash": "ab" * 8, "model": "gpt", "tools": {"weather": "cd" * 8}, "instructions": "ef" * 8},
    "runConfig": {"ctx": {"input": "x"}, "model": "gpt"},
    "principal": {"id": "u1"},
    "attempts": 2,
}


def test_a_whole_checkpoint_is_read() -> None:
    read = checkpoint_from(FULL)
    call = ToolCall("call_weather", "weather", '{"city":"Lisbon"}')
    assert (read.agent_id, read.session_id, read.step_index, read.finish_reason) == ("trip", "trip-1", 1, "tool_calls")
    system, asked, turn, result = read.messages
    assert system == Message("system", "You plan trips.")
    assert asked.content == (
        TextPart("Plan this: "),
        ImagePart("iVBORw==", "image/png"),
        FilePart("data:text/plain;base64,aGk=", "text/plain", "a.txt"),
    )
    assert asked.metadata == {"pinned": True, "name": "ada"}
    assert turn == Message("assistant", "", (call,), reasoning=(Reasoning("hm", "sig"), Reasoning(redacted="xx")))
    assert result == Message("tool", '{"error":"Error"}', (), "call_weather", "weather", True)
    assert read.tool_calls == (call,)
    assert read.usage == RunUsage(40, 12, 52, 1, False, 0.001, 3, None, {"gpt": ModelUsage(40, 12, 1, 0.001)})
    assert read.step_usage == (StepUsage(1, "gpt", 40, 12, 52, False, 0.001),)
    assert read.business_state == {"order": 7}
    assert read.agent_fingerprint is not None
    assert read.agent_fingerprint.tools == {"weather": "cd" * 8}
    assert read.run_config == {"ctx": {"input": "x"}, "model": "gpt"}
    assert read.metadata == {"original": {"principal": {"id": "u1"}, "attempts": 2}}, "what we have no place for is kept for people"


def test_a_checkpoint_that_was_read_can_be_stored_and_read_again() -> None:
    import json

    read = checkpoint_from(FULL)
    assert checkpoint_from(json.loads(encode_value(read))) == read


def test_the_oldest_record_there_is_has_the_defaults_it_means() -> None:
    read = checkpoint_from(
        {
            "agentId": "",
            "sessionId": "s",
            "stepIndex": 2,
            "messages": [{"role": "user", "content": "hi"}],
            "toolCalls": [],
            "usage": {"promptTokens": 10, "completionTokens": 5, "totalTokens": 15},
        }
    )
    assert read.status == "in-progress"
    assert read.agent_fingerprint is None
    assert read.finish_reason == "stop"
    assert read.step_usage == ()
    assert read.started is None, "each call without a result may have been started"


def test_token_counts_alone_are_kept_and_their_cost_stays_unknown() -> None:
    read = checkpoint_from({"sessionId": "s", "stepIndex": 2, "usage": {"promptTokens": 10, "completionTokens": 5, "totalTokens": 15}})
    assert (read.usage.input_tokens, read.usage.output_tokens, read.usage.total_tokens) == (10, 5, 15)
    assert read.usage.by_model == {"unknown": ModelUsage(10, 5, 2)}
    after = read.usage.plus([StepUsage(3, "gpt", 1, 1, 2, cost_usd=0.5)])
    assert after.cost_usd is None, "a cost with one unknown price is unknown"
    assert after.total_tokens == 17


def test_a_record_stored_under_an_id_need_not_name_it() -> None:
    assert checkpoint_from_original({"stepIndex": 1, "messages": []}, "kept-under").session_id == "kept-under"


def test_a_half_rewritten_record_is_read_whole() -> None:
    read = checkpoint_from({"session_id": "s", "messages": [{"role": "tool", "content": "1", "toolCallId": "c1", "name": "x"}]})
    assert read.messages == (Message("tool", "1", (), "c1", "x"),)


def test_ours_is_not_taken_for_an_original() -> None:
    ours = {"session_id": "s", "messages": [{"role": "user", "content": "hi"}], "business_state": {"stepIndex": 4}}
    assert not is_original(ours)
    assert checkpoint_from(ours) == Checkpoint("s", (Message("user", "hi"),), business_state={"stepIndex": 4})


@pytest.mark.parametrize(
    "wrong",
    [
        {"sessionId": "s", "messages": 7},
        {"sessionId": "s", "messages": [{"role": "nobody", "content": ""}]},
        {"sessionId": "s", "messages": ["hi"]},
        {"sessionId": "s", "status": "sideways"},
        {"sessionId": "s", "stepIndex": "two"},
        {"sessionId": "s", "usage": 3},
        {"sessionId": "s", "toolCalls": [{"id": "c"}]},
        {"sessionId": "s", "metadata": [1], "attempts": 1},
        {"sessionId": 5},
    ],
    ids=str,
)
def test_what_is_no_checkpoint_is_refused_with_one_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(StorageError, match="a stored checkpoint is not readable"):
        checkpoint_from(wrong)


def test_text_that_is_no_text_is_made_plain() -> None:
    read = checkpoint_from({"sessionId": "s", "messages": [{"role": "user", "content": "a\ud800b"}], "stepIndex": 0})
    assert read.messages[0].text == "a\ufffdb"
    encode_value(read)


def test_a_part_of_a_kind_we_do_not_know_stays_as_text() -> None:
    read = checkpoint_from({"sessionId": "s", "messages": [{"role": "user", "content": [{"type": "audio", "data": "x"}]}]})
    assert read.messages[0].content == (TextPart('{"type":"audio","data":"x"}'),)


def test_de_078_an_entry_of_a_ring_defaults_to_in_progress() -> None:
    ring = [
        {"step": 1, "savedAt": "2025-03-01T10:00:00.000Z", "checkpoint": {"sessionId": "s", "stepIndex": 1, "messages": []}},
        {"step": 2, "savedAt": 1740823200000, "status": "finished", "checkpoint": {"stepIndex": 2, "status": "finished"}},
    ]
    first, second = history_from_original(ring, "s")
    assert (first.step, first.saved_at, first.status) == (1, "2025-03-01T10:00:00.000Z", "in-progress")
    assert (second.step, second.saved_at, second.status) == (2, "2025-03-01T10:00:00.000Z", "finished")
    assert second.checkpoint.session_id == "s"


def test_a_ring_with_an_entry_that_is_none_is_refused() -> None:
    with pytest.raises(StorageError, match="history entry"):
        history_from_original([{"step": 1}], "s")


def test_what_sub_agents_used_stands_beside_the_totals() -> None:
    usage = FULL["usage"] | {
        "totalTokens": 152,
        "inputTokens": 120,
        "outputTokens": 32,
        "modelCalls": 3,
        "costUsd": 0.004,
        "delegated": {"inputTokens": 80, "outputTokens": 20, "totalTokens": 100, "modelCalls": 2, "costUsd": 0.003, "runs": 1},
    }
    read = checkpoint_from(FULL | {"usage": usage}).usage
    assert (read.input_tokens, read.output_tokens, read.total_tokens, read.model_calls) == (40, 12, 52, 1)
    assert (read.delegated.runs, read.delegated.total_tokens, read.delegated.model_calls) == (1, 100, 2)
    assert read.tokens_with_delegated == 152
    assert read.cost_with_delegated == pytest.approx(0.004)
