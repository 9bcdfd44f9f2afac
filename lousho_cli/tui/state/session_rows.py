"""The sessions as rows: each one's state by sign and word, and which rows stand in which order. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple

import msgspec

from lousho_cli.app.looking_on import SessionsNow
from lousho_cli.app.results import PendingItem
from lousho_cli.app.sessions import Listed

Mood = Literal["runs", "waits", "stopped", "unasked", "done", "failed", "aborted", "damaged", "cleared"]
"""The state of a session in one word, which has a sign and a colour."""

SIGNS: dict[Mood, str] = {
    "runs": "▶",
    "waits": "?",
    "stopped": "‖",
    "unasked": "…",
    "done": "✓",
    "failed": "✗",
    "aborted": "■",
    "damaged": "!",
    "cleared": "·",
}

WORDS: dict[Mood, str] = {
    "runs": "running",
    "waits": "waits for a person",
    "stopped": "did not end",
    "unasked": "not looked at yet",
    "done": "done",
    "failed": "failed",
    "aborted": "aborted",
    "damaged": "damaged",
    "cleared": "only its history is kept",
}
"""What each state is called where there is nothing more to say."""

Sort = Literal["newest", "id", "agent", "state", "step"]
SORTS: tuple[Sort, ...] = ("newest", "id", "agent", "state", "step")

Group = Literal["none", "agent", "family"]
GROUPS: tuple[Group, ...] = ("none", "agent", "family")

_RANK: dict[Mood, int] = {
    "waits": 0,
    "runs": 1,
    "damaged": 2,
    "failed": 3,
    "stopped": 4,
    "unasked": 5,
    "aborted": 6,
    "done": 7,
    "cleared": 8,
}


class Row(msgspec.Struct, frozen=True):
    """One session as it is listed.

    note: what it waits for, or why it ended, in words of others. found: what a filter looks in.
    listed, driven, asked: what the row was made of.
    """

    id: str
    mood: Mood
    agent: str = ""
    step: int = 0
    updated_at: str = ""
    note: str = ""
    parent: str | None = None
    found: str = ""
    listed: Listed | None = None
    driven: str | None = None
    asked: bool = True


class Sessions(msgspec.Struct, frozen=True):
    """All sessions of a store as rows, newest first, and everything that waits for a person, oldest first.

    ``left``: so many are still to be read.
    """

    rows: tuple[Row, ...] = ()
    pending: tuple[PendingItem, ...] = ()
    left: int = 0


class Line(NamedTuple):
    """A line of the list: a row, ``depth`` levels down in its family; or, without one, the heading of a group."""

    row: Row | None
    depth: int = 0
    heading: str = ""


class View(msgspec.Struct, frozen=True):
    """How the person wants to see the list."""

    words: str = ""
    sort: Sort = "newest"
    group: Group = "none"


def sessions_of(now: SessionsNow, before: Mapping[str, Row] = {}) -> Sessions:
    """What was read, as rows: the damaged ones first, then newest first.

    Args:
        before: the rows as they were, by id; one whose session has not changed is taken from there.
    """
    damaged = [
        Row(id=session_id, mood="damaged", note=detail.rpartition("/log.jsonl: ")[2], found=f"{session_id}\n{detail}\ndamaged".casefold())
        for session_id, detail in now.listing.damaged
    ]
    rows = []
    for session in now.listing.sessions:
        driven, asked = now.driven.by.get(session.id), session.id not in now.driven.unasked
        known = before.get(session.id)
        same = known is not None and (known.listed is session and known.driven == driven and known.asked == asked)
        rows.append(known if known is not None and same else row_of(session, driven, asked=asked))
    return Sessions((*damaged, *rows), now.pending, now.left)


def row_of(session: Listed, driven: str | None, *, asked: bool = True) -> Row:
    """One session as a row. ``driven``: who drives it, in words. ``asked``: whether that is known."""
    mood = mood_of(session, driven=driven is not None, asked=asked)
    note = _note(session, mood, driven)
    waits = session.waits_for
    found = "\n".join((session.id, session.agent, mood, note, waits.id if waits else "")).casefold()
    return Row(session.id, mood, session.agent, session.step, session.updated_at, note, session.parent, found, session, driven, asked)


def mood_of(session: Listed, *, driven: bool, asked: bool = True) -> Mood:
    """The state of a session in one word."""
    if session.waits_for is not None:
        return "waits"
    if session.cleared:
        return "cleared"
    if driven:
        return "runs"
    if session.outcome == "failed":
        return "failed"
    if session.outcome == "aborted":
        return "aborted"
    if session.status == "finished":
        return "done"
    return "stopped" if asked else "unasked"


def _note(session: Listed, mood: Mood, driven: str | None) -> str:
    waits = session.waits_for
    if waits is not None:
        return asked(waits)
    if mood == "runs":
        return f"by {driven}"
    return session.error or WORDS[mood]


def summary(sessions: Sessions) -> str:
    """How many sessions there are, and of those that matter now how many."""
    counts = Counter(row.mood for row in sessions.rows)
    counted = len(sessions.rows) + sessions.left
    said = [f"{counted} session{'' if counted == 1 else 's'}"]
    said += [f"{SIGNS[mood]} {counts[mood]} {word}" for mood, word in _TOLD if counts[mood]]
    said += ["reading …"] if sessions.left else []
    return "  ".join(said)


_TOLD: tuple[tuple[Mood, str], ...] = (("waits", "waiting"), ("runs", "running"), ("stopped", "unfinished"), ("damaged", "damaged"))


def asked(item: PendingItem) -> str:
    """What is wanted of the person, in a few words."""
    return item.question or (f"approve {item.named_tool}" if item.kind == "tool" else f"{item.kind}: {item.named_tool}")


def lines_of(sessions: Sessions, view: View) -> tuple[Line, ...]:
    """The lines of the list: those that hold every word of the filter, sorted, under headings where they are grouped."""
    rows: Sequence[Row] = sessions.rows
    for word in view.words.casefold().split():
        rows = [row for row in rows if word in row.found]
    rows = _sorted(rows, view.sort)
    if view.group == "agent":
        return _by_agent(rows)
    if view.group == "family":
        return _by_family(rows)
    return tuple(map(Line, rows))


def _sorted(rows: Sequence[Row], sort: Sort) -> Sequence[Row]:
    if sort in ("id", "agent"):
        return sorted(rows, key=attrgetter(sort))
    if sort == "state":
        return sorted(rows, key=lambda row: _RANK[row.mood])
    if sort == "step":
        return sorted(rows, key=lambda row: -row.step)
    return rows


def _by_agent(rows: Sequence[Row]) -> tuple[Line, ...]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.agent or "no agent", []).append(row)
    return tuple(
        line for name, held in groups.items() for line in (Line(None, heading=f"{name} ({len(held)})"), *(Line(row) for row in held))
    )


def _by_family(rows: Sequence[Row]) -> tuple[Line, ...]:
    """Forks below what they were forked from, where that is listed too; a family stands where the first of it would."""
    there = {row.id: row for row in rows}
    children: dict[str, list[Row]] = {}
    for row in rows:
        if row.parent is not None and row.parent in there:
            children.setdefault(row.parent, []).append(row)
    lines: list[Line] = []
    placed: set[str] = set()
    for row in rows:
        todo = [] if row.id in placed else [(_eldest(row, there), 0)]
        while todo:
            one, depth = todo.pop()
            if one.id in placed:
                continue
            placed.add(one.id)
            lines.append(Line(one, depth))
            todo.extend((child, depth + 1) for child in reversed(children.get(one.id, ())))
    return tuple(lines)


def _eldest(row: Row, there: Mapping[str, Row]) -> Row:
    """The one that a session comes from in the end; itself where its parents go in a circle."""
    seen = {row.id}
    one = row
    while one.parent is not None and (above := there.get(one.parent)) is not None:
        if above.id in seen:
            return row
        seen.add(above.id)
        one = above
    return one
