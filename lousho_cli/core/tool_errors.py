"""What a model reads when a call gave no result: one JSON object, whatever went wrong.

Always there: ``error`` (a short name), ``toolName``, ``message`` (no stack, cut at
``MESSAGE_LIMIT``) and ``kind``; ``toolCallId`` where the call is known, and what a kind
adds: ``issues``, ``note``, ``reason``. The kind says what may help: another argument,
another tool, asking again, or leaving it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol

from lousho_cli.domain import texts
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import json_text

ErrorKind = Literal["execution", "validation", "not-found", "rejected", "not-run", "denied", "mcp", "sandbox"]

DEFAULT_NAMES: dict[ErrorKind, str] = {
    "execution": "Error",
    "validation": "ToolArgumentsValidationError",
    "not-found": "ToolNotFoundError",
    "rejected": "ToolRejectedError",
    "not-run": "ToolNotRunError",
    "denied": "ToolDeniedError",
    "mcp": "McpToolError",
    "sandbox": "SandboxRequiredError",
}

MESSAGE_LIMIT = 2000
"""Characters of a message that reach the model."""

CUT_MARK = "… [cut]"
"""Stands behind a message that was longer."""


class IssueLike(Protocol):
    """One thing wrong with the arguments: a dotted path and what."""

    @property
    def path(self) -> str: ...

    @property
    def message(self) -> str: ...


def tool_error(
    kind: ErrorKind,
    tool_name: str,
    message: str,
    *,
    error: str | None = None,
    tool_call_id: str | None = None,
    **extras: Any,
) -> str:
    """The JSON text of a failed call's result.

    Args:
        kind: what went wrong; gives ``error`` its name where none is given.
        message: what happened, for the model; cut at ``MESSAGE_LIMIT`` characters.
        extras: further keys. One that is None is left out; none can replace a key above.
    """
    said = message if len(message) <= MESSAGE_LIMIT else message[:MESSAGE_LIMIT] + CUT_MARK
    body: dict[str, Any] = {"error": error or DEFAULT_NAMES[kind], "toolName": tool_name, "message": said, "kind": kind}
    if tool_call_id is not None:
        body["toolCallId"] = tool_call_id
    reserved = {*body, "toolCallId"}
    body |= {key: value for key, value in extras.items() if key not in reserved and value is not None}
    return json_text(body)[0]


def execution(call: ToolCall, name: str, message: str) -> str:
    """The tool raised; ``name`` is that of the error."""
    return _of(call, "execution", message or name or "The tool failed.", error=name)


def declared(call: ToolCall, name: str, message: str, kind: object) -> str:
    """The tool raised an error that says itself which kind it is; one that says nothing known is ``execution``."""
    known: ErrorKind = next((one for one in DEFAULT_NAMES if one == kind), "execution")
    return _of(call, known, message or name or "The tool failed.", error=name)


def validation(call: ToolCall, issues: Iterable[IssueLike]) -> str:
    """The arguments do not fit the tool's schema; the tool did not run."""
    found = [{"path": issue.path, "message": issue.message} for issue in issues]
    listed = "; ".join(f"{issue['path']}: {issue['message']}" for issue in found)
    return _of(call, "validation", f"The arguments are not valid. {listed}", issues=found)


def not_found(call: ToolCall, available: Sequence[str]) -> str:
    """No tool has this name. Says the nearest name first, then all of them."""
    import difflib

    nearest = difflib.get_close_matches(call.name, available, n=1)
    said = [f'There is no tool "{call.name}".']
    if nearest:
        said.append(f'Did you mean "{nearest[0]}"?')
    said.append(f"Available: {', '.join(sorted(available))}." if available else "No tools are available.")
    return _of(call, "not-found", " ".join(said))


def rejected(call: ToolCall, note: str | None = None, text: str = texts.REJECTED_TOOL_RESULT) -> str:
    """A person rejected the call; ``note`` is the reason given, if any."""
    return _of(call, "rejected", text, note=note)


def declined(call: ToolCall, note: str | None = None, text: str = texts.DECLINED_ANSWER_RESULT) -> str:
    """A person did not want to answer a question."""
    return _of(call, "rejected", text, note=note)


def denied(call: ToolCall, reason: str) -> str:
    """A rule or the tool's own check refused the call."""
    return _of(call, "denied", f"This call was denied: {reason}" if reason else "This call was denied.", reason=reason or None)


def expired(call: ToolCall, text: str = texts.EXPIRED_TOOL_RESULT) -> str:
    """The approval was decided too late."""
    return _of(call, "denied", text, reason="approval expired")


def cancelled(call: ToolCall, text: str = texts.CANCELLED_TOOL_RESULT) -> str:
    """The run was aborted before the call had a result."""
    return _of(call, "not-run", text)


def not_run(call: ToolCall, text: str = texts.NOT_RUN_TOOL_RESULT) -> str:
    """The call was never started and will not be."""
    return _of(call, "not-run", text)


def truncated(call: ToolCall, text: str = texts.TRUNCATED_TOOL_RESULT) -> str:
    """The answer that asked for the call was cut off, so its arguments can not be trusted."""
    return _of(call, "not-run", text)


def interrupted(call: ToolCall, text: str = texts.INTERRUPTED_TOOL_RESULT) -> str:
    """The call was started and nobody knows how it ended: not ``not-run``, it may have taken effect."""
    return _of(call, "execution", text, error="ToolInterruptedError")


def _of(call: ToolCall, kind: ErrorKind, message: str, *, error: str | None = None, **extras: Any) -> str:
    return tool_error(kind, call.name, message, error=error, tool_call_id=call.id, **extras)
