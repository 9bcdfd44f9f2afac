from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from lousho_cli.core import tool_errors as te
from lousho_cli.domain import texts
from lousho_cli.domain.messages import ToolCall

CALL = ToolCall("call_1", "weather", "{}")


class Issue(NamedTuple):
    path: str
    message: str


def read(text: str) -> dict[str, Any]:
    body = json.loads(text)
    assert isinstance(body, dict)
    return body


def test_de_047_a_rejection_has_kind_rejected_and_the_note() -> None:
    assert read(te.rejected(CALL, "too dear")) == {
        "error": "ToolRejectedError",
        "toolName": "weather",
        "message": texts.REJECTED_TOOL_RESULT,
        "kind": "rejected",
        "toolCallId": "call_1",
        "note": "too dear",
    }
    assert "note" not in read(te.rejected(CALL))


def test_de_060_validation_issues_list_dotted_paths() -> None:
    body = read(te.validation(CALL, [Issue("stay.from", "is required"), Issue("guests", "must be a number")]))
    assert body["issues"] == [{"path": "stay.from", "message": "is required"}, {"path": "guests", "message": "must be a number"}]
    assert "stay.from: is required" in body["message"]


def test_de_073_declining_is_told_from_rejecting() -> None:
    declined, rejected = read(te.declined(CALL)), read(te.rejected(CALL))
    assert declined["kind"] == rejected["kind"] == "rejected"
    assert declined["message"] == texts.DECLINED_ANSWER_RESULT != rejected["message"]


def test_an_unknown_tool_is_told_the_nearest_name_and_all_of_them() -> None:
    body = read(te.not_found(ToolCall("c", "wether"), ["weather", "book"]))
    assert body["error"] == "ToolNotFoundError"
    assert 'Did you mean "weather"?' in body["message"]
    assert "book, weather" in body["message"]
    assert "No tools" in read(te.not_found(CALL, []))["message"]


@pytest.mark.parametrize(
    ("made", "kind", "error", "text"),
    [
        (te.cancelled(CALL), "not-run", "ToolNotRunError", texts.CANCELLED_TOOL_RESULT),
        (te.not_run(CALL), "not-run", "ToolNotRunError", texts.NOT_RUN_TOOL_RESULT),
        (te.truncated(CALL), "not-run", "ToolNotRunError", texts.TRUNCATED_TOOL_RESULT),
        (te.truncated(CALL, "mine"), "not-run", "ToolNotRunError", "mine"),
        (te.interrupted(CALL), "execution", "ToolInterruptedError", texts.INTERRUPTED_TOOL_RESULT),
        (te.interrupted(CALL, "mine"), "execution", "ToolInterruptedError", "mine"),
        (te.expired(CALL), "denied", "ToolDeniedError", texts.EXPIRED_TOOL_RESULT),
        (te.denied(CALL, "read only"), "denied", "ToolDeniedError", "This call was denied: read only"),
        (te.execution(CALL, "ValueError", "no such city"), "execution", "ValueError", "no such city"),
        (te.execution(CALL, "", ""), "execution", "Error", "The tool failed."),
        (te.tool_error("mcp", "fs", "gone"), "mcp", "McpToolError", "gone"),
        (te.tool_error("sandbox", "sh", "none"), "sandbox", "SandboxRequiredError", "none"),
    ],
)
def test_each_way_to_fail_has_its_kind_name_and_text(made: str, kind: str, error: str, text: str) -> None:
    body = read(made)
    assert (body["kind"], body["error"], body["message"]) == (kind, error, text)


def test_a_long_message_is_cut_with_a_mark() -> None:
    assert read(te.execution(CALL, "E", "x" * 2000))["message"] == "x" * 2000
    assert read(te.execution(CALL, "E", "x" * 2001))["message"] == "x" * 2000 + te.CUT_MARK


def test_extras_add_and_never_override() -> None:
    text = te.tool_error("execution", "t", "m", kind_=1, toolName="other", toolCallId="fake", issues=None, hint="h")
    assert read(text) == {"error": "Error", "toolName": "t", "message": "m", "kind": "execution", "kind_": 1, "hint": "h"}


def test_what_json_can_not_hold_never_raises() -> None:
    assert read(te.tool_error("execution", "t", "bad \ud800", value=float("nan"), thing=object()))["value"] == "NaN"


def test_an_error_may_say_its_kind_and_an_unknown_one_is_execution():
    call = ToolCall("c1", "fs", "{}")
    kinds = [json.loads(te.declared(call, "Gone", "it died", kind))["kind"] for kind in ("mcp", "sandbox", "nonsense", None, [])]
    assert kinds == ["mcp", "sandbox", "execution", "execution", "execution"]
    assert json.loads(te.declared(call, "Gone", "it died", "mcp"))["error"] == "Gone"
