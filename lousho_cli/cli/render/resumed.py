"""What ``resume --all`` did: a line a session, and one exit code for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.cli.exits import Exit, code_of
from lousho_cli.cli.face import Face
from lousho_cli.cli.render.progress import RunView
from lousho_cli.cli.render.run_end import exit_of
from lousho_cli.cli.render.usage import SPEND, columns


def resumed_all(face: Face, view: RunView, done: Sequence[Any]) -> int:
    """Shows each session and gives the code: the first that is an error, else 4 where one waits, else 0."""
    view.close()
    ran = [one for one in done if hasattr(one, "done")]
    failed = [one for one in done if not hasattr(one, "done")]
    for one in failed:
        body = face.error_body(one.error)
        about = "" if body["message"].startswith(f"session {one.session} ") else f"session {one.session}: "
        face.err.warning(f"{about}{body['message']} [{body['code']}] {body['hint']}".rstrip())
    for one in ran:
        for warning in one.warnings:
            face.err.warning(warning)
    rows = [_row(one) for one in ran]
    data = [*(one.done for one in ran), *({"session": one.session, "error": face.error_body(one.error)} for one in failed)]

    def text() -> None:
        if rows:
            face.out.table(("SESSION", "STATUS", "OUTCOME", "STEP", *SPEND, "NEXT"), rows)
        elif not failed:
            face.out.line("nothing is pending")

    face.answer(data, text=text, quiet=[one.done.session for one in ran])
    codes = [*(exit_of(one) for one in ran), *(code_of(one.error) for one in failed)]
    return next((code for code in codes if code not in (Exit.DONE, Exit.WAITS)), max(codes, default=Exit.DONE))


def _row(one: Any) -> tuple[str, ...]:
    done = one.done
    return done.session, done.status, done.outcome or "-", str(done.steps), *columns(done.usage.all), one.next
