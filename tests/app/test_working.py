"""What a worker says and does of sessions that it can not go on with, in this process."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.app import asking
from lousho_cli.app.worked import Standing, Status, Worked, WorkOrder
from lousho_cli.app.working import Worker
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import user
from lousho_cli.errors import SessionBusyError, StorageError
from lousho_cli.executor.abort import AbortController
from lousho_cli.stores.memory import MemoryStore


class Seen:
    """A view that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[Worked] = []
        self.warned: list[str] = []

    def say(self, what: Worked) -> None:
        self.said.append(what)

    def stand(self, standing: Standing) -> None: ...

    def report(self, status: Status) -> None: ...

    def warn(self, text: str, *, again: bool = False) -> None:
        self.warned.append(text)

    def tell(self, text: str) -> None: ...


class Unwritable(MemoryStore):
    """A store whose sessions can be read, and not be taken. ``error`` is why."""

    error: Exception | None = None

    async def claim(self, *arguments: Any, **options: Any) -> Any:
        if self.error is not None:
            raise self.error
        return await super().claim(*arguments, **options)


@pytest.fixture
async def store() -> Unwritable:
    """A store with a session of the demo ``trip`` whose run has begun."""
    made = Unwritable()
    claim = await made.claim("s", "there")
    begins = (r.InputReceived("in-1", (user("Plan"),)), r.InputApplied("in-1"), r.RunStarted("in-1"))
    await made.append(claim, [r.Batch(1, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Claimed("there"), r.Created("trip"), *begins))])
    await made.release(claim)
    return made


async def test_what_can_be_read_and_not_be_taken_is_left(store: Unwritable) -> None:
    store.error = StorageError("the disk is read-only")
    view = Seen()
    worker = Worker(store, WorkOrder(once=True), view)
    await worker.work(AbortController().signal)
    assert [(one.type, one.session) for one in view.said] == [("left", "s")]
    assert worker.stuck


async def test_what_somebody_else_took_first_is_not_named(store: Unwritable) -> None:
    taken = await store.claim("s", "there")
    store.error = SessionBusyError("s", "there")
    view = Seen()
    worker = Worker(store, WorkOrder(once=True), view)
    given, store.owner = store.owner, free  # type: ignore[method-assign, assignment]

    async def claim(*_: Any, **__: Any) -> Any:
        store.owner = given  # type: ignore[method-assign]
        raise SessionBusyError("s", "there")

    store.claim = claim  # type: ignore[method-assign]
    await worker.work(AbortController().signal)
    assert (view.said, worker.stuck) == ([], False)
    await store.release(taken)


async def test_one_that_works_once_waits_for_its_store_too(store: Unwritable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_FIRST_S", 0.01)
    pending, tries = store.pending, 0

    async def not_yet(*arguments: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries < 3:
            error = StorageError("the server is starting up")
            error.retryable = True
            raise error
        return await pending(*arguments)

    store.pending = not_yet  # type: ignore[method-assign]
    view = Seen()
    await Worker(store, WorkOrder(once=True), view).work(AbortController().signal)
    assert [one.type for one in view.said] == ["taken", "settled", "given-back"]


async def free(_: str) -> None:
    """Nobody drives it, as it looked a moment ago."""
