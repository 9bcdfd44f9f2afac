"""``lousho trim``: make the log of a session short."""

from __future__ import annotations

from typing import Any

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import DryRun, Force, Session, Yes

EXAMPLES = (
    "lousho trim trip --dry-run     how long its log is, and how long it would be",
    "lousho trim trip               asks, then keeps its state and its checkpoints alone",
    "lousho trim trip --yes         without asking, for scripts",
)


def run(ctx: typer.Context, session: Session, dry_run: DryRun = False, yes: Yes = False, force: Force = False) -> int:
    """Replace the log of a session by its state. The transcript and every checkpoint stay, and it can go on.

    Points by SESSION#SEQ before its end are gone, and a short log may get longer. One that waits for a person is refused
    unless --force is given.
    """
    face = face_of(ctx)
    if dry_run:
        from lousho_cli.app.sync import run_now

        return run_now(lambda: _trim(face, session, dry_run=True, yes=yes, force=force))
    import asyncio

    return asyncio.run(_trim(face, session, dry_run=False, yes=yes, force=force))


async def _trim(face: Face, name: str, *, dry_run: bool, yes: bool, force: bool) -> int:
    from lousho_cli.app.trimming import plan_trim, trim

    store, plan = await plan_trim(face.open_store(create=False), name, force=force)
    if plan.needless:
        _answer(face, plan, f"nothing to trim in {plan.session}: its log is one record of {plan.bytes_before} bytes already")
        return Exit.DONE
    if plan.bytes_after > plan.bytes_before:
        face.err.note("its log is short: what it adds up to is longer")
    if dry_run:
        _answer(face, plan, f"would trim {_what(plan)}")
        return Exit.DONE
    if not yes and not face.confirm(f"Trim {_what(plan)}?", flag="--yes"):
        face.err.note("nothing was trimmed")
        return Exit.FAILED
    done = await trim(store, plan, force=force)
    _answer(face, done, f"trimmed {_what(done)}")
    return Exit.DONE


def _answer(face: Face, found: Any, said: str) -> None:
    face.answer(found, text=lambda: face.out.line(said), quiet=found.session)


def _what(found: Any) -> str:
    kept = f"{found.checkpoints} checkpoint{'' if found.checkpoints == 1 else 's'} kept"
    return f"{found.session}: {found.batches} records to 1, {found.bytes_before} bytes to {found.bytes_after} ({kept})"
