"""Sessions of Claude Code: JSON lines that form a tree.

One answer stands in several lines with the same message id, and what parallel calls gave hangs beside the chain, not in it. The chain
of the newest line is the session; what hangs elsewhere is told of. A sidechain, in the same file or in one of its own, is the talk of
a sub-agent and becomes a session of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from lousho_cli.interchange.reading.blocks import FINISH, answer_of, blocks_of, said_by_user, usage_of
from lousho_cli.interchange.reading.claude_code_index import BOUNDARY, TALK, Index, Node
from lousho_cli.interchange.reading.fields import text, time
from lousho_cli.interchange.reading.lines import numbered, parsed
from lousho_cli.interchange.reading.values import Entry, Lines, Source

KIND = "claude-code"

_KEPT = ("uuid", "requestId", "isMeta", "isApiErrorMessage", "forkedFrom")


def recognises(value: dict[str, Any]) -> bool:
    """Whether an object is a line of it."""
    kind = value.get("type")
    if kind in TALK and isinstance(value.get("message"), (dict, str)):
        return True
    return (kind == "summary" and "leafUuid" in value) or (isinstance(kind, str) and "sessionId" in value and "payload" not in value)


class _Said(msgspec.Struct, frozen=True, gc=False):
    content: Any = None
    id: Any = None
    model: Any = None
    usage: Any = None
    stop_reason: Any = None


class _Line(msgspec.Struct, gc=False):
    """What is read of a line. What a tool kept for itself beside its result is passed over."""

    type: Any = None
    subtype: Any = None
    timestamp: Any = None
    isCompactSummary: Any = None  # noqa: N815 - the names are those of the lines
    uuid: Any = None
    requestId: Any = None  # noqa: N815
    isMeta: Any = None  # noqa: N815
    isApiErrorMessage: Any = None  # noqa: N815
    forkedFrom: Any = None  # noqa: N815
    message: _Said = _Said()
    number: int = 0


_decode = msgspec.json.Decoder(_Line).decode


def lines_in(document: Any) -> Lines | None:
    """The lines of a session that was fetched as one document; None where it is none."""
    found = document.get("loglines") if isinstance(document, dict) else None
    if not isinstance(found, list):
        return None
    lines = [msgspec.json.encode(one) for one in found]
    return lambda: iter(lines)


class _Branch(NamedTuple):
    """Talk that the newest line does not follow: the places of its first line and its last, and how many lines it has."""

    root: int
    leaf: int
    lines: int


def read(lines: Lines, name: str, *, branches: bool = False) -> list[Source]:
    """The session of a file, then the branches it left where they are wanted, then those of its sub-agents.

    Args:
        name: the file's, without its ending.
    """
    index = Index(lines())
    index.close()
    main = [at for at, node in enumerate(index.nodes) if node.talk and not node.sidechain]
    session = _session_id(index, name)
    sources: list[Source] = []
    told = [f"line {line}: it follows a line that is not there, and was put behind the one before it" for line in index.gaps]
    groups = _sidechains(index.nodes)
    alone = not main
    if main:
        chain = _chain(index.nodes, main[-1])
        left = _branches(index.nodes, chain, main)
        if not branches:
            told += [_left_out(index.nodes, branch) for branch in left]
        sources.append(_source(lines, index, chain, session, None, told))
        for branch in left if branches else ():
            own = f"{session}.branch-{index.nodes[branch.root].line}"
            sources.append(_source(lines, index, _chain(index.nodes, branch.leaf), own, None, ()))
    for number, (agent, places) in enumerate(groups, 1):
        own = f"agent-{agent}" if agent else f"{session}.agent-{number}"
        sub = name if alone and len(groups) == 1 and name.startswith("agent-") else own
        sources.append(_source(lines, index, set(places), sub, session if session != sub else None, () if main else told))
    if sources:
        first = msgspec.structs.replace(sources[0], bad=tuple(index.bad), skipped=dict(index.skipped))
        return [first, *sources[1:]]
    return [_source(lines, index, set(), session, None, told)]


def _session_id(index: Index, name: str) -> str:
    if name in index.sessions or not index.sessions:
        return name
    return index.sessions.most_common(1)[0][0]


def _chain(nodes: list[Node], leaf: int) -> set[int]:
    """The places of all that leads to ``leaf``, with what parallel calls on the way gave and asked."""
    chain: set[int] = set()
    at = leaf
    while at >= 0 and at not in chain:
        chain.add(at)
        at = nodes[at].parent
    messages = {nodes[at].message for at in chain} - {-1}
    for at, node in enumerate(nodes):  # parents stand before their children
        if node.sidechain or at in chain:
            continue
        if node.message in messages or (node.results and node.parent in chain and nodes[node.parent].message in messages):
            chain.add(at)
    return chain


def _branches(nodes: list[Node], chain: set[int], main: list[int]) -> list[_Branch]:
    found: dict[int, _Branch] = {}
    root_of: dict[int, int] = {}
    for at in main:
        if at in chain:
            continue
        root = root_of[at] = root_of.get(nodes[at].parent, at)
        found[root] = _Branch(root, at, found[root].lines + 1 if root in found else 1)
    return list(found.values())


def _left_out(nodes: list[Node], branch: _Branch) -> str:
    first, last = nodes[branch.root].line, nodes[branch.leaf].line
    return f"line {first}: a branch of {branch.lines} lines, up to line {last}, is not the newest and was left out"


def _sidechains(nodes: list[Node]) -> list[tuple[str | None, list[int]]]:
    """The talks of sub-agents: their name, where they have one, and their places."""
    groups: dict[Any, list[int]] = {}
    root_of: dict[int, int] = {}
    for at, node in enumerate(nodes):
        if node.sidechain:
            root = root_of[at] = root_of.get(node.parent, at)
            groups.setdefault(node.agent or root, []).append(at)
    return [(key if isinstance(key, str) else None, places) for key, places in groups.items() if any(nodes[at].talk for at in places)]


def _source(lines: Lines, index: Index, chain: set[int], session: str, parent: str | None, told: Any) -> Source:
    wanted = {index.nodes[at].line: index.nodes[at].message for at in chain}
    asked = Counter(call for line in wanted for call in index.calls.get(line, ()))
    answered = Counter(result for line in wanted for result in index.results.get(line, ()))
    ends = {message: line for line, message in sorted(wanted.items()) if message >= 0}
    return Source(
        kind=KIND,
        id=session,
        agent=KIND,
        entries=lambda: _Entries(wanted, ends).read(lines),
        asked=asked,
        answered=answered,
        unit="line",
        details=index.details,
        parent=parent,
        told=tuple(told),
    )


class _Entries:
    """The entries of the lines in ``wanted``, which says the message of each; ``ends`` is the last line of each message."""

    def __init__(self, wanted: dict[int, int], ends: dict[int, int]) -> None:
        self._wanted, self._ends = wanted, ends
        self._parts: dict[int, list[_Line]] = {}
        self._order: list[int | list[Entry]] = []
        self._boundary = False

    def read(self, lines: Lines) -> Iterator[Entry]:
        """All of them, in their order; an answer stands where its first line stood."""
        last = max(self._wanted, default=0)
        for number, raw in numbered(lines()):
            if number > last:
                break
            message = self._wanted.get(number)
            if message is None:
                continue
            line = _line(raw, number)
            if message >= 0:
                yield from self._part(message, line)
            elif self._order:
                self._order.append(list(self._entries(line)))
            else:
                yield from self._entries(line)

    def _part(self, message: int, line: _Line) -> Iterator[Entry]:
        parts = self._parts.get(message)
        if parts is None:
            parts = self._parts[message] = []
            self._order.append(message)
        parts.append(line)
        if line.number != self._ends[message]:
            return
        while self._order:
            first = self._order[0]
            if isinstance(first, list):
                yield from first
            elif self._parts[first][-1].number == self._ends[first]:
                yield _answer(self._parts.pop(first))
            else:
                return
            del self._order[0]

    def _entries(self, line: _Line) -> Iterator[Entry]:
        if line.type == "assistant":
            yield _answer([line])
            return
        if line.type != "user":
            self._boundary = self._boundary or line.subtype == BOUNDARY
            return
        at = time(line.timestamp)
        for message in said_by_user(blocks_of(line.message.content), {"original": _original(line)}):
            reset = message.role == "user" and (self._boundary or line.isCompactSummary is True)
            self._boundary = self._boundary and not reset
            yield Entry(message, at, line.number, reset=reset)


def _line(raw: bytes, number: int) -> _Line:
    """A line that was found to be good."""
    try:
        line = _decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            line = msgspec.convert(parsed(raw), _Line)
        except ValueError:
            line = _Line()  # of no kind that is read
    line.number = number
    return line


def _original(line: _Line) -> dict[str, Any]:
    return {name: value for name in _KEPT if (value := getattr(line, name)) is not None}


def _answer(lines: list[_Line]) -> Entry:
    """One answer out of its lines; what it used is what the last of them says."""
    first, last = lines[0], lines[-1]
    said = last.message
    blocks = blocks_of(said.content) if first is last else [block for line in lines for block in blocks_of(line.message.content)]
    original = _original(first)
    if said.id is not None:
        original["id"] = said.id
    message = answer_of(blocks, {"original": original})
    finish = FINISH.get(text(said.stop_reason), "")
    return Entry(message, time(last.timestamp), first.number, text(said.model), usage_of(said.usage), finish)
