"""A family of forks as the lines of a tree: which branch left which, and at what step. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lousho_cli.app.families import Member


class Branch(NamedTuple):
    """One line. ``stem``: the lines that lead to it; ``left``: where it left, in words; ``here``: it is the session that is shown.

    name: its id, without that of its parent, below which it stands.
    """

    id: str
    name: str
    stem: str
    left: str
    state: str
    here: bool
    gone: bool


def branches(members: Sequence[Member], session_id: str) -> tuple[Branch, ...]:
    """The lines of a family; none for a session that is alone."""
    if len(members) <= 1:
        return ()
    ids = {member.id for member in members}
    below: dict[str | None, list[Member]] = {}
    for member in members:
        parent = member.parent if member.parent in ids and member.parent != member.id else None
        below.setdefault(parent, []).append(member)
    for forks in below.values():
        forks.sort(key=lambda one: (one.left_at is None, one.left_at or 0, one.id))
    found: list[Branch] = []
    waiting = [(member, "", True, True) for member in reversed(below.get(None, ()))]
    seen: set[str] = set()
    while waiting:
        member, stem, last, top = waiting.pop()
        if member.id in seen:
            continue
        seen.add(member.id)
        own = "" if top else f"{stem}{'└─' if last else '├─'} "
        found.append(Branch(member.id, _name(member), own, _left(member), _state(member), member.id == session_id, member.gone))
        under = "" if top else f"{stem}{'   ' if last else '│  '}"
        forks = below.get(member.id, [])
        waiting.extend((fork, under, at == len(forks) - 1, False) for at, fork in reversed(list(enumerate(forks))))
    return tuple(found)


def _name(member: Member) -> str:
    parent = member.parent
    return member.id.removeprefix(parent) if parent and member.id.startswith(f"{parent}.") else member.id


def _left(member: Member) -> str:
    if member.parent is None or member.gone:
        return ""
    return f"from step {member.left_at}" if member.left_at is not None else "fork"


def _state(member: Member) -> str:
    if member.gone:
        return "gone"
    if member.outcome in {"failed", "aborted"}:
        return str(member.outcome)
    return {"finished": "done", "awaiting-approval": "waits", "in-progress": "did not end"}[member.status] + f", step {member.step}"
