"""Approvals of the original product, read as ours: what waits for a person, and the run it paused.

A field that older versions of it did not write gets the default it means: no list of remaining calls is None, no
fingerprint is no check, no date is never. Where the call of a sub-agent waits, its own snapshot lies in its lead's;
it becomes the state of that sub-agent. Fields we have no place for are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from lousho_cli.core.snapshots import state_of_snapshot
from lousho_cli.domain import original_parts as parts
from lousho_cli.domain.approvals import ExecutionSnapshot, PendingApproval, StoredApproval, digest_of
from lousho_cli.errors import StorageError

T = TypeVar("T")

_PENDING = {
    "toolCallId": "tool_call_id",
    "toolName": "tool_name",
    "agentId": "agent_id",
    "createdAt": "created_at",
    "expiresAt": "expires_at",
    "subagentPath": "path",
    "sessionId": "session_id",
}
_SNAPSHOT = {
    "currentMessages": "current_messages",
    "pendingToolCall": "pending_tool_call",
    "sessionId": "session_id",
    "remainingToolCalls": "remaining_tool_calls",
    "stepUsage": "step_usage",
    "agentFingerprint": "agent_fingerprint",
    "businessState": "business_state",
    "maxSteps": "max_steps",
}
_THEIRS = _PENDING.keys() | _SNAPSHOT.keys()
_QUESTION_TOOL = "ask_question"


def approval_from(value: Any) -> StoredApproval:
    """What an approval store gave back: a pending approval and a snapshot, or the dictionaries of them, in either spelling.

    Raises:
        StorageError: it is no approval.
    """
    try:
        pending, snapshot = approval_parts(value)
        if any(isinstance(part, Mapping) and not _THEIRS.isdisjoint(part) for part in (pending, snapshot)):
            return approval_from_original({"pending": pending, "snapshot": snapshot})
        return StoredApproval(_converted(pending, PendingApproval), _converted(snapshot, ExecutionSnapshot))
    except (msgspec.ValidationError, TypeError, AttributeError) as error:
        raise StorageError(f"a stored approval is not readable: {error}") from error


def approval_parts(value: Any) -> tuple[Any, Any]:
    """The pending approval and the snapshot of what an approval store gave, whatever they are made of.

    Raises:
        AttributeError: it has no such parts.
    """
    if isinstance(value, Mapping):
        return value.get("pending"), value.get("snapshot")
    return value.pending, value.snapshot


def _converted(part: Any, kind: type[T]) -> T:
    return msgspec.convert(msgspec.to_builtins(part) if isinstance(part, msgspec.Struct) else part, kind, from_attributes=True)


def approval_from_original(value: Mapping[str, Any]) -> StoredApproval:
    """A pending approval and the run it paused, ``{pending, snapshot}``, as ours.

    The digest, which the original does not have, is taken over the arguments it would have run.

    Raises:
        StorageError: it is none.
    """
    fields = parts.record_of(value)
    snapshot = fields.get("snapshot")
    if not isinstance(snapshot, Mapping):
        raise StorageError("a stored approval is not readable: it holds no snapshot")
    paused = _snapshot(snapshot, fields.get("pending"))
    return StoredApproval(paused.pending_tool_call, paused)


def _snapshot(value: Mapping[str, Any], waits: Any = None) -> ExecutionSnapshot:
    """The run at its pause; ``waits`` is the pending approval where it was stored beside it."""
    fields = parts.renamed(value, _SNAPSHOT)
    pending = _pending(waits or fields.get("pending_tool_call"), fields.get("session_id") or "")
    fields["agent"] = _agent(fields.get("agent"))
    fields["current_messages"] = parts.messages(fields.get("current_messages"))
    for key, of in (("remaining_tool_calls", parts.calls), ("step_usage", parts.step_usage)):
        if key in fields:
            fields[key] = of(fields[key])
    if "usage" in fields:
        fields["usage"] = parts.run_usage(fields["usage"], fields.get("steps", 0))
    inner = value.get("subagent")
    if isinstance(inner, Mapping):
        pending = _within(fields, inner, pending)
    fields["pending_tool_call"] = pending
    return parts.read(fields, ExecutionSnapshot, "approval")


def _within(fields: dict[str, Any], suspended: Mapping[str, Any], pending: Any) -> Any:
    """Puts the sub-agent that waits into the fields of its lead's snapshot; gives what its lead waits for.

    Its lead holds a placeholder as the result of the call that started it. That call is not answered.
    """
    nested, call_id, name = suspended.get("snapshot"), suspended.get("toolCallId"), suspended.get("toolName")
    if not isinstance(nested, Mapping):
        raise StorageError("a stored approval is not readable: its sub-agent has no snapshot")
    child = _snapshot(nested)
    fields["children"] = {call_id: msgspec.to_builtins(state_of_snapshot(child))}
    fields["current_messages"] = [message for message in parts.items(fields["current_messages"]) if not _answers(message, call_id)]
    own = child.pending_tool_call
    return pending | {"path": [name, *own.path], "calls": [call_id, *own.calls]} if isinstance(pending, dict) else pending


def _answers(message: Any, call_id: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") == "tool" and message.get("tool_call_id") == call_id


def _pending(value: Any, session_id: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    fields = parts.renamed(value, _PENDING)
    fields.pop("path", None)  # it names the agents; ours names the calls' tools, which the snapshots tell
    args = fields.setdefault("args", {})
    fields.setdefault("digest", digest_of(args))
    fields.setdefault("session_id", session_id)
    fields["created_at"] = parts.time(fields.get("created_at"))
    fields["expires_at"] = parts.readable_time(fields.get("expires_at"))  # a date nobody can read never comes
    question = _question(fields, value.get("signIn"))
    if question is not None:
        fields["question"] = question
    return fields


def _question(fields: dict[str, Any], sign_in: Any) -> Any:
    """What a person is asked; older records of the original kept it in the arguments of the question tool alone."""
    args = fields["args"]
    if isinstance(sign_in, Mapping):
        return {"text": f"Sign in to {sign_in.get('displayName') or sign_in.get('provider')}: {sign_in.get('url')}"}
    if fields.get("tool_name") == _QUESTION_TOOL and "kind" not in fields and isinstance(args, Mapping):
        fields["kind"] = "question"
        return parts.renamed({"text": str(args.get("question", "")), **_choices(args)}, _CHOICES)
    given = fields.get("question")
    return parts.renamed(given, _CHOICES) if isinstance(given, Mapping) else given


_CHOICES = {"allowFreeText": "allow_free_text"}


def _choices(args: Mapping[str, Any]) -> dict[str, Any]:
    free = args.get("allowFreeText")
    return {
        "options": [str(option) for option in parts.items(args.get("options"))],
        "allowFreeText": free if isinstance(free, bool) else None,
    }


def _agent(value: Any) -> Any:
    """The agent as it was configured. Its settings name the model; its tools are kept by name."""
    if not isinstance(value, Mapping):
        return value
    settings = value.get("settings")
    model = settings.get("model") if isinstance(settings, Mapping) else None
    fields = parts.renamed({**value, "model": value.get("model") or model or None, "tools": parts.tool_names(value.get("tools"))}, {})
    fields.setdefault("name", fields.get("id") or "agent")
    return fields
