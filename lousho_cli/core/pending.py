"""Which sessions have work that a host may take: told from the head alone."""

from __future__ import annotations

from lousho_cli.domain.heads import Head
from lousho_cli.domain.records import FORMAT


def has_work(head: Head, now: str) -> bool:
    """Whether a session has a run that was left open, an input that may begin, or a wake that is due. Who owns it is not asked.

    One that waits for a person has none, and an input that ended failed or aborted is never run again. One that was given
    back with a wake has none before that, and one that a newer version wrote none for this one.
    """
    if is_newer(head):
        return False
    if head.wake_at is not None:
        return head.wake_at <= now
    if head.wake is not None and head.wake <= now:
        return True
    if head.waits_for is not None:
        return False
    runs = head.run > 0 and head.status == "in-progress" and head.outcome is None
    return runs or bool(head.outline.waiting)


def is_newer(head: Head) -> bool:
    """Whether a newer version wrote a session, so that this one may not go on with it."""
    return bool(head.unknown) or head.format > FORMAT


def held_up(head: Head) -> bool:
    """Whether a host found work in a session that it could not go on with, and nobody has since. ``error`` says why."""
    return head.error is not None and head.outcome in (None, "completed")


def to_look_after(agent: Head | None, now: str) -> bool:
    """Whether a background agent that nobody was told the end of wants to be looked after: it never began, was left, or has ended.

    One that waits for a person does not, nor does one that only waits for agents of its own.
    """
    if agent is None or agent.run == 0 or has_work(agent, now):
        return True
    return agent.outcome is not None and not any(agent.agents.values())
