"""How a run came back, as text, as an envelope, and as an exit code. The last line on stderr goes on from here."""

from __future__ import annotations

from typing import Any

from lousho_cli.app.hostile_text import json_line, one_line
from lousho_cli.cli.exits import Exit, code_of, code_of_run
from lousho_cli.cli.face import Face
from lousho_cli.cli.render.progress import RunView
from lousho_cli.cli.render.usage import in_short

_ENDS = {
    "max-steps": "the run came to its limit of steps",
    "budget-exceeded": "the run came to its limit",
    "timeout": "the run came to its limit of time",
    "guardrail": "a guardrail stopped the run",
}


def finish(face: Face, view: RunView, ran: Any) -> int:
    """Shows a run that came back and gives its exit code."""
    view.close()
    done = ran.done
    for warning in ran.warnings:
        face.err.warning(warning)
    if face.json:
        failed = {"error": _failure(face, ran)} if ran.failure is not None else {}
        face.out.document(face.command, {"data": done, **failed, "warnings": face.err.warnings})
    elif face.quiet and done.approval_id is not None:
        face.out.line(done.approval_id)
    elif done.text and (face.quiet or not view.has_shown(done.text)):
        face.out.line(done.text)
    face.out.flush()
    talk(face, ran)
    return exit_of(ran)


def talk(face: Face, ran: Any) -> None:
    """What stderr says at the end."""
    done = ran.done
    if done.usage.all.model_calls:
        face.err.note(f"{done.session}: {done.steps} step{'' if done.steps == 1 else 's'}, {in_short(done.usage.all)}")
    if ran.failure is not None:
        body = _failure(face, ran)
        face.err.error(body["message"], body["code"], body["hint"])
        face.err.traceback(ran.failure)
    elif ran.stopped:
        face.err.note("stopped; everything up to here is saved")
    elif done.outcome == "aborted":
        face.err.note("aborted; everything up to here is saved")
    elif done.approval_id is not None:
        waits_for(face, done.session, ran.waits)
    elif done.finish_reason in _ENDS:
        face.err.note(_ENDS[done.finish_reason] + _why(done))
    if ran.next:
        face.err.note(ran.next)


def _why(done: Any) -> str:
    """What stopped a run, behind the words for it."""
    if done.budget is not None and done.budget.limit == "max_duration_ms":
        return f" of {done.budget.max / 1000:g} s"
    if done.budget is not None:
        used = "what it used is not known" if done.budget.value is None else f"it used {done.budget.value:g}"
        return f" {done.budget.limit} of {done.budget.max:g}: {used}"
    if done.guardrail is not None:
        return f": {one_line(done.guardrail.name)}, {one_line(done.guardrail.reason)}"
    return ""


def waits_for(face: Face, session: str, waits: Any) -> None:
    """What a person is to decide: the tool with its arguments, or the question."""
    if waits is None:
        face.err.note(face.named(f"session {session} waits for a person; see: lousho pending"))
        return
    if waits.question is not None:
        options = f" [{', '.join(waits.options)}]" if waits.options else ""
        what = "you to sign in" if waits.kind == "sign-in" else "an answer"
        face.err.note(f"session {session} waits for {what}: {one_line(waits.question)}{options}")
    else:
        why = f", because {one_line(waits.reason)}" if waits.reason else ""
        face.err.note(f"session {session} waits for a person: {waits.named_tool} {json_line(waits.args)}{why}")
    face.err.note(f"  id {waits.id}, digest {waits.digest}{f', expires {waits.expires_at}' if waits.expires_at else ''}")


def _failure(face: Face, ran: Any) -> dict[str, Any]:
    body = face.error_body(ran.failure)
    told = ran.done.error
    if told is not None and told.code:
        body |= {"code": told.code, "message": told.message}
    if body["code"] == "LOUSHO_TOOL_STOPPED_RUN":
        body["hint"] = "The tool asked for this; its call has no result and runs again with the next resume."
    return body | {"session": ran.done.session, "step": ran.done.steps}


def exit_of(ran: Any) -> int:
    """The exit code of a run that came back."""
    done = ran.done
    if ran.failure is not None:
        return code_of(ran.failure)
    if ran.stopped:
        return Exit.STOPPED
    if ran.interrupted and done.status == "in-progress":
        return Exit.ABORTED
    return code_of_run(done.status, done.finish_reason, done.outcome)
