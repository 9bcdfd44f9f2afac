"""What is wrong with the arguments of a call."""

from __future__ import annotations

import msgspec


class Issue(msgspec.Struct, frozen=True, gc=False):
    """One thing: a dotted path (``(root)`` for the whole) and what is wrong there."""

    path: str
    message: str
