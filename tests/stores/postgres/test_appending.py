"""What is appended is what was given, whatever it is made of, one session alone and several in one statement."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.errors import OwnershipLostError
from lousho_cli.stores.postgres.appending import Append, append_all
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.logs import lines_of
from lousho_cli.stores.postgres.store import PostgresStore

Open = Callable[..., PostgresStore]
AT = "2026-01-01T00:00:00.000Z"
TEXTS = ('"', "\\", "\\\\\"{},'", "\0 and \x1f", "ä€😀", "NULL", "", "{}", "$1 %s %b {s}", "x" * 100_000)


def note(seq: int, epoch: int, text: str) -> r.Batch:
    return r.Batch(seq, epoch, AT, (r.Note("test", text),))


@pytest.mark.parametrize("encoding", ["", "&client_encoding=LATIN1"], ids=["plain", "latin1"])
async def test_every_text_is_kept_alone_and_in_company(url: str, opened: Open, encoding: str) -> None:
    store = opened(url + encoding)
    claims = [await store.claim(f"s{number}", "here") for number in range(4)]
    for seq, text in enumerate(TEXTS, 1):
        await store.append(claims[0], [note(seq, 1, text)])
        await asyncio.gather(*(store.append(claim, [note(2 * seq - 1, 1, text), note(2 * seq, 1, text)]) for claim in claims[1:]))
    for number in range(4):
        batches = (await opened(url).read(f"s{number}")).batches
        assert [batch.seq for batch in batches] == list(range(1, len(batches) + 1))
        assert [batch.records[0].text for batch in batches] == [text for text in TEXTS for _ in range(1 if number == 0 else 2)]  # type: ignore[union-attr]


@pytest.mark.parametrize("lines", [1, 3])
async def test_of_several_only_the_one_that_lost_its_log_is_refused(url: str, opened: Open, sql: Any, lines: int) -> None:
    store = opened(url)
    claims = [await store.claim(f"s{number}", "here") for number in range(3)]
    sql("UPDATE {s}.logs SET epoch = 2, owner = 'other' WHERE id = 's1'")
    batches = [note(seq, 1, "x") for seq in range(1, lines + 1)]
    done = await asyncio.gather(*(store.append(claim, batches) for claim in claims), return_exceptions=True)
    assert [type(one) for one in done] == [type(None), OwnershipLostError, type(None)]
    assert [(await store.read(f"s{number}")).head for number in range(3)] == [lines, 0, lines]
    assert sql("SELECT count(*) FROM {s}.records") == [(2 * lines,)]


async def test_what_need_not_be_durable_is_so_once_it_is_flushed(url: str, opened: Open) -> None:
    store = opened(url)
    claims = [await store.claim(f"s{number}", "here") for number in range(3)]
    await asyncio.gather(*(store.append(claim, [note(1, 1, "x")], durable=False) for claim in claims))
    assert [(await store.read(f"s{number}")).synced for number in range(3)] == [0, 0, 0]
    await asyncio.gather(*(store.flush(claim) for claim in claims))
    found = [await store.read(f"s{number}") for number in range(3)]
    assert [(one.head, one.epoch, one.synced) for one in found] == [(1, 1, None)] * 3


@pytest.mark.parametrize("many", [1, 2], ids=["one", "some"])
async def test_a_plan_for_few_logs_does_for_many(url: str, opened: Open, many: int) -> None:
    store = opened(url)
    claims = [await store.claim(f"s{number}", "here") for number in range(many)]

    def append(hand: Hand, seq: int) -> None:
        lines = lines_of((note(seq, 1, "x"),))
        assert append_all(hand, [Append(claim, seq - 1, lines, True) for claim in claims]) == [None] * many

    def looked_at(hand: Hand) -> int:
        """How many rows were read without an index, on a connection that planned its appends early."""
        hand.run("ANALYZE {s}.logs")
        for seq in range(1, 11):
            append(hand, seq)
        hand.run("INSERT INTO {s}.logs (id) SELECT 'other-' || n FROM generate_series(1, 2000) n")
        with hand.transaction():
            append(hand, 11)
            ((read,),) = hand.rows("SELECT pg_stat_get_xact_tuples_returned('{s}.logs'::regclass)")
        return int(read)

    assert await store.database.run(looked_at) == 0
