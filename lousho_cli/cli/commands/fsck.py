"""``lousho fsck``: whether the logs are whole."""

from __future__ import annotations

from typing import Annotated

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import Face, face_of
from lousho_cli.cli.options import MaybeSession

EXAMPLES = (
    "lousho fsck              looks through every log; writes nothing",
    "lousho fsck --repair     writes a damaged log anew from what stands; the old one is kept",
)


def run(
    ctx: typer.Context,
    session: MaybeSession = None,
    repair: Annotated[bool, typer.Option("--repair", help="Write damaged logs anew from what stands.")] = False,
) -> int:
    """Check the stored sessions. Exit 10 when one is damaged; void lines, which a crash may leave, are only named."""
    import asyncio

    return asyncio.run(_fsck(face_of(ctx), session, mend=repair))


async def _fsck(face: Face, name: str | None, *, mend: bool) -> int:
    from lousho_cli.app.checking import check, repair
    from lousho_cli.cli.render.findings import findings_table

    store = face.open_store(create=False)
    checked = await check(store, name)
    if mend and store is not None and not checked.sound:
        checked = await repair(store, checked)
    face.answer(checked.findings, text=lambda: findings_table(face.out, checked), quiet=[one.session for one in checked.findings])
    for session_id, path in checked.repaired:
        face.err.note(f"repaired {session_id}; its old log is kept as {path}")
    return Exit.DONE if checked.sound else Exit.CHECK_FAILED
