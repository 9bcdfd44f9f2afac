"""Which sessions have work that a host may take: told from the head alone."""

from __future__ import annotations

from lousho_cli.domain.heads import Head


def has_work(head: Head, now: str) -> bool:
    """Whether a session has a run that was left open, an input that may begin, or a wake that is due. Who owns it is not asked.

    One that waits for a person has none, and an input that ended failed or aborted is never run again.
    """
    if head.wake_at is not None and head.wake_at <= now:
        return True
    if head.waits_for is not None:
        return False
    runs = head.run > 0 and head.status == "in-progress" and head.outcome is None
    return runs or bool(head.outline.waiting)
