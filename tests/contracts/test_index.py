"""Every log store keeps these promises: lists without transcripts, and posts for the owner."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.heads import Post
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.errors import InputRejectedError
from lousho_cli.ports.log_store import LogStore

MakeBatch = Callable[..., r.Batch]

WAIT = PendingApproval("ap-1", "c1", "book", {"when": "8pm"}, "0123", "2026-01-01T00:00:00.000Z")


def story(batch: MakeBatch, epoch: int = 1) -> list[r.Batch]:
    """A run that comes to wait for a person."""
    turn = Message("assistant", "", (ToolCall("c1", "book"), ToolCall("c2", "look")))
    return [
        batch(1, epoch, r.Claimed("here"), r.Created("booking", tenant="t")),
        batch(2, epoch, r.InputReceived("i", (user("book"),)), r.InputApplied("i"), r.RunStarted("i")),
        batch(3, epoch, r.Turn(turn), r.Mark(1)),
        batch(4, epoch, r.WaitOpened(WAIT), r.Mark(1, "awaiting-approval", approval_id="ap-1")),
    ]


async def test_heads_say_what_the_fold_says(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    batches = story(batch)
    for number, one in enumerate(batches, 1):
        await store.append(claim, [one])
        expected = msgspec.structs.replace(head_of(fold(batches[:number])), id="trip")
        assert (await store.heads()).heads == (expected,)
        assert await store.head("trip") == expected
    assert (await store.heads()).damaged == ()


async def test_a_stale_head_hides_no_approval(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    batches = story(batch)
    await store.append(claim, batches[:3])
    await store.save_head(claim, head_of(fold(batches[:3])))
    (head,) = (await store.heads()).heads
    assert head.waits_for is None
    await store.append(claim, batches[3:])
    (head,) = (await store.heads()).heads
    assert head.status == "awaiting-approval"
    assert head.waits_for is not None
    assert (head.waits_for.id, head.waits_for.args) == ("ap-1", {"when": "8pm"})


async def test_a_session_without_records_is_in_no_list(store: LogStore) -> None:
    await store.claim("trip", "here")
    await store.post("other", Post("p", "abort", "now"))
    assert (await store.heads()).heads == ()
    assert await store.head("trip") is None


async def test_a_wake_is_seen_in_the_list(store: LogStore, batch: MakeBatch) -> None:
    claim = await store.claim("trip", "here")
    batches = story(batch)
    await store.append(claim, batches)
    await store.save_head(claim, head_of(fold(batches)))
    await store.release(claim, "2026-02-02T00:00:00.000Z")
    head = await store.head("trip")
    assert head is not None
    assert head.wake_at == "2026-02-02T00:00:00.000Z"


async def test_posts_come_in_order_and_once(store: LogStore) -> None:
    ids = [f"{9 - number}-Input/{number}" for number in range(8)]
    for post_id in ids:
        await store.post("trip", Post(post_id, "input", "2026-01-01T00:00:00.000Z", "me", {"text": post_id}))
    again = Post(ids[0], "input", "2026-01-01T00:00:09.000Z", "me", {"text": ids[0]})
    await store.post("trip", again)
    found = await store.inbox("trip")
    assert [post.id for post in found] == ids
    assert found[0].body == {"text": ids[0]}
    await store.discard("trip", [ids[0], ids[3], "never there"])
    assert [post.id for post in await store.inbox("trip")] == [i for i in ids if i not in (ids[0], ids[3])]


async def test_a_post_with_the_id_of_another_is_refused(store: LogStore) -> None:
    await store.post("trip", Post("p", "input", "now", body=("a", {"b": 1})))
    await store.post("trip", Post("p", "input", "later", body=["a", {"b": 1}]))
    with pytest.raises(InputRejectedError):
        await store.post("trip", Post("p", "input", "now", body="other"))
    assert len(await store.inbox("trip")) == 1
