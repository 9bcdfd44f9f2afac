"""``booking``: wants to book a table, which a person must approve first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from lousho_cli.app.agent_spec import AgentFile, ProviderSpec, ToolEntry

_REFERENCE = "CLM-2041"

_TURNS: tuple[Any, ...] = (
    {
        "text": "Cantinho do Mar has a table by the window at eight. I will book it once you approve.",
        "tool_calls": [
            {
                "name": "book_table",
                "args": {"restaurant": "Cantinho do Mar", "guests": 2, "time": "20:00"},
                "id": "call_book",
            }
        ],
        "usage": {"input_tokens": 92, "output_tokens": 48},
    },
    [
        {
            "when": {"tool": "book_table", "contains": _REFERENCE},
            "text": f"Done: your table is booked, reference {_REFERENCE}. They hold it for fifteen minutes.",
            "usage": {"input_tokens": 171, "output_tokens": 25},
        },
        {
            "text": "I did not book the table. Tell me what to change and I will look again.",
            "usage": {"input_tokens": 166, "output_tokens": 19},
        },
    ],
    {
        "text": "This demo books one table and no more. Start it again to see another approval.",
        "usage": {"input_tokens": 230, "output_tokens": 18},
    },
)


def book_table(restaurant: str, guests: Annotated[int, "how many people"], time: str) -> dict[str, Any]:
    """Books a table at a restaurant."""
    return {"reference": _REFERENCE, "restaurant": restaurant, "guests": guests, "time": time}


def agent(cwd: Path) -> AgentFile:
    return AgentFile(
        name="booking",
        prompt="You book tables. Never book without approval.",
        provider=ProviderSpec("scripted", "scripted", turns=_TURNS, repeat_last=True),
        folder=cwd,
        workspace=cwd,
        tools=(ToolEntry("object", name="book_table", object=book_table, needs_approval=True, field="tools.0"),),
        first_input="Book a table for two tonight",
    )
