"""``lousho doctor``: whether this installation can work."""

from __future__ import annotations

import typer

from lousho_cli.cli.exits import Exit
from lousho_cli.cli.face import face_of

EXAMPLES = ("lousho doctor           Python, packages, the store, provider keys (set or not)",)


def run(ctx: typer.Context) -> int:
    """Look at the installation: Python, packages, the store, and which provider keys are set (never their values)."""
    from lousho_cli.app.doctor import examine

    face = face_of(ctx)
    checks = examine(face.store)
    face.answer(
        checks,
        text=lambda: face.out.table(("CHECK", "STATE", "DETAIL"), [(check.name, check.state, check.detail) for check in checks]),
        quiet=[check.name for check in checks if check.state == "fail"],
    )
    return Exit.FAILED if any(check.state == "fail" for check in checks) else Exit.DONE
