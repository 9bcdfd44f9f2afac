"""The lines of a Claude Code session, looked over once: which are good, which hang together, and which chain is the session.

Only what that takes is read of each line, so that a file of any length needs a few numbers a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from lousho_cli.interchange.reading.lines import numbered, parsed
from lousho_cli.interchange.reading.values import BadLine

TALK = ("user", "assistant")
BOUNDARY = "compact_boundary"


class _Block(msgspec.Struct, gc=False):
    type: str
    id: str | None = None
    tool_use_id: str | None = None


class _Said(msgspec.Struct, gc=False):
    content: str | list[_Block]
    id: str | None = None
    role: str | None = None


class _Line(
    msgspec.Struct, gc=False, rename={"parent": "parentUuid", "session": "sessionId", "sidechain": "isSidechain", "agent": "agentId"}
):
    type: str = ""
    uuid: str | None = None
    parent: str | None = None
    session: str | None = None
    sidechain: bool | None = None
    agent: str | None = None
    subtype: str | None = None
    cwd: str | None = None
    version: str | None = None


class _Talk(_Line, gc=False, kw_only=True):
    message: _Said


class Node(msgspec.Struct, gc=False):
    """A line that is part of the talk or of the chain of it. ``parent``: the place in the list of the one before; -1 for none."""

    line: int
    parent: int
    talk: bool
    sidechain: bool
    message: int
    agent: str | None
    results: bool = False


_talks = msgspec.json.Decoder(_Talk)
_lines = msgspec.json.Decoder(_Line)


class Index:
    """What one look over the lines found.

    nodes: the good lines that hang together. sessions: how many lines of the talk name each session. gaps: lines whose parent is not
    there. calls, results: by line, the ids in it.
    """

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.nodes: list[Node] = []
        self.bad: list[BadLine] = []
        self.skipped: Counter[str] = Counter()
        self.sessions: Counter[str] = Counter()
        self.gaps: list[int] = []
        self.details: dict[str, Any] = {}
        self.calls: dict[int, tuple[str, ...]] = {}
        self.results: dict[int, tuple[str, ...]] = {}
        self._places: dict[str, int] = {}
        self._messages: dict[str, int] = {}
        self._newest = {False: -1, True: -1}
        for number, text in numbered(lines):
            self._line(number, text)

    def _line(self, number: int, text: bytes) -> None:
        try:
            line: _Line = _talks.decode(text)
            if line.type in TALK:
                self._talk(number, line)  # type: ignore[arg-type]  # it is what was decoded
                return
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            found = self._other(number, text, error)
            if found is None:
                return
            line = found
        if line.uuid is not None:
            self._node(number, line, talk=False, message=-1)
        if line.subtype != BOUNDARY:
            self.skipped[line.type] += 1

    def _other(self, number: int, text: bytes, error: Exception) -> _Line | None:
        """A line that is no part of the talk; None where it is bad, or was part of it all the same."""
        try:
            line = _lines.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            line = None
        if line is not None and line.type and line.type not in TALK:
            return line
        try:  # what JSON does not allow and is read all the same is written anew
            clean = msgspec.json.encode(parsed(text))
            if clean != text and (again := _talks.decode(clean)).type in TALK:
                self._talk(number, again)
                return None
        except (ValueError, RecursionError) as why:
            error = why
        self.bad.append(BadLine(number, "it has no type" if line is not None and not line.type else reason(error)))
        return None

    def _talk(self, number: int, line: _Talk) -> None:
        said = line.message
        message = -1
        if line.type == "assistant" and said.id:
            message = self._messages.setdefault(said.id, len(self._messages))
        node = self._node(number, line, talk=True, message=message)
        if line.session:
            self.sessions[line.session] += not node.sidechain
        for key, value in (("cwd", line.cwd), ("version", line.version)):
            if value is not None:
                self.details.setdefault(key, value)
        if isinstance(said.content, str):
            return
        calls = tuple(block.id or "" for block in said.content if block.type == "tool_use") if line.type == "assistant" else ()
        results = tuple(block.tool_use_id or "" for block in said.content if block.type == "tool_result") if line.type == "user" else ()
        if calls:
            self.calls[number] = calls
        if results:
            self.results[number] = results
            node.results = True

    def _node(self, number: int, line: _Line, *, talk: bool, message: int) -> Node:
        side = line.sidechain is True
        before = self._newest[side]
        parent = before
        if line.parent is not None:
            known = self._places.get(line.parent)
            if known is None and (before >= 0 or not side):
                self.gaps.append(number)
            parent = before if known is None else known
        elif side:
            parent = -1  # a talk of its own begins
        node = Node(number, parent, talk, side, message, line.agent)
        self._newest[side] = len(self.nodes)
        if line.uuid is not None:
            self._places[line.uuid] = len(self.nodes)
        self.nodes.append(node)
        return node

    def close(self) -> None:
        """Lets go of what only the look over the lines needed."""
        self._places, self._messages = {}, {}


def reason(error: Exception) -> str:
    """Why a line is none of the talk, for people."""
    text = str(error)
    return text if text.startswith("it ") else f"it is no message: {text}"
