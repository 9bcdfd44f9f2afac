"""``lousho abort``: stop a run, and its background agents, from outside."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import face_of
from lousho_cli.cli.options import Session

EXAMPLES = (
    "lousho abort trip          asks its owner to stop; without an owner it is settled here",
    "lousho abort trip --now    takes over from an owner that stays silent",
)


def run(
    ctx: typer.Context,
    session: Session,
    now: Annotated[bool, typer.Option("--now", help="Take over from an owner that stays silent for its lease.")] = False,
) -> int:
    """Stop a run and its background agents. Open calls get cancelled results, and it counts as aborted; resume by name still goes on."""
    import asyncio

    from lousho_cli.app.aborting import abort

    face = face_of(ctx)
    done = asyncio.run(abort(face.store, session, face.err.note, now=now))
    face.answer(done, text=lambda: face.out.line(_said(done)), quiet=done.session)
    if done.by is None and done.next_input:
        face.err.note(face.named(f"lousho inputs {done.session} --drop {done.next_input}"))
    return Exit.DONE


def _said(done: Any) -> str:
    if not done.agents:
        return _said_of_run(done)
    agents = f"its background agents were aborted: {', '.join(done.agents)}"
    return f"{done.session} does not run; {agents}" if done.by is None else f"{_said_of_run(done)}; {agents}"


def _said_of_run(done: Any) -> str:
    if done.by is None:
        waits = f"; input {done.next_input} waits, and has its turn once somebody takes it" if done.next_input else ""
        return f"{done.session}: there is nothing to abort{waits}"
    if done.outcome != "aborted":
        return f"{done.session} came to its own end before it could be aborted: {done.outcome or done.status}"
    if done.by == "owner":
        behind = f"; input {done.next_input}, which waited behind it, has its turn now" if done.next_input else ""
        return f"{done.session} was aborted by its owner{behind}"
    how = f"it was taken over from {done.taken_from}" if done.taken_from else "nobody was driving it"
    return f"{done.session} was aborted here; {how}"
