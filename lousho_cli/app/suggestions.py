"""The nearest right name for a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` was probably meant to be; None when none is near."""
    names = {candidate.lower().replace("-", "_"): candidate for candidate in known}
    found = get_close_matches(name.lower().replace("-", "_"), names, n=1, cutoff=0.6)
    return names[found[0]] if found else None
