"""Which sessions have work that a host may take, and in which order: told from the heads alone."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lousho_cli.domain.heads import Head
from lousho_cli.domain.records import FORMAT


def has_work(head: Head, now: str) -> bool:
    """Whether a session has a run that was left open, an input that may begin, or a wake that is due. Who owns it is not asked.

    One that waits for a person has none, and an input that ended failed or aborted is never run again. A fork has none before
    somebody went on with it by name: what it would run has mostly run before, in its source. One that was given back with a
    wake has none before that, and one that is off limits none at all.
    """
    if off_limits(head):
        return False
    if head.wake_at is not None:
        return head.wake_at <= now
    if head.wake is not None and head.wake <= now:
        return True
    if head.waits_for is not None:
        return False
    return (_is_open(head) and head.attempts > 0) or bool(head.outline.waiting)


def _is_open(head: Head) -> bool:
    return head.run > 0 and head.status == "in-progress" and head.outcome is None


def off_limits(head: Head) -> bool:
    """Whether nobody here may go on with a session by himself: a newer version wrote it, or not all of it was imported."""
    return bool(head.unknown) or head.format > FORMAT or head.importing


def held_up(head: Head) -> bool:
    """Whether a host found work in a session that it could not go on with, and nobody has since. ``error`` says why."""
    return head.error is not None and head.outcome in (None, "completed")


def may_have_work(head: Head | None, now: str, *, held: bool) -> bool:
    """Whether there may be something to do in a session; agents of its own are looked after by who drives it.

    Args:
        held: also where it was given back to be taken up only later, and where it is a fork that nobody went on with yet.
    """
    if head is None:
        return False
    is_fork = _is_open(head) and head.waits_for is None and not off_limits(head)
    return has_work(head, now) or (held and (held_up(head) or is_fork)) or bool(head.agents)


def to_look_after(agent: Head | None, now: str) -> bool:
    """Whether a background agent that nobody was told the end of wants to be looked after: it never began, was left, or has ended.

    One that waits for a person does not, nor does one that only waits for agents of its own.
    """
    if agent is None or agent.run == 0 or has_work(agent, now):
        return True
    return agent.outcome is not None and not agent.agents


def lane_of(head: Head) -> str:
    """What a session shares its turns with: the others of its tenant and agent. Sorted as text, no two lanes are the same."""
    return msgspec.json.encode([head.tenant or "", head.agent]).decode()


def lane_end(agent: str) -> str:
    """What the lanes of an agent end in, and those of no other."""
    return f",{msgspec.json.encode(agent).decode()}]"


def in_turn(heads: Iterable[Head], after: str | None = None) -> list[Head]:
    """Sessions in the order in which they should be taken: one of each lane, round and round, and of each the longest untouched first.

    Args:
        after: the lane whose turn was last; it begins with the one behind.
    """
    lanes: dict[str, list[Head]] = {}
    for head in sorted(heads, key=lambda head: (head.updated_at, head.id)):
        lanes.setdefault(lane_of(head), []).append(head)
    turns = sorted(lanes, key=lambda lane: (after is not None and lane <= after, lane))
    placed = [(round_, place, head) for place, lane in enumerate(turns) for round_, head in enumerate(lanes[lane])]
    return [head for _, _, head in sorted(placed, key=lambda one: one[:2])]
