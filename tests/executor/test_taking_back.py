"""Taking back an input that waits in a session that nobody drives."""

from __future__ import annotations

from typing import Any

import msgspec

from lousho_cli.core.entering import InputBody
from lousho_cli.core.pending import has_work
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import user
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.session_log import SessionLog
from lousho_cli.executor.taking_back import take_back_input
from lousho_cli.ports.sessions import read_session


async def test_an_input_that_its_owner_recorded_and_did_not_clear_away_is_taken_back(log_stores: Any, bench: Any) -> None:
    await bench.run(log_stores, bench.Model("done"))
    store = log_stores.log_store
    log = await SessionLog.open(store, "s", "host", SYSTEM_CLOCK)
    await log.record(r.InputReceived("k", (user("And"),)))
    await log.close()
    await store.post("s", Post("k", "input", SYSTEM_CLOCK.now(), None, msgspec.to_builtins(InputBody((user("And"),)))))

    await take_back_input(store, "s", "k")

    session = await read_session(store, "s")
    assert (session.inputs["k"].outcome, session.waiting) == ("aborted", ())
    assert await store.inbox("s") == ()


async def test_a_wake_stands_when_an_input_is_taken_back(log_stores: Any, bench: Any) -> None:
    await bench.run(log_stores, bench.Model("done"))
    store, later = log_stores.log_store, "2100-01-01T00:00:00.000Z"
    log = await SessionLog.open(store, "s", "host", SYSTEM_CLOCK)
    await log.record(r.InputReceived("k", (user("And"),)), r.InputReceived("l", (user("Then"),)))
    await log.close(later)

    await take_back_input(store, "s", "k")

    head = await store.head("s")
    assert head is not None
    assert (head.wake_at, len(head.outline.waiting), has_work(head, SYSTEM_CLOCK.now())) == (later, 1, False)


async def test_to_record_nothing_writes_nothing(log_stores: Any, bench: Any) -> None:
    await bench.run(log_stores, bench.Model("done"))
    log = await SessionLog.open(log_stores.log_store, "s", "host", SYSTEM_CLOCK)
    head = log.seq
    await log.record()
    await log.close()
    assert (await log_stores.log_store.read("s")).head == head
