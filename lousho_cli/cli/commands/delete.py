"""``lousho delete``: remove a session."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import DryRun, Force, Session, Yes

EXAMPLES = (
    "lousho delete trip                    asks, then removes the session",
    "lousho delete trip --yes              without asking, for scripts",
    "lousho delete trip --keep-history     its checkpoints stay (list --all names it); the next message starts over",
)


def run(
    ctx: typer.Context,
    session: Session,
    keep_history: Annotated[bool, typer.Option("--keep-history", help="Keep its checkpoints.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    force: Force = False,
) -> int:
    """Remove a session, and the background agents it has started. What waits for a person is refused unless --force is given."""
    import asyncio

    return asyncio.run(_delete(face_of(ctx), session, keep_history=keep_history, dry_run=dry_run, yes=yes, force=force))


async def _delete(face: Face, name: str, *, keep_history: bool, dry_run: bool, yes: bool, force: bool) -> int:
    from lousho_cli.app.deleting import delete, plan_deletion

    store = face.open_store(create=False)
    plan = await plan_deletion(store, name, keep_history=keep_history, force=force)
    agents = "background agent" if len(plan.agents) == 1 else f"{len(plan.agents)} background agents"
    beside = f", with its {agents}" if plan.agents else ""
    messages = f"{plan.messages} message{'' if plan.messages == 1 else 's'}"
    what = f"session {plan.session} ({messages}{', its history is kept' if keep_history else ''}{beside})"
    if dry_run:
        face.answer(plan, text=lambda: face.out.line(f"would delete {what}"), quiet=plan.session)
        return Exit.DONE
    if not yes and not face.confirm(f"Delete {what}?", flag="--yes"):
        face.err.note("nothing was deleted")
        return Exit.FAILED
    done = await delete(store, plan)
    face.answer(done, text=lambda: face.out.line(f"deleted {what}"), quiet=plan.session)
    return Exit.DONE
