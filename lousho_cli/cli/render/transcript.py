"""A session or a checkpoint as text: a head, then message by message."""

from __future__ import annotations

from typing import Any

from lousho_cli.app.hostile_text import json_line
from lousho_cli.cli.output import Output
from lousho_cli.cli.render.usage import usage_rows


def transcript(out: Output, shown: Any, *, content: bool) -> None:
    """Shows it.

    Args:
        content: whether texts, arguments, results and state are shown, or only how long they are.
    """
    _head(out, shown)
    _messages(out, shown.messages, content=content)
    for child in shown.subagents:
        out.line()
        ended = child.outcome or child.status
        out.line(f"sub-agent {' > '.join(child.path)} ({'/'.join(child.calls)}): {ended}, {child.finish_reason}, step {child.step}", "bold")
        _messages(out, child.messages, content=content)
    if shown.business_state is not None:
        out.line()
        state = json_line(shown.business_state)
        out.line("state", "bold")
        out.line(f"  {state if content else _length(state)}")


def _messages(out: Output, messages: Any, *, content: bool) -> None:
    for number, message in enumerate(messages, 1):
        out.line()
        _message(out, number, message, content=content)


def _head(out: Output, shown: Any) -> None:
    rows = [
        ("session", shown.address or shown.session),
        ("agent", shown.agent or "-"),
        ("status", shown.status + (f", {shown.outcome}" if shown.outcome else "")),
        ("finish", _finish(shown)),
        ("step", str(shown.step)),
        *usage_rows(shown),
        ("tools", ", ".join(shown.tools) or "-"),
        ("fingerprint", shown.fingerprint.hash if shown.fingerprint else "-"),
        ("saved", f"{shown.updated_at or '-'}, seq {shown.seq}"),
    ]
    if shown.origin:
        rows.append(("imported", f"{shown.origin.get('kind')}, {shown.origin.get('file')}, {shown.origin.get('id')}"))
    if shown.error:
        rows.append(("error", shown.error))
    if shown.parent:
        rows.append(("parent", shown.parent if shown.parent_step is None else f"{shown.parent}, step {shown.parent_step}"))
    if shown.waits_for:
        rows.append(("waits for", f"{shown.waits_for.named_tool} ({shown.waits_for.id})"))
    if shown.pending_calls:
        rows.append(("unanswered", ", ".join(shown.pending_calls)))
    for name, value in rows:
        out.line(f"{name + ':':<12} {value}")


def _finish(shown: Any) -> str:
    """The reason that is known last; the pause for a person is one of them, and stands there until the next answer."""
    decided = shown.status == "in-progress" and shown.finish_reason == "awaiting-approval"
    return f"{shown.finish_reason}, decided" if decided else str(shown.finish_reason)


def _message(out: Output, number: int, message: Any, *, content: bool) -> None:
    label = f"[{number}] {message.role}"
    if message.role == "tool":
        label += f" {message.tool_name or ''} {message.tool_call_id or ''}" + (" error" if message.is_error else "")
    out.line(label.rstrip(), "bold")
    text = message.content if isinstance(message.content, str) else "\n".join(map(_part, message.content))
    if text:
        _indented(out, text if content else _length(text))
    for call in message.tool_calls:
        _indented(out, f"-> {call.name}({call.arguments if content else '…'}) {call.id}")


def _part(part: Any) -> str:
    if hasattr(part, "text"):
        return str(part.text)
    data = part.image if hasattr(part, "image") else part.data
    return f"<{part.mime_type or 'image'}, {len(data)} characters>"


def _indented(out: Output, text: str) -> None:
    for line in text.split("\n"):
        out.line(f"  {line}")


def _length(text: str) -> str:
    return "1 character" if len(text) == 1 else f"{len(text)} characters"
