"""Whoever keeps the claims of a store: the collector may drop one at any moment, on any thread, whatever that was about."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from lousho_cli.stores.lease import Terms
from lousho_cli.stores.lease_keeper import LeaseKeeper
from lousho_cli.stores.machine import steady
from lousho_cli.stores.row_claim import Held, RowClaim


class Keeper(LeaseKeeper[RowClaim, None]):
    """One whose database is always there."""

    def renewed(self, claims: Sequence[RowClaim]) -> set[RowClaim]:
        return set()

    def freed(self, frees: Sequence[Callable[[None], object]]) -> None:
        for free in frees:
            free(None)


@pytest.fixture
def keeper() -> Iterator[Keeper]:
    made = Keeper()
    yield made
    made.stop()


def a_claim(no: int = 1, forgotten: Callable[[object], None] = lambda _claim: None) -> RowClaim:
    return RowClaim(Terms(f"log-{no}", "here", 30_000, None, steady()), Held(no, "token", 1), forgotten)


def rests(keeper: Keeper) -> bool:
    """Whether its thread has seen to all there was."""
    thread = keeper._thread
    frame = sys._current_frames().get(thread.ident or 0) if thread is not None else None
    return frame is not None and frame.f_code.co_name == "_rest" and keeper._woken.empty()


@pytest.mark.parametrize("others", [0, 1])
def test_a_log_is_freed_though_its_claim_was_dropped_while_another_thread_was_in_the_keeper(keeper: Keeper, others: int) -> None:
    freed = threading.Event()
    stays = [a_claim(no) for no in range(2, 2 + others)]
    dropped = [a_claim(1, lambda _claim: keeper.free_later(lambda _hand: freed.set()))]
    for claim in (*stays, *dropped):
        keeper.add(claim)
    del claim
    while not rests(keeper):
        pass
    with keeper._lock:
        dropping = threading.Thread(target=dropped.clear)
        dropping.start()
        dropping.join()
    assert freed.wait(8), "it was left to the end of its lease"


def test_the_claims_can_be_looked_through_while_others_are_taken(keeper: Keeper) -> None:
    taken = [a_claim(no) for no in range(3000)]
    taking = threading.Thread(target=lambda: [keeper.add(claim) for claim in taken])
    switches = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        taking.start()
        while taking.is_alive():
            keeper.held()
    finally:
        sys.setswitchinterval(switches)
        taking.join()
    assert len(keeper.held()) == len(taken)
    for claim in taken:
        claim.released = True
