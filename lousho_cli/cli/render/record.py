"""One record of a log as a line."""

from __future__ import annotations

from typing import Any

from lousho_cli.cli.output import Output, json_text

_NAMES = ("id", "tool", "step", "status", "finish_reason", "outcome", "code", "host", "attempt", "count", "agent", "model", "limit", "kind")
"""Fields that say what happened without what was said."""


def record_text(out: Output, item: Any, *, content: bool) -> None:
    """Its cursor, time and type, then what it holds.

    Args:
        content: whether texts, arguments and results are shown.
    """
    kind = item.type.removeprefix("lousho.")
    said = json_text(item.record) if content else _facts(item.record)
    out.line(f"{item.cursor.seq}.{item.cursor.index}  {item.at}  {kind:<16} {said}".rstrip())
    out.flush()


def _facts(record: dict[str, Any]) -> str:
    facts = [f"{name}={record[name]}" for name in _NAMES if isinstance(record.get(name), (str, int))]
    message = record.get("message")
    if isinstance(message, dict):
        facts += [f"calls={call.get('name')}" for call in message.get("tool_calls", ())]
    approval = record.get("approval")
    if isinstance(approval, dict):
        facts += [f"{name}={approval.get(name)}" for name in ("id", "tool_name")]
    if record.get("is_error"):
        facts.append("error")
    return " ".join(facts)
