"""A store with a few sessions in every state, the same to the byte each time: fixed times, fixed ids."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Fingerprint
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.messages import Message, ToolCall, user
from lousho_cli.domain.usage import CallUsage
from lousho_cli.stores.file.store import FileStore

NOW = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
"""The time at which the sample is looked at."""

Records = Sequence[r.Record]


async def write(store: Any, session: str, batches: Sequence[tuple[str, Records]]) -> None:
    """Appends batches, each with its time, as an owner would."""
    claim = await store.claim(session, "desk")
    head = (await store.read(session)).head
    for number, (at, records) in enumerate(batches, 1):
        first = [r.Claimed("desk")] if number == 1 else []
        await store.append(claim, [r.Batch(head + number, claim.epoch, at, (*first, *records))])
    await store.save_head(claim, head_of(fold((await store.read(session)).batches)))
    await store.release(claim)


def at(minute: int, second: int = 0, *, hour: int = 11) -> str:
    return f"2026-01-02T{hour:02}:{minute:02}:{second:02}.000Z"


def begins(agent: str, text: str, *tools: str, minute: int = 0, hour: int = 11) -> tuple[str, Records]:
    """The first batch of a session."""
    started = r.RunStarted(
        "in-1", fingerprint=Fingerprint("0123456789abcdef"), offered=tools, agent_id=agent, model="small", instructions=f"You are {agent}."
    )
    return at(minute, hour=hour), [r.Created(agent), r.InputReceived("in-1", (user(text),)), r.InputApplied("in-1"), started]


def turn(text: str, step: int, *calls: ToolCall, used: tuple[int, int] = (40, 12)) -> list[r.Record]:
    """An answer that asks for tools, with its mark."""
    return [r.Turn(Message("assistant", text, tool_calls=calls), "tool_calls", "small", CallUsage(*used)), r.Mark(step)]


def ends(text: str, step: int, used: tuple[int, int] = (60, 8)) -> list[r.Record]:
    """The last answer, with its mark."""
    last = r.Turn(Message("assistant", text), "stop", "small", CallUsage(*used))
    return [last, r.Mark(step, "finished", "stop"), r.InputSettled("in-1", "completed")]


def call(name: str, **args: Any) -> ToolCall:
    return ToolCall(f"call_{name}", name, json.dumps(args))


async def sample(folder: Path) -> Path:
    """Writes the sample below ``folder``; gives the store's folder."""
    store = FileStore(folder / ".lousho")
    weather = call("weather", city="Lisbon")
    sun, rain = '{"city":"Lisbon","forecast":"sun","degrees":24}', '{"city":"Lisbon","forecast":"rain","degrees":15}'
    asked = [begins("trip", "Plan two days in Lisbon", "weather", minute=10), (at(10, 2), turn("Let me look at the weather.", 1, weather))]
    result = (at(10, 4), [r.ToolStarted("call_weather"), r.ToolFinished("call_weather", sun), r.Mark(1)])
    await write(store, "trip", [*asked, result, (at(10, 9), ends("# Sunny\n\nTake the **coast**: tram 28, then the cliff path.", 2))])
    before = fold((await store.read("trip")).batches[:2])
    forked = r.Forked("trip", 2, 1, state_from(before), patch=("tool_result",))
    wet = [r.ToolFinished("call_weather", rain), r.Mark(1)]
    await write(store, "trip.fork-1", [(at(12), [forked]), (at(12, 1), wet), (at(12, 6), ends("Rain: take the museum day.", 2))])
    book = ToolCall("call_book", "book_table", '{"place":"Cervejaria","people":4,"at":"20:30"}')
    args = {"place": "Cervejaria", "people": 4, "at": "20:30"}
    wait = PendingApproval(
        "7f3a9c1e2b4d",
        "call_book",
        "book_table",
        args,
        "5f2c8e0d9a1b3c4d",
        at(31),
        expires_at="2026-01-05T11:31:00.000Z",
        session_id="booking",
    )
    mark = r.Mark(1, "awaiting-approval", "awaiting-approval", wait.id)
    await write(
        store,
        "booking",
        [
            begins("booking", "Book a table for four", "book_table", minute=30),
            (at(30, 3), turn("", 1, book)),
            (at(31), [r.WaitOpened(wait), mark]),
        ],
    )
    await write(
        store,
        "report",
        [
            begins("report", "Write the weekly report", "search", minute=1),
            (at(1, 5), turn("", 1, call("search", words="sales"))),
            (at(1, 9), [r.ToolFinished("call_search", '{"error":"quota"}', is_error=True), r.Mark(1)]),
            (at(2), [r.InputSettled("in-1", "failed", error="the model could not be reached")]),
        ],
    )
    await write(
        store,
        "import",
        [
            begins("import", "Import the files", "read", minute=50),
            (at(50, 9), turn("I read them one by one.", 1, call("read", path="a.csv"))),
        ],
    )
    await write(
        store,
        "old",
        [begins("trip", "Plan a week", minute=0, hour=3), (at(1, hour=3), [r.InputSettled("in-1", "aborted")])],
    )
    return folder / ".lousho"
