"""Two sessions side by side as a page to look at in a browser."""

from __future__ import annotations

from typing import Any

import msgspec

from lousho_cli.app.comparing import Compared
from lousho_cli.app.showing import Point
from lousho_cli.pages.comparison import side_by_side
from lousho_cli.pages.document import page

MOST_CHANGES = 500
"""Differences that stand in the list; the sides have all of them."""


def comparison_page(names: tuple[str, str], compared: Compared, points: tuple[Point, Point]) -> str:
    """The page of a comparison, as one HTML text.

    Args:
        names: what the sides were called. points: what that meant.
    """
    shown = compared.changes[:MOST_CHANGES]
    data: dict[str, Any] = {
        "names": names,
        "diverged_at": compared.diverged_at,
        "mode": compared.mode,
        "matches": compared.matches,
        "compared": side_by_side(compared.a, compared.b),
        "changes": [{"kind": change.kind, "text": change.describe()} for change in shown],
        "more": len(compared.changes) - len(shown),
        "drift": compared.drift,
        "usage": {
            side: msgspec.to_builtins(used) | {"steps": _steps(point)}
            for side, used, point in (("a", compared.usage.a, points[0]), ("b", compared.usage.b, points[1]))
        },
    }
    return page("diff", f"{names[0]} and {names[1]} · lousho diff", data)


def _steps(point: Point) -> list[dict[str, int]]:
    used = point.loaded.session.step_usage if point.mark is None else point.mark.step_usage
    return [{"step": step.step, "tokens": step.total_tokens} for step in used]
