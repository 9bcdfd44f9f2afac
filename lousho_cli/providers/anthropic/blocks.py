"""The blocks of one answer, put together from their beginnings and deltas.

By the book each block begins, gets its deltas by index, and stops. Servers that imitate the wire leave out the index
or the beginning, or use one index twice. A delta belongs to the newest block it can belong to, else to a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lousho_cli.domain.messages import Reasoning
from lousho_cli.domain.plain import json_text, plain
from lousho_cli.providers.anthropic.native import Block
from lousho_cli.providers.anthropic.turns import thinking_block
from lousho_cli.providers.wire.calls import argument_object
from lousho_cli.providers.wire.surrogates import Joiner, whole

_TALK = frozenset({"text", "thinking", "redacted_thinking"})


class Part:
    """A block so far: its beginning as it came, and the pieces that came since, by what they are."""

    __slots__ = ("citations", "input", "joiner", "kind", "more", "signature", "start", "text")

    def __init__(self, kind: str, start: Mapping[str, Any]) -> None:
        self.kind, self.start = kind, start
        self.joiner = Joiner()
        self.text: list[str] = []  # of text and of thinking
        self.input: list[str] = []
        self.signature: list[str] = []
        self.citations: list[Any] = []
        self.more: dict[str, list[str]] = {}

    def said(self, piece: Any) -> str:
        """Takes a piece of text or thinking; gives what of it can be shown, in whole characters."""
        text = self.joiner.push(piece) if piece and isinstance(piece, str) else ""
        if text:
            self.text.append(text)
        return text

    def takes(self, piece: str) -> None:
        """Takes a piece of the text of its input."""
        if piece := self.joiner.push(piece):
            self.input.append(piece)

    @property
    def whole_text(self) -> str:
        if len(self.text) > 1:
            self.text = ["".join(self.text)]  # in one piece from now on, however often it is asked for
        return self.text[0] if self.text else ""

    @property
    def arguments(self) -> str:
        """The text of its input: what was streamed, else what it began with."""
        text = "".join(self.input)
        if text.strip():
            return text
        given = self.start.get("input")
        given = whole(given) if isinstance(given, str) else json_text(given)[0] if given else ""
        return given if given.strip() else "{}"

    @property
    def reasoning(self) -> Reasoning:
        if self.kind == "redacted_thinking":
            return Reasoning(redacted=whole(str(self.start.get("data") or "")))
        return Reasoning(self.whole_text, whole(_text(self.start, "signature") + "".join(self.signature)) or None)


class Parts:
    """All blocks of an answer, in the order they began."""

    def __init__(self) -> None:
        self.all: list[Part] = []
        self._by_index: dict[Any, Part] = {}

    def begin(self, index: Any, start: Mapping[str, Any]) -> Part:
        """A new block, whose deltas come under ``index``, or next where there is none."""
        part = Part(str(start.get("type") or "text"), start)
        self.all.append(part)
        if index is not None:
            self._by_index[index] = part
        return part

    def known(self, index: Any) -> Part | None:
        """The newest block of an index; the newest of all where none is given."""
        return self._by_index.get(index) if index is not None else self.all[-1] if self.all else None

    def at(self, index: Any, kind: str) -> Part:
        """The block that a delta of text or thinking belongs to."""
        part = self._by_index.get(index) or self.known(index)  # looked up here: nearly every event is one of these
        return part if part is not None and part.kind == kind else self.begin(index, {"type": kind})

    def taking_input(self, index: Any) -> Part:
        """The block that a piece of input belongs to: a call, of whatever kind."""
        part = self.known(index)
        return part if part is not None and part.kind not in _TALK else self.begin(index, {"type": "tool_use"})


def wire_block(part: Part) -> Block | None:
    """A block as it is sent back; None for what may not be: blank text, thinking that is not signed."""
    return _WIRE.get(part.kind, _unknown_block)(part)


def _text_block(part: Part) -> Block | None:
    text = part.whole_text
    if not text or text.isspace():
        return None
    cited = [*(part.start.get("citations") or ()), *part.citations]
    return {"type": "text", "text": text} | ({"citations": plain(cited)[0]} if cited else {})


def _call_block(part: Part) -> Block:
    """A call's place; who called it is kept where it was not the model itself."""
    caller = part.start.get("caller")
    direct = not isinstance(caller, Mapping) or caller.get("type") == "direct"
    return {"type": "tool_use"} if direct else {"type": "tool_use", "caller": plain(caller)[0]}


def _unknown_block(part: Part) -> Block:
    block: Block = plain({**part.start, "type": part.kind})[0]
    for key, pieces in part.more.items():
        block[key] = whole(_text(block, key) + "".join(pieces))
    if "input" in block or part.input:
        block["input"] = argument_object(part.arguments)
    return block


_WIRE: dict[str, Callable[[Part], Block | None]] = {
    "text": _text_block,
    "thinking": lambda part: thinking_block(part.reasoning),
    "redacted_thinking": lambda part: thinking_block(part.reasoning),
    "tool_use": _call_block,
}


def _text(source: Mapping[str, Any], key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""
