"""Approvals of the original product, read as ours."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.core.originals import approval_from, approval_from_original
from lousho_cli.core.snapshots import state_of_snapshot
from lousho_cli.domain.approvals import digest_of
from lousho_cli.domain.messages import ToolCall
from lousho_cli.errors import StorageError

CALL = {"id": "call_weather", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Lisbon"}'}}

SNAPSHOT: dict[str, Any] = {
    "agent": {
        "id": "a1",
        "name": "booking",
        "prompt": "Book.",
        "tools": {"book_table": {}},
        "settings": {"model": "gpt", "temperature": 0},
    },
    "currentMessages": [
        {"role": "user", "content": "Book a table"},
        {
            "role": "assistant",
            "content": "",
            "toolCalls": [
                {"id": "c1", "type": "function", "function": {"name": "book_table", "arguments": '{"people":2}'}},
                CALL,
            ],
        },
    ],
    "steps": 1,
    "sessionId": "booking-1",
}

PENDING: dict[str, Any] = {
    "id": "appr-1",
    "toolCallId": "c1",
    "toolName": "book_table",
    "args": {"people": 2},
    "agentId": "a1",
    "createdAt": "2025-03-01T10:00:00.000Z",
    "subagentPath": ["scout"],
}


def test_an_approval_is_read_with_a_digest_of_what_would_run() -> None:
    stored = approval_from({"pending": PENDING, "snapshot": SNAPSHOT | {"pendingToolCall": PENDING, "remainingToolCalls": [CALL]}})
    assert stored.pending.digest == digest_of({"people": 2})
    assert stored.pending.session_id == "booking-1"
    snapshot = stored.snapshot
    assert snapshot.pending_tool_call == stored.pending
    assert (snapshot.agent.name, snapshot.agent.agent_id, snapshot.agent.model) == ("booking", "a1", "gpt")
    assert snapshot.agent.tools == ("book_table",)
    assert snapshot.remaining_tool_calls == (ToolCall("call_weather", "weather", '{"city":"Lisbon"}'),)


def test_de_050_a_snapshot_from_before_remaining_calls_were_kept_has_none() -> None:
    stored = approval_from_original({"pending": PENDING, "snapshot": SNAPSHOT})
    assert stored.snapshot.remaining_tool_calls is None
    assert stored.snapshot.agent_fingerprint is None
    assert stored.snapshot.usage is None


def test_a_date_nobody_can_read_never_comes() -> None:
    stored = approval_from_original({"pending": PENDING | {"expiresAt": "soon"}, "snapshot": SNAPSHOT})
    assert stored.pending.expires_at is None


def test_a_question_of_before_kinds_is_a_question() -> None:
    asked = PENDING | {"toolName": "ask_question", "args": {"question": "Which?", "options": ["a", "b"], "allowFreeText": False}}
    pending = approval_from_original({"pending": asked, "snapshot": SNAPSHOT}).pending
    assert pending.kind == "question"
    assert pending.question is not None
    assert (pending.question.text, pending.question.options, pending.question.allow_free_text) == ("Which?", ("a", "b"), False)


def test_a_sign_in_says_where() -> None:
    asked = PENDING | {"kind": "sign-in", "signIn": {"provider": "github", "displayName": "GitHub", "url": "https://example.test/in"}}
    pending = approval_from_original({"pending": asked, "snapshot": SNAPSHOT}).pending
    assert pending.kind == "sign-in"
    assert pending.question is not None
    assert pending.question.text == "Sign in to GitHub: https://example.test/in"


@pytest.mark.parametrize("wrong", [{"pending": PENDING}, {"snapshot": SNAPSHOT}, {"pending": 4, "snapshot": SNAPSHOT}], ids=["a", "b", "c"])
def test_what_is_no_approval_is_refused_with_one_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(StorageError, match="a stored approval is not readable"):
        approval_from(wrong)


def _call(call_id: str, name: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": "{}"}}


def _turn(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "go"}, {"role": "assistant", "content": "", "toolCalls": list(calls)}]


def test_a_sub_agent_that_waits_is_read_as_one_at_any_depth() -> None:
    waits = PENDING | {"toolCallId": "c-book", "subagentPath": ["scout", "clerk"]}
    placeholder = {"role": "tool", "toolCallId": "c-scout", "toolName": "scout", "content": '{"status":"awaiting-approval"}'}
    clerk = {"agent": {"name": "clerk"}, "currentMessages": _turn(_call("c-book", "book_table")), "pendingToolCall": waits, "steps": 1}
    scout = {
        "agent": {"name": "scout"},
        "currentMessages": _turn(_call("c-clerk", "clerk")),
        "pendingToolCall": waits,
        "steps": 1,
        "subagent": {"toolCallId": "c-clerk", "toolName": "clerk", "args": {}, "agentName": "clerk", "snapshot": clerk},
    }
    lead = SNAPSHOT | {
        "currentMessages": [*_turn(_call("c-scout", "scout"), _call("c-later", "weather")), placeholder],
        "subagent": {"toolCallId": "c-scout", "toolName": "scout", "args": {}, "agentName": "scout", "snapshot": scout},
        "remainingToolCalls": [_call("c-later", "weather")],
    }
    stored = approval_from({"pending": waits, "snapshot": lead})
    assert (stored.pending.tool_call_id, stored.pending.path, stored.pending.calls) == (
        "c-book",
        ("scout", "clerk"),
        ("c-scout", "c-clerk"),
    )
    state = state_of_snapshot(stored.snapshot)
    assert state.turn is not None
    assert [call.id for call in state.turn.unanswered] == ["c-scout", "c-later"], "a placeholder is no result"
    first = state.children["c-scout"]
    assert first.wait is not None
    assert (first.status, first.wait.path, first.wait.calls) == ("awaiting-approval", ("clerk",), ("c-clerk",))
    second = first.children["c-clerk"]
    assert second.wait is not None
    assert (second.wait.id, second.wait.path, second.wait.calls) == ("appr-1", (), ())
