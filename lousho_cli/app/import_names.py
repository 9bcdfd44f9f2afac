"""The ids that imported sessions get here, and the setting that marks them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lousho_cli.core.session_ids import MAX_LENGTH

ORIGIN = "lousho.origin"
"""The setting that says where an imported session comes from, and how much of it is here."""

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]", re.ASCII)
_MOST = 99


def session_name(was: str) -> str:
    """An id as it can be one here: what may not stand in one becomes a dash."""
    return _NOT_IN_IDS.sub("-", was).lstrip(".-")


def names_for(was: str) -> Iterator[str]:
    """The ids that a session may get, the first choice first."""
    name = session_name(was)[:MAX_LENGTH] or "imported"
    yield name
    for number in range(2, _MOST):
        yield f"{name[: MAX_LENGTH - 3]}-{number}"
