"""What a resume is going to do, before it does it; and the verdict of ``resume --check``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face
from lousho_cli.cli.output import Output

CODES = {
    "missing-tool": Exit.DRIFT,
    "drift": Exit.DRIFT,
    "in-doubt": Exit.IN_DOUBT,
    "needs-person": Exit.WAITS,
    "safe": Exit.DONE,
}
"""The exit code of each verdict."""

_MEANINGS = {
    "missing-tool": "refused: the agent no longer has a tool that a pending call needs",
    "drift": "refused: the agent changed, and that is an error here",
    "in-doubt": "in doubt: a call was started, has no result, and is not known to be safe to repeat",
    "needs-person": "a person must decide first",
    "safe": "safe to resume",
}


def say_ahead(face: Face, check: Any) -> None:
    """Says on stderr which calls will run, and which were started and are not repeated."""
    if check.again:
        face.err.note(f"will run again: {_calls(check.again)}")
    first = [call for call in check.will_run if call not in check.again]
    if first:
        face.err.note(f"will run: {_calls(first)}")
    if check.in_doubt:
        face.err.note(f"was started and is not repeated; the model is told that nobody knows how it ended: {_calls(check.in_doubt)}")


def check_text(out: Output, check: Any) -> None:
    """The verdict and what stands behind it."""
    out.line(f"{check.session}: {'nothing is pending' if check.nothing_pending else _MEANINGS[check.verdict]}", "bold")
    if check.missing_tools:
        out.line(f"  missing:        {', '.join(check.missing_tools)}")
    if check.drift is not None:
        out.line(f"  changed:        {check.drift.describe()}")
    for call in check.in_doubt:
        out.line(f"  in doubt:       {call.name} {call.id} {call.arguments}")
    for call in check.will_run:
        out.line(f"  will run{' again' if call in check.again else '      '}:  {call.name} {call.id} {call.arguments}")
    if check.approval_id is not None:
        out.line(f"  waits for:      {check.approval_id}")
    if check.first_request_tokens is not None:
        out.line(f"  first request:  about {check.first_request_tokens} tokens")


def _calls(calls: Sequence[Any]) -> str:
    return ", ".join(f"{call.name} ({call.id})" for call in calls)
