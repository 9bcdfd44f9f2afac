"""A session to which everything happened that a ring tells of, and one that is very long; the same to the byte each time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import AgentDrift, Fingerprint
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.messages import ImagePart, Message, Reasoning, TextPart, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.stores.file.store import FileStore
from tests.tui.sample import Records, at, write

TOOLS = ("weather", "trains", "book_table")
PRINT = Fingerprint("0f1e2d3c4b5a6978", {"weather": "aa11bb22cc33dd44", "trains": "1122334455667788"}, "9a8b7c6d5e4f3021", "small")
LATER = Fingerprint(
    "ffeeddccbbaa9988",
    {"weather": "aa11bb22cc33dd44", "trains": "99887766aabbccdd", "book_table": "5566778899aabbcc"},
    "9a8b7c6d5e4f3021",
    "large",
)

PLAN = """# Two days in Lisbon

Start **early**: the _Alfama_ is steep, see [the map](https://example.org/map "a map").

| when | where | cost |
|---|---|---|
| morning | Tram 28 | 3 € |
| noon | Cervejaria | 24 € |

1. Walk down to the river
2. Take the train:
   - every 20 minutes
   - from Cais do Sodré

```python
def fare(day):
    return 2.30 if day else 1.90
```

> Bring a jacket for the evening.

![Tower of Belém](https://example.org/belem.jpg)
"""


async def write_as(store: FileStore, session: str, host: str, batches: Sequence[tuple[str, Records]]) -> None:
    """Appends batches under a new claim of a host, as one that takes over would."""
    claim = await store.claim(session, host)
    head = (await store.read(session)).head
    for number, (when, records) in enumerate(batches, 1):
        first = [r.Claimed(host)] if number == 1 else []
        await store.append(claim, [r.Batch(head + number, claim.epoch, when, (*first, *records))])
    await store.save_head(claim, head_of(fold((await store.read(session)).batches)))
    await store.release(claim)


def _turn(text: str, step: int, *calls: ToolCall, used: CallUsage, model: str = "small", reasoning: str = "") -> list[r.Record]:
    thought = (Reasoning(reasoning),) if reasoning else ()
    return [r.Turn(Message("assistant", text, tool_calls=calls, reasoning=thought), "tool_calls", model, used), r.Mark(step)]


async def voyage(folder: Path) -> Path:
    """Writes it below ``folder``; gives the store's folder."""
    store = FileStore(folder / ".lousho")
    asked = Message(
        "user",
        (
            TextPart("Plan two days in Lisbon, for four.\nHere is where we stay:"),
            ImagePart("data:image/png;base64," + "A" * 40_000, "image/png"),
        ),
    )
    started = r.RunStarted("in-1", fingerprint=PRINT, offered=TOOLS[:2], agent_id="voyage", model="small", instructions="You plan trips.")
    begin = [r.Created("voyage"), r.InputReceived("in-1", (asked,)), r.InputApplied("in-1"), started]
    weather = ToolCall("call_weather", "weather", '{"city":"Lisbon","days":2}')
    trains = ToolCall("call_trains", "trains", '{"from":"Cais do Sodré","to":"Cascais"}')
    forecast = json.dumps({"city": "Lisbon", "days": [{"day": 1, "sky": "sun", "degrees": 24}, {"day": 2, "sky": "rain", "degrees": 15}]})
    await write_as(
        store,
        "voyage",
        "desk",
        [
            (at(0), [*begin, r.BusinessState({"budget": 400, "stops": ["hotel"], "guests": {"adults": 4}})]),
            (
                at(0, 4),
                _turn(
                    "Let me look.",
                    1,
                    weather,
                    trains,
                    used=CallUsage(812, 40, cost_usd=0.0021),
                    reasoning="First the weather, then how to get around.",
                ),
            ),
            (at(0, 5), [r.ToolStarted("call_weather"), r.ToolStarted("call_trains")]),
            (at(0, 6), [r.ToolFinished("call_weather", forecast), r.Mark(1)]),
        ],
    )
    table = "\n".join(f"{hour:02}:{minute:02}  platform {1 + minute % 4}  Cascais" for hour in range(5, 24) for minute in range(0, 60, 5))
    book = ToolCall("call_book", "book_table", '{"place":"Cervejaria","people":4,"at":"20:30"}')
    args = {"place": "Cervejaria", "people": 4, "at": "20:30"}
    wait = PendingApproval("7f3a9c1e2b4d", "call_book", "book_table", args, "5f2c8e0d9a1b3c4d", at(9), session_id="voyage")
    drift = AgentDrift(tools_added=("book_table",), tools_changed=("trains",))
    await write_as(
        store,
        "voyage",
        "laptop",
        [
            (at(8), [r.Note("drift", drift.describe(), drift), r.RunResumed(2, LATER, TOOLS, "large")]),
            (at(8, 1), [r.ToolStarted("call_trains")]),
            (at(8, 2), [r.ToolFinished("call_trains", table), r.Mark(1)]),
            (at(8, 3), [r.ModelRetry(1, "503: overloaded", 200)]),
            (at(9), [*_turn("Shall I book?", 2, book, used=CallUsage(2410, 95, 800, cost_usd=0.0093), model="large")[:1]]),
            (at(9), [r.WaitOpened(wait), r.Mark(2, "awaiting-approval", "awaiting-approval", wait.id)]),
            (at(21), [r.WaitAnswered(wait.id, True, "a table outside", by="kim"), r.RunResumed(2)]),
            (at(21, 1), [r.ToolFinished("call_book", '{"error":"no table at that time"}', is_error=True), r.Mark(2)]),
            (at(21, 2), [r.BusinessState({"budget": 376, "stops": ["hotel", "Cervejaria"], "guests": {"adults": 4}})]),
            (at(21, 9), [r.Turn(Message("assistant", PLAN), "stop", "large", CallUsage(3105, 260, 2400, cost_usd=0.0127))]),
            (at(21, 9), [r.Mark(3, "finished", "stop"), r.InputSettled("in-1", "completed")]),
        ],
    )
    before = fold((await store.read("voyage")).batches[:4])
    for number, patch in enumerate((("tool_result",), ("append_input",)), 1):
        forked = r.Forked("voyage", 4, 1, state_from(before), patch=patch)
        rest: Records = [r.ToolFinished("call_trains", "none today"), r.Mark(1)]
        await write(store, f"voyage.fork-{number}", [(at(30 + number), [forked]), (at(30 + number, 1), rest)])
    return folder / ".lousho"


async def long_session(folder: Path, messages: int = 5000, checkpoints: int = 50, name: str = "long") -> Path:
    """Writes a session of so many messages with so many kept checkpoints, each with Markdown and long results."""
    store = FileStore(folder / ".lousho")
    claim = await store.claim(name, "desk")
    begin = r.RunStarted("in-1", fingerprint=PRINT, offered=TOOLS, agent_id="long", model="small")
    first = Message("user", "Read everything.")
    records: list[r.Record] = [r.Claimed("desk"), r.Created("long"), r.InputReceived("in-1", (first,)), r.InputApplied("in-1"), begin]
    batches = [r.Batch(1, claim.epoch, at(0), tuple(records))]
    steps = max(messages // 2, 1)
    for step in range(1, steps + 1):
        call = ToolCall(f"c{step}", "read", json.dumps({"file": f"part-{step}.md", "lines": [step, step + 40]}))
        body = f"## Part {step}\n\nI read **part {step}** and go on with `part-{step + 1}.md`:\n\n- it is {step} lines long\n- it names [{step}](https://example.org/{step})\n"
        records = [
            r.Turn(Message("assistant", body, tool_calls=(call,)), "tool_calls", "small", CallUsage(900 + step % 700, 60 + step % 40))
        ]
        result = json.dumps({"part": step, "text": f"line of part {step} " * 12})
        if step > steps - checkpoints:
            records.append(r.Mark(step, limit=checkpoints))
        batches.append(r.Batch(2 * step, claim.epoch, at(step % 60), tuple(records)))
        batches.append(r.Batch(2 * step + 1, claim.epoch, at(step % 60), (r.ToolFinished(f"c{step}", result),)))
    await store.append(claim, batches)
    await store.save_head(claim, head_of(fold((await store.read(name)).batches)))
    await store.release(claim)
    return folder / ".lousho"
