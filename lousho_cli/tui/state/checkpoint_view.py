"""A checkpoint as its tabs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from lousho_cli.app.following import Followed
from lousho_cli.app.showing import Shown
from lousho_cli.tui.state.changes import changes
from lousho_cli.tui.state.fingerprint import fingerprint
from lousho_cli.tui.state.json_tree import json_node
from lousho_cli.tui.state.outline import Node
from lousho_cli.tui.state.transcript import transcript
from lousho_cli.tui.state.usage import usage

Tab = Literal["transcript", "changes", "state", "records", "usage", "agent"]
TABS: tuple[Tab, ...] = ("transcript", "changes", "state", "records", "usage", "agent")


class Seen(msgspec.Struct, frozen=True):
    """What was read of a checkpoint: itself, the one kept before it, and the records of the log in between."""

    address: str
    shown: Shown
    before: Shown | None = None
    records: tuple[Followed, ...] = ()
    writing: str = ""


def roots_of(seen: Seen, tab: Tab, *, raw: bool = False) -> Sequence[Node]:
    """What a tab shows."""
    shown = seen.shown
    match tab:
        case "transcript":
            return (*_damage(shown), *transcript(shown, raw=raw), *_writing(seen.writing))
        case "changes":
            return changes(shown, seen.before)
        case "state":
            if shown.business_state is None:
                return (Node("s.none", tone="faint", aside="this session keeps no business state"),)
            return (json_node("s", "business state", shown.business_state, opened=True),)
        case "records":
            return records(seen.records)
        case "usage":
            return usage(shown)
        case "agent":
            return fingerprint(shown, seen.before)


def _damage(shown: Shown) -> Sequence[Node]:
    return tuple(Node(f"damage{at}", said, "error", "text", label="! damaged", label_tone="error") for at, said in enumerate(shown.damage))


def _writing(text: str) -> Sequence[Node]:
    """The answer that is being written, behind what is whole."""
    if not text:
        return ()
    body = Node("writing.t", text, "faint", "text")
    return (
        Node(
            "writing",
            tone="assistant",
            label="assistant",
            label_tone="assistant",
            aside="is being written …",
            children=lambda: (body,),
            opened=True,
        ),
    )


def records(found: Sequence[Followed]) -> Sequence[Node]:
    """Records of a log, each to be opened."""
    if not found:
        return (Node("r.none", tone="faint", aside="no records are kept of this checkpoint"),)
    return tuple(_record(followed) for followed in found)


def _record(followed: Followed) -> Node:
    place = f"{followed.cursor.seq}.{followed.cursor.index}"
    key = f"r{place}"
    name = followed.type.removeprefix("lousho.")
    aside = f"#{place}  epoch {followed.epoch}  {followed.at}"
    children = None
    if followed.record:
        children = lambda: tuple(json_node(f"{key}/{field}", field, value) for field, value in followed.record.items())  # noqa: E731
    return Node(key, label=name, aside=aside, children=children)
