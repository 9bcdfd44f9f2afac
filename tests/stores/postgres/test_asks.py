"""What a host asks the server for a session that it drives: nothing that it knows already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from lousho_cli.app.worked import WorkOrder
from lousho_cli.app.working import Worker
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.executor.abort import AbortController
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.store import PostgresStore

AT = "2026-01-01T00:00:00.000Z"


class Unseen:
    """Who is shown nothing of what a worker does."""

    def __init__(self) -> None:
        self.types: list[str] = []

    def say(self, what: Any) -> None:
        self.types.append(what.type)

    def stand(self, standing: Any) -> None: ...

    def report(self, status: Any) -> None: ...

    def warn(self, text: str, *, again: bool = False) -> None: ...

    def tell(self, text: str) -> None: ...


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each function of the server was called."""
    counts: Counter[str] = Counter()
    real = Hand.call

    def counting(self: Hand, function: str, *values: Any) -> Any:
        counts[function] += 1
        return real(self, function, *values)

    monkeypatch.setattr(Hand, "call", counting)
    return counts


async def test_driving_a_session_asks_for_its_head_once_and_for_its_inbox_three_times(store: PostgresStore, asked: Counter[str]) -> None:
    claim = await store.claim("s", "there")
    begins = (r.InputReceived("in-1", (user("Plan"),)), r.InputApplied("in-1"), r.RunStarted("in-1"))
    batch = r.Batch(1, claim.epoch, AT, (r.Claimed("there"), r.Created("trip"), *begins))
    await store.append(claim, [batch])
    await store.save_head(claim, head_of(fold([batch])))
    await store.release(claim)
    asked.clear()
    view = Unseen()
    await Worker(store, WorkOrder(once=True), view).work(AbortController().signal)
    assert view.types == ["taken", "settled", "given-back"]
    assert (asked["heads_of"], asked["take_free"], asked["read_log"]) == (1, 1, 1)
    assert asked["inbox_of"] == 3, "as it takes it, before it gives it back, and behind that"
    assert asked["owner_of"] == asked["end_of"] == 0


async def test_an_owner_that_is_told_of_nothing_does_not_look(
    store: PostgresStore, url: str, opened: Callable[..., PostgresStore], asked: Counter[str]
) -> None:
    await store.claim("s", "here")
    assert await store.wait_for_post("s", 1) is False
    await opened(url).post("s", Post("p", "abort", AT))
    assert await store.wait_for_post("s", 30_000) is True
    assert asked["inbox_of"] == 0
