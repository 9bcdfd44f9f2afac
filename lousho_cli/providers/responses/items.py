"""The output items of an answer, put together from what is said about each of them, up to three times over.

By the book an item is announced, streamed in deltas that name it by id and by its place, told whole once it is
done, and told whole again with the finished response. Servers that imitate the wire leave out any of these, give an
item another id each time, or say that every item stands in place 0. What is said belongs to the item it can only
belong to, else to a new one; what is told later and whole counts before what was streamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lousho_cli.ports.provider import ReasoningDelta, TextDelta
from lousho_cli.providers.wire.calls import argument_text
from lousho_cli.providers.wire.surrogates import Joiner

Delta = TextDelta | ReasoningDelta

MESSAGE, REASONING, CALL = "message", "reasoning", "function_call"

_NOTHING: tuple[Any, ...] = (None, "", [])


class Part:
    """A kind of text inside an item: which key holds it in the whole item, which key of an event its number, and what people get of it."""

    __slots__ = ("delta", "item", "name", "number", "place", "text")

    def __init__(self, item: str, name: str, place: str, text: str, number: str, delta: type[Delta]) -> None:
        self.item, self.name, self.place, self.text, self.number, self.delta = item, name, place, text, number, delta


OUTPUT_TEXT = Part(MESSAGE, "output_text", "content", "text", "content_index", TextDelta)
REFUSAL = Part(MESSAGE, "refusal", "content", "refusal", "content_index", TextDelta)
SUMMARY_TEXT = Part(REASONING, "summary_text", "summary", "text", "summary_index", ReasoningDelta)
REASONING_TEXT = Part(REASONING, "reasoning_text", "content", "text", "content_index", ReasoningDelta)

PARTS = {part.name: part for part in (OUTPUT_TEXT, REFUSAL, SUMMARY_TEXT, REASONING_TEXT)}


class Text:
    """A text so far."""

    __slots__ = ("_joiner", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._joiner = Joiner()

    def __str__(self) -> str:
        return "".join(self._pieces)

    def push(self, piece: str) -> str:
        """Takes a piece, and gives what of it can be shown already."""
        piece = self._joiner.push(piece)
        if piece:
            self._pieces.append(piece)
        return piece

    def settle(self, text: str) -> str:
        """Takes the whole text, and gives the end of it that was not streamed. A blank one says nothing."""
        text, streamed = Joiner().push(text), str(self)
        kept = streamed if not text or text.isspace() else text
        self._pieces = [kept]  # in one piece from now on, however often it is told
        if kept == streamed:
            return ""
        return text[len(streamed) :] if text.startswith(streamed) else ""


class Item:
    """One item so far. ``told`` is what was said of it as a whole, without regard to what was streamed."""

    __slots__ = ("announced", "arguments", "closed", "index", "kind", "parts", "told")

    def __init__(self, kind: str, index: int | None) -> None:
        self.kind, self.index = kind, index
        self.announced = self.closed = False
        self.told: dict[str, Any] = {"type": kind}
        self.parts: dict[tuple[str, int], tuple[Part, Text]] = {}
        self.arguments = Text()

    def part(self, part: Part, number: int) -> Text:
        """The text of one of its parts."""
        return self.parts.setdefault((part.name, number), (part, Text()))[1]

    def texts(self, *kinds: Part) -> list[str]:
        """What its parts of these kinds say, in order."""
        found = sorted(((number, part, text) for (_, number), (part, text) in self.parts.items() if part in kinds), key=_number)
        return [str(text) for _, _, text in found]

    @property
    def empty(self) -> bool:
        """Whether nothing of it has come but its announcement."""
        return self.kind != CALL and not any(self.texts(*PARTS.values()))

    def may_be(self, item: Mapping[str, Any]) -> bool:
        """Whether this can be what is told once more, and no other call under the same id."""
        known, told = self.told.get("call_id"), item.get("call_id")
        return not known or not told or known == told

    def announce(self, item: Mapping[str, Any]) -> None:
        """Takes the item as it begins. What it says already is most often said again by what follows."""
        self.told |= {key: value for key, value in item.items() if value not in _NOTHING or key not in self.told}

    def tell(self, item: Mapping[str, Any]) -> Iterator[Delta]:
        """Takes the item as a whole, and gives what was not streamed of it. What is missing in it stays as it was."""
        self.announce(item)
        arguments = item.get("arguments")
        if arguments is not None and self.kind == CALL:
            self.arguments.settle(argument_text(arguments))
        for place in ("summary", "content"):
            entries = item.get(place)
            if isinstance(entries, str):  # one text, as other wires have it
                entries = [{"type": OUTPUT_TEXT.name, OUTPUT_TEXT.text: entries}]
            if isinstance(entries, list):
                yield from self._tell_parts(place, entries)

    def _tell_parts(self, place: str, entries: list[Any]) -> Iterator[Delta]:
        told = [(number, part) for number, entry in enumerate(entries) if (part := self._part_of(entry)) and part.place == place]
        if not told:
            return
        streamed = {key: value for key, value in self.parts.items() if value[0].place == place}
        self.parts = {key: value for key, value in self.parts.items() if key not in streamed}
        for number, part in told:  # servers that count otherwise in their deltas mean the same parts
            key = (part.name, number)
            key = key if key in streamed else next((other for other in streamed if other[0] == part.name), key)
            self.parts[part.name, number] = streamed.pop(key, (part, Text()))
            yield from self.tell_part(number, entries[number])

    def tell_part(self, number: int, entry: Any) -> Iterator[Delta]:
        """Takes one part as a whole."""
        part = self._part_of(entry)
        text = entry.get(part.text) if part else None
        if part is not None and isinstance(text, str) and (rest := self.part(part, number).settle(text)):
            yield part.delta(rest)

    def _part_of(self, entry: Any) -> Part | None:
        kind = entry.get("type") if isinstance(entry, Mapping) else None
        part = PARTS.get(kind) if isinstance(kind, str) else None
        return part if part is not None and part.item == self.kind else None

    def finish(self) -> Iterator[Delta]:
        """Gives what its announcement said and nothing said again."""
        if not self.parts and not str(self.arguments):
            yield from self.tell(dict(self.told))

    def whole(self) -> dict[str, Any]:
        """The item as its server told it, or as it would have."""
        item = dict(self.told)
        if item.get("status") == "in_progress":
            item["status"] = "completed"
        for place in ("summary", "content"):
            known = {name: text for name, text in self.parts.items() if text[0].place == place}
            if known and not _same(item.get(place), known):
                item[place] = [_entry(part, str(text)) for _, (part, text) in sorted(known.items(), key=lambda pair: pair[0][1])]
        if self.kind == MESSAGE:
            item.setdefault("role", "assistant")
            item.setdefault("status", "completed")
        if self.kind == REASONING:
            item.setdefault("summary", [])
        return item


class Items:
    """All items of an answer."""

    def __init__(self) -> None:
        self._all: list[Item] = []
        self._exact: dict[tuple[str, int | None], Item] = {}
        self._by_id: dict[str, Item] = {}
        self._by_index: dict[int, Item] = {}

    def __iter__(self) -> Iterator[Item]:
        return iter(self._all)

    def __bool__(self) -> bool:
        return bool(self._all)

    def announced(self, item: Mapping[str, Any], index: int | None) -> Item:
        """The item that is announced: a new one, unless deltas came first or it is announced again."""
        found, exact = self._found(item["type"], item_id(item.get("id")), index)
        if found is None or found.closed or (found.announced and not (exact and found.may_be(item))):
            found = self._new(item["type"], item_id(item.get("id")), index)
        found.announced = True
        return found

    def closed(self, item: Mapping[str, Any], index: int | None) -> Item:
        """The item that is told as done."""
        found, exact = self._found(item["type"], item_id(item.get("id")), index)
        if found is None or (found.closed and not (exact and found.may_be(item))):
            found = self._new(item["type"], item_id(item.get("id")), index)
        found.closed = True
        return found

    def named(self, kind: str, name: str | None, index: int | None) -> Item:
        """The item that a piece belongs to, by its id and place."""
        found, exact = self._found(kind, name, index)
        return self._new(kind, name, index) if found is None or (found.closed and not exact) else found

    def _found(self, kind: str, name: str | None, index: int | None) -> tuple[Item | None, bool]:
        """The item that is meant, and whether by id and place at once."""
        if name is None and index is None:
            return next((item for item in reversed(self._all) if item.kind == kind and not item.closed), None), False
        if name is not None and (exact := self._exact.get((name, index))) is not None and exact.kind == kind:
            return exact, True
        found = self._by_id.get(name) if name is not None else None
        if (found is None or found.kind != kind) and index is not None:
            found = self._by_index.get(index)
        return (found if found is not None and found.kind == kind else None), False

    def _new(self, kind: str, name: str | None, index: int | None) -> Item:
        item = Item(kind, index)
        self._all.append(item)
        if name is not None:
            item.told["id"] = name
            self._exact[name, index] = self._by_id[name] = item
        if index is not None:
            self._by_index[index] = item
        return item

    def settle(self, output: list[Any]) -> Iterator[Delta]:
        """Takes the output of the finished response. Items that were streamed and are missing in it stay where they are."""
        if all(item.index is not None for item in self._all):
            self._all.sort(key=lambda item: item.index or 0)
        told = [entry for entry in output if isinstance(entry, Mapping) and isinstance(entry.get("type"), str)]
        by_name = {(item.kind, item.told.get("id")): item for item in self._all if isinstance(item.told.get("id"), str)}
        named = [by_name.pop((entry["type"], entry["id"]), None) if isinstance(entry.get("id"), str) else None for entry in told]
        free = [item for item in self._all if item not in named]
        settled = []
        for entry, item in zip(told, named, strict=True):
            if item is None and (item := next((item for item in free if item.kind == entry["type"]), None)) is not None:
                free.remove(item)
            settled.append(item or Item(entry["type"], None))
            yield from settled[-1].tell(entry)
        self._all = [*self._all, *(item for item in settled if item not in self._all)] if free else settled
        for item in self._all:
            yield from item.finish()


def _number(entry: tuple[int, Part, Text]) -> tuple[bool, int]:
    return entry[1] is not SUMMARY_TEXT, entry[0]


def _same(told: Any, known: Mapping[tuple[str, int], tuple[Part, Text]]) -> bool:
    """Whether the parts that were told say what is known, so that they can stand as they are."""
    if not isinstance(told, list):
        return False
    return all(
        number < len(told)
        and isinstance(told[number], Mapping)
        and told[number].get("type") == name
        and told[number].get(part.text) == str(text)
        for (name, number), (part, text) in known.items()
    )


def _entry(part: Part, text: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": part.name, part.text: text}
    return entry | {"annotations": []} if part is OUTPUT_TEXT else entry


def item_id(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
