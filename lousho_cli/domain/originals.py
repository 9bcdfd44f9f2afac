"""Records of the original product, read as ours.

It keeps JSON in camel case: a checkpoint, and a ring of history entries; ``core.originals`` reads its approvals. A
field that older versions of it did not write gets the default it means: no status is in-progress, no fingerprint is
no check, token counts alone are tokens of an unknown model. Whose run it was, its last error, its tries and any field
we do not know are kept under ``original`` in the checkpoint's metadata, for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lousho_cli.domain import original_parts as parts
from lousho_cli.domain.checkpoint import Checkpoint, CheckpointHistoryEntry
from lousho_cli.errors import StorageError

_CHECKPOINT = {
    "agentId": "agent_id",
    "sessionId": "session_id",
    "stepIndex": "step_index",
    "toolCalls": "tool_calls",
    "stepUsage": "step_usage",
    "finishReason": "finish_reason",
    "businessState": "business_state",
    "approvalId": "approval_id",
    "approvalKind": "approval_kind",
    "agentFingerprint": "agent_fingerprint",
    "runConfig": "run_config",
}
_THEIRS = _CHECKPOINT.keys() | {"savedAt"}
_OF_MESSAGES = {"toolCalls", "toolCallId", "toolName", "isError"}


def is_original(value: Any) -> bool:
    """Whether a stored checkpoint or history entry, or a message in it, is spelled as the original product spells it."""
    if not isinstance(value, Mapping):
        return False
    if not _THEIRS.isdisjoint(value) or is_original(value.get("checkpoint")):
        return True
    return any(isinstance(one, Mapping) and not _OF_MESSAGES.isdisjoint(one) for one in parts.items(value.get("messages")))


def checkpoint_from_original(value: Mapping[str, Any], session_id: str = "") -> Checkpoint:
    """A checkpoint of the original as ours.

    Args:
        session_id: what it was stored under, for a record that does not name its session.

    Raises:
        StorageError: it is no checkpoint.
    """
    fields = parts.renamed(parts.record_of(value), _CHECKPOINT)
    fields.setdefault("session_id", session_id)
    fields["messages"] = parts.messages(fields.get("messages", ()))
    fields["usage"] = parts.run_usage(fields.get("usage", {}), fields.get("step_index", 0))
    for key, read in (("tool_calls", parts.calls), ("step_usage", parts.step_usage)):
        if key in fields:
            fields[key] = read(fields[key])
    unknown = {key: fields.pop(key) for key in fields.keys() - set(Checkpoint.__struct_fields__)}
    if unknown:
        fields["metadata"] = parts.also(fields.get("metadata"), "original", unknown)
    return parts.read(fields, Checkpoint, "checkpoint")


def entry_from_original(value: Mapping[str, Any], session_id: str = "") -> CheckpointHistoryEntry:
    """One entry of a history ring as ours; ``session_id`` as in ``checkpoint_from_original``.

    Raises:
        StorageError: it is none.
    """
    held = value.get("checkpoint") if isinstance(value, Mapping) else None
    if not isinstance(held, Mapping):
        raise StorageError("a stored history entry is not readable: it holds no checkpoint")
    checkpoint = checkpoint_from_original(held, session_id)
    saved = value.get("savedAt", value.get("saved_at"))
    return CheckpointHistoryEntry(checkpoint.step_index, parts.time(saved), checkpoint.status, checkpoint)


def history_from_original(values: Iterable[Mapping[str, Any]], session_id: str = "") -> tuple[CheckpointHistoryEntry, ...]:
    """A history ring as ours, in the order given; the original keeps the oldest first.

    Raises:
        StorageError: an entry of it is none.
    """
    return tuple(entry_from_original(value, session_id) for value in values)
