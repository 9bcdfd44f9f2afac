"""The nearest right name for a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

WRITTEN, TYPED = 0.6, 0.75
"""How alike a name has to be to be offered: for one in a file, where it is often a part of the right one (``cached`` for ``cached_input``),
and for a word of a command line, where a wrong offer helps less than none."""


def nearest(name: str, known: Iterable[str], alike: float = WRITTEN) -> str | None:
    """The known name that ``name`` was probably meant to be; None when none is so much alike."""
    names = {candidate.lower().replace("-", "_"): candidate for candidate in known}
    found = get_close_matches(name.lower().replace("-", "_"), names, n=1, cutoff=alike)
    return names[found[0]] if found else None
