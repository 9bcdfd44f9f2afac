"""What waits for a person, as text: one line each, and one of them whole. Pure."""

from __future__ import annotations

import json
from datetime import datetime
from typing import NamedTuple

from lousho_cli.app.moments import age, iso
from lousho_cli.app.results import PendingItem

Fact = tuple[str, str]
"""A name and what is said under it."""


class Wait(NamedTuple):
    """One thing that waits. ``facts``: what is known about it, in order; ``args``: the exact arguments, a line each.

    ``commands``: what decides it on a command line.
    """

    facts: tuple[Fact, ...]
    args: tuple[str, ...]
    commands: tuple[str, ...]


def expires(item: PendingItem, now: datetime) -> str:
    """When it is too late, in words; '' for never."""
    if item.expires_at is None:
        return ""
    if item.expires_at <= iso(now):
        return "expired"
    return f"in {age(iso(now), datetime.fromisoformat(item.expires_at))}"


def wait_of(item: PendingItem, now: datetime) -> Wait:
    """One thing that waits, whole."""
    facts: list[Fact] = [("session", item.session), ("id", item.id), ("kind", item.kind), ("tool", item.tool)]
    facts += [("inside", " › ".join(item.path))] if item.path else []
    facts += [("question", item.question)] if item.question else []
    facts += [("choices", " | ".join(item.options))] if item.options else []
    facts += [("sign in at", item.url)] if item.url else []
    facts += [("because", item.reason)] if item.reason else []
    facts.append(("since", f"{item.created_at} ({age(item.created_at, now)} ago)"))
    facts += [("expires", f"{item.expires_at} ({expires(item, now)})")] if item.expires_at else []
    facts.append(("digest", item.digest))
    args = tuple(json.dumps(item.args, indent=2, ensure_ascii=False, default=str).split("\n"))
    commands = (f"lousho approve {item.id}", f"lousho reject {item.id}") if item.kind == "tool" else (f"lousho answer {item.id}",)
    return Wait(tuple(facts), args, commands)
