"""The ring, the same on every store that keeps one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lousho_cli.errors import RangeError
from lousho_cli.executor.histories import get_checkpoint_history

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def saves(kind: Any, bench: Any, count: int, first: int = 1) -> None:
    for step in range(first, first + count):
        await kind.checkpoints.save("s", bench.checkpoint(step))


async def steps(kind: Any, limit: int | None = None) -> list[int]:
    entries = await get_checkpoint_history(kind.checkpoints, "s", limit)
    return [entry.step for entry in entries]


async def test_de_077_an_entry_has_all_its_parts(ringed: Any, bench: Any) -> None:
    await ringed.checkpoints.save("s", bench.checkpoint(3, status="finished", business_state={"k": [1]}))
    (entry,) = await get_checkpoint_history(ringed.again().checkpoints, "s")
    assert (entry.step, entry.status) == (3, "finished")
    assert ISO.fullmatch(entry.saved_at)
    assert entry.checkpoint == await ringed.saved()
    assert entry.checkpoint.business_state == {"k": [1]}


async def test_de_079_a_limit_keeps_the_newest(ours: Any, bench: Any) -> None:
    ours.again(history_limit=3)
    await saves(ours, bench, 5)
    assert await steps(ours.again(history_limit=3)) == [5, 4, 3]


async def test_de_080_160_fifty_when_not_said_and_none_for_0(ours: Any, bench: Any) -> None:
    await saves(ours, bench, 52)
    assert await steps(ours.again()) == list(range(52, 2, -1))
    await ours.checkpoints.delete("s")
    ours.again(history_limit=0)
    await saves(ours, bench, 2)
    assert await steps(ours) == []
    assert (await ours.saved()).step_index == 2


@pytest.mark.parametrize("limit", [-1, 1.5, "3", True])
async def test_de_081_160_a_wrong_limit_is_refused(ours: Any, limit: Any) -> None:
    with pytest.raises(RangeError) as raised:
        ours.again(history_limit=limit)
    assert raised.value.field == "history_limit"


async def test_de_082_an_unknown_session_has_none(ringed: Any) -> None:
    assert await get_checkpoint_history(ringed.checkpoints, "nobody") == []


async def test_de_084_delete_clears_it_unless_told(ours: Any, bench: Any) -> None:
    await saves(ours, bench, 2)
    await ours.checkpoints.delete("s", keep_history=True)
    assert await ours.saved() is None
    assert await steps(ours.again()) == [2, 1]
    await ours.checkpoints.delete("s")
    assert await steps(ours.again()) == []
    await ours.checkpoints.delete("s")
    await ours.checkpoints.delete("never-there", keep_history=True)


async def test_de_085_a_save_behind_a_kept_ring_extends_it(ours: Any, bench: Any) -> None:
    await saves(ours, bench, 2)
    await ours.checkpoints.delete("s", keep_history=True)
    await saves(ours.again(), bench, 1, first=7)
    assert await steps(ours) == [7, 2, 1]


async def test_de_086_an_entry_can_not_change_what_is_stored(ours: Any, bench: Any) -> None:
    given = bench.checkpoint(1, business_state={"a": [1]})
    await ours.checkpoints.save("s", given)
    given.business_state["a"].append(2)
    (entry,) = await ours.checkpoints.history("s")
    entry.checkpoint.business_state["a"].append(3)
    loaded = await ours.saved()
    loaded.business_state["a"].append(4)
    assert (await ours.saved()).business_state == {"a": [1]}
    assert (await ours.again().checkpoints.history("s"))[0].checkpoint.business_state == {"a": [1]}


async def test_de_087_one_entry_a_save(ringed: Any, bench: Any) -> None:
    first = await bench.run(ringed)
    await bench.approve(ringed.again(), first.approval_id)
    entries = await get_checkpoint_history(ringed.again().checkpoints, "s")
    ends = [(entry.status, bench.shape(entry.checkpoint.messages)[-1]) for entry in reversed(entries)]
    assert ends == [
        ("in-progress", "w"),  # the turn that asks
        ("in-progress", "w"),  # its result
        ("in-progress", "n+b"),
        ("in-progress", "n"),
        ("awaiting-approval", "n"),
        ("in-progress", "n"),  # decided
        ("in-progress", "b"),
        ("finished", "Booked."),
    ]


async def test_de_159_a_limit_gives_the_newest(ringed: Any, bench: Any) -> None:
    await saves(ringed, bench, 4)
    assert await steps(ringed, 2) == [4, 3]
    assert await steps(ringed, 0) == []
    assert await steps(ringed, 99) == [4, 3, 2, 1]


async def test_de_170_a_session_saved_before_its_store_kept_history(ours: Any, bench: Any) -> None:
    await saves(ours.again(history_limit=0), bench, 1)
    ours.again()
    assert await steps(ours) == []
    await saves(ours, bench, 1, first=2)
    assert await steps(ours) == [2]
    assert (await ours.saved()).step_index == 2


async def test_sessions_do_not_mix(ours: Any, bench: Any) -> None:
    """Names that differ only in case, or that begin with one another, are sessions of their own."""
    names = ["s", "S", "s1", "s.history", "s-1"]
    for step, name in enumerate(names, 1):
        await ours.checkpoints.save(name, bench.checkpoint(step))
    ours.again()
    assert [(await ours.saved(name)).step_index for name in names] == [1, 2, 3, 4, 5]
    await ours.checkpoints.delete("S")
    assert [(await ours.saved(name)) is None for name in names] == [False, True, False, False, False]
    assert [len(await ours.checkpoints.history(name)) for name in names] == [1, 0, 1, 1, 1]
