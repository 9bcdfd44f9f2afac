"""What a resume is going to do, before it does it; and the verdict of ``resume --check``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.cli.exits import Exit, code_of
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
    """Says on stderr which calls will run, which need a person, and which were started and are not repeated."""
    if check.again:
        face.err.note(f"will run again: {_calls(check.again)}")
    first = [call for call in check.will_run if call not in check.again]
    if first:
        face.err.note(f"will run: {_calls(first)}")
    unsure = [call for call in check.may_ask if call not in check.again]
    if unsure:
        face.err.note(f"will run, or may ask: {_calls(unsure)}")
    if check.will_ask:
        face.err.note(f"will ask a person: {_calls(check.will_ask)}")
    if check.in_doubt:
        face.err.note(f"was started and is not repeated; the model is told that nobody knows how it ended: {_calls(check.in_doubt)}")
    if check.background:
        face.err.note(f"goes on in the background: {', '.join(check.background)}")


def check_text(out: Output, check: Any) -> None:
    """The verdict and what stands behind it."""
    out.line(f"{check.session}: {'nothing is pending' if check.nothing_pending else _MEANINGS[check.verdict]}", "bold")
    if check.missing_tools:
        out.line(f"  missing:         {', '.join(check.missing_tools)}")
    if check.drift is not None:
        out.line(f"  changed:         {check.drift.describe()}")
    for label, calls in _listed(check):
        for call in calls:
            out.line(f"  {label + ':':<17}{call.name} {call.id} {call.arguments}")
    if check.background:
        out.line(f"  in background:   {', '.join(check.background)}")
    for input_id in check.inputs:
        out.line(f"  takes up:        input {input_id}")
    if check.approval_id is not None:
        out.line(f"  waits for:       {check.approval_id}")
    if check.first_request_tokens is not None:
        out.line(f"  first request:   about {check.first_request_tokens} tokens")


def _listed(check: Any) -> Sequence[tuple[str, Sequence[Any]]]:
    return (
        ("in doubt", check.in_doubt),
        ("will run again", [call for call in (*check.will_run, *check.may_ask) if call in check.again]),
        ("will run", [call for call in check.will_run if call not in check.again]),
        ("may ask", [call for call in check.may_ask if call not in check.again]),
        ("will ask", check.will_ask),
        ("waits behind it", check.behind),
    )


def _calls(calls: Sequence[Any]) -> str:
    return ", ".join(f"{call.name} ({call.id})" for call in calls)


def checked_all(face: Face, found: Sequence[Any]) -> int:
    """Shows what ``resume --all`` would do, and gives the code of the gravest verdict; an error goes before all of them."""
    checks = [one for one in found if hasattr(one, "verdict")]
    failed = [one for one in found if not hasattr(one, "verdict")]
    for one in failed:
        body = face.error_body(one.error)
        about = "" if body["message"].startswith(f"session {one.session} ") else f"session {one.session}: "
        face.err.warning(f"{about}{body['message']} [{body['code']}] {body['hint']}".rstrip())

    def text() -> None:
        for check in checks:
            check_text(face.out, check)
        if not found:
            face.out.line("nothing is pending")

    data = [*checks, *({"session": one.session, "error": face.error_body(one.error)} for one in failed)]
    face.answer(data, text=text, quiet=[f"{check.session} {check.verdict}" for check in checks])
    codes = [code_of(one.error) for one in failed] or [CODES[verdict] for verdict in CODES if any(one.verdict == verdict for one in checks)]
    return codes[0] if codes else Exit.DONE
