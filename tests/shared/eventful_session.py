"""The records of one eventful session: two runs, tools that fail, a sub-agent with one of its own, a picture, bad arguments."""

from __future__ import annotations

import base64
import json
from typing import Any

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_record
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Reasoning, TextPart, ToolCall, user
from lousho_cli.domain.usage import CallUsage

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TEXT_FILE = base64.b64encode(b"the notes say blue").decode()
HOSTILE = (
    "</script><script>window.owned = 1</script><img src='http://127.0.0.1:9/x' onerror='window.owned = 2'>"
    "<!-- \u202egnp.exe\u202c \x1b[31mred\x1b[0m\n```\n# not a heading\n````\n~~~\n[a](javascript:window.owned=3) &lt; {{7*7}}"
)


def calls(*of: tuple[str, str, str], text: str = "", **more: Any) -> Message:
    return Message("assistant", text, tool_calls=tuple(ToolCall(*one) for one in of), **more)


def at(batches: list[list[Any]]) -> tuple[r.Batch, ...]:
    """Records as batches, a minute apart."""
    return tuple(r.Batch(n + 1, 1, f"2026-01-02T03:{n:02}:00.000Z", tuple(records)) for n, records in enumerate(batches))


def eventful(said: str = "The stock is low.") -> tuple[r.Batch, ...]:
    """The batches. ``said`` is what its tools, its people and its models say."""
    parts = (TextPart(said), ImagePart(PIXEL, "image/png"), FilePart(TEXT_FILE, "text/plain", "notes.txt"))
    inner = [
        r.InputReceived("w", (user("look"),)),
        r.InputApplied("w"),
        r.RunStarted("w", agent_id="scout", model="small"),
        r.Turn(calls(("deep", "digger", "{}")), "tool_calls", "small", CallUsage(50, 5, cost_usd=0.001)),
    ]
    deepest = [
        r.InputReceived("d", (user("dig"),)),
        r.InputApplied("d"),
        r.RunStarted("d", agent_id="digger"),
        r.Turn(Message("assistant", said), "stop", "small", CallUsage(10, 1, cost_usd=0.0005)),
        r.InputSettled("d", "completed"),
    ]
    return at(
        [
            [
                r.Claimed("here"),
                r.Created("shop", "shop.yaml"),
                r.InputReceived("in-1", (Message("user", parts),)),
                r.InputApplied("in-1"),
                r.RunStarted("in-1", offered=("stock", "scout"), instructions="You run a shop.", agent_id="shop", model="big"),
            ],
            [
                r.Turn(
                    calls(("one", "stock", '{"item":"lamp","n":12345678901234567890}'), ("two", "stock", "no json"), text=said,
                          reasoning=(Reasoning("Let me see.", "signed"), Reasoning("And then.")), ),
                    "tool_calls", "big", CallUsage(100, 20, cached_input_tokens=60, reasoning_tokens=7, cost_usd=0.01),
                ),
                r.Mark(1),
            ],
            [r.ToolStarted("one"), r.ToolStarted("two")],
            [r.ToolFinished("two", json.dumps({"error": said}), is_error=True)],
            [r.ToolFinished("one", json.dumps(said)), r.Mark(1)],
            [r.Turn(calls(("one", "scout", '{"input":"look"}')), "tool_calls", "big", CallUsage(160, 9, cost_usd=0.02)), r.Mark(2)],
            [r.Within(("one",), tuple(inner)), decode_record(b'{"type":"shop.audit","note":' + json.dumps(said).encode() + b"}")],
            [r.Within(("one", "deep"), tuple(deepest))],
            [r.Within(("one",), (r.ToolFinished("deep", '"gold"'), r.Turn(Message("assistant", said), "stop", "small", CallUsage(70, 6)),
                                 r.InputSettled("w", "completed")))],
            [r.ToolFinished("one", '"found"'), r.Mark(2)],
            [r.Turn(Message("assistant", said), "stop", "big", CallUsage(200, 30, cost_usd=0.03)), r.Mark(3, "finished", "stop"),
             r.InputSettled("in-1", "completed"), r.BusinessState({"order": said})],
            [r.InputReceived("in-2", (user("And now?"),)), r.InputApplied("in-2"), r.RunStarted("in-2", agent_id="shop", model="big")],
            [r.Turn(Message("assistant", "Done."), "stop", "big"), r.Mark(1, "finished", "stop"), r.InputSettled("in-2", "completed")],
        ]
    )  # fmt: skip


def unanswered() -> tuple[r.Batch, ...]:
    """A run that died while its calls ran: one has its result, one has none."""
    return at(
        [
            [r.Created("shop"), r.InputReceived("in-1", (user("Go"),)), r.InputApplied("in-1"), r.RunStarted("in-1", agent_id="shop")],
            [r.Turn(calls(("a", "slow", "{}"), ("b", "quick", "{}")), "tool_calls", "big", CallUsage(5, 5)), r.Mark(1)],
            [r.ToolFinished("b", '"fast"')],
        ]
    )
