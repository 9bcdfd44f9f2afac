"""``lousho config``: where each setting came from."""

from __future__ import annotations

import typer

from lousho_cli.app.hostile_text import json_line
from lousho_cli.cli.face import face_of

EXAMPLES = ("lousho config           each setting, its value, and who said so",)


def run(ctx: typer.Context) -> None:
    """Show each setting and where it came from: flag, environment, the project's file, the user's file, default."""
    from lousho_cli.app.config import explain_settings

    face = face_of(ctx)
    settings = explain_settings({"store": face.store})
    rows = [
        (one.name, "-" if one.value is None else one.value if isinstance(one.value, str) else json_line(one.value), one.source, one.where)
        for one in settings
    ]
    face.answer(settings, text=lambda: face.out.table(("SETTING", "VALUE", "SOURCE", "WHERE"), rows))
