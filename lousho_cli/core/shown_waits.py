"""What a list shows of things that wait for a person: one pause, and what calls that run ask meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.heads import WaitsFor

Places = tuple[tuple[str, ...], ...]
"""For each thing that is asked, the calls that lead to it."""


def waits_for(approval: PendingApproval) -> WaitsFor:
    """What a list shows of something that waits."""
    question = approval.question
    return WaitsFor(
        id=approval.id,
        tool=approval.tool_name,
        args=approval.args,
        digest=approval.digest,
        created_at=approval.created_at,
        kind=approval.kind,
        expires_at=approval.expires_at,
        path=approval.path,
        question=question.text if question else None,
        options=question.options if question else (),
        allow_free_text=question.allow_free_text if question else True,
        url=question.url if question else None,
        reason=approval.reason,
        step=approval.step,
        schema=question.schema if question else None,
    )


def shown_asks(asks: Iterable[PendingApproval]) -> tuple[tuple[WaitsFor, ...], Places]:
    """What running code asks, as a list shows it."""
    asked = tuple(asks)
    return tuple(map(waits_for, asked)), tuple(approval.place for approval in asked)


def asked(asks: tuple[WaitsFor, ...], places: Places, approval: PendingApproval) -> tuple[tuple[WaitsFor, ...], Places]:
    """The same once ``approval`` is asked, in place of what was asked before where it is."""
    asks, places = kept(asks, places, lambda ask, place: (place, ask.step) != (approval.place, approval.step) and ask.id != approval.id)
    return (*asks, waits_for(approval)), (*places, approval.place)


def kept(
    asks: tuple[WaitsFor, ...], places: Places, keep: Callable[[WaitsFor, tuple[str, ...]], bool]
) -> tuple[tuple[WaitsFor, ...], Places]:
    """Those that ``keep`` says are still asked."""
    pairs = [(ask, place) for ask, place in zip(asks, places, strict=True) if keep(ask, place)]
    return tuple(ask for ask, _ in pairs), tuple(place for _, place in pairs)
