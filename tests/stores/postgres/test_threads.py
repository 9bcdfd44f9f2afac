"""Where the system gives no further thread, a claim is refused, and who has one goes on writing."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Post
from lousho_cli.errors import StorageError
from lousho_cli.stores.postgres.store import PostgresStore

AT = "2026-01-01T00:00:00.000Z"


def refuse(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


async def test_a_claim_is_refused_and_who_has_one_goes_on(
    store: PostgresStore, batch: Callable[..., r.Batch], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(StorageError, match="can't start new thread") as raised:
            await store.claim("trip", "here")
        assert (raised.value.code, bool(raised.value.hint)) == ("LOUSHO_NO_THREAD", True)
    claim = await store.claim("trip", "here")
    assert claim.epoch == 1
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        await store.append(claim, [batch(1)])
        assert await store.wait_for_post("trip", 1), "nobody looks: who waits has to"
        await store.post("trip", Post("p", "abort", AT))
        assert [post.id for post in await store.inbox("trip")] == ["p"]
    await store.append(claim, [batch(2)])
    await store.release(claim)
    assert (await store.read("trip")).head == 2
