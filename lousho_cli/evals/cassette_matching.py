"""Which recorded call answers a call. Pure.

``sequence``: calls are answered in the order they were recorded in, and each must still equal its entry.
Conversations that went on at the same time (sub-agents side by side) are in no order to each other: how
long their tools take decides who asks first. Each has a ``lane``, and an entry names the lanes that went on
beside it; an entry of a conversation that was ever beside one's own may be passed over, it still waits for its own.

``request``: the first entry that equals the call and was not used. Each is used once in either way.

A process that *goes on* with a session begins in the middle: at the first entry that equals its first
call, one with an answer before one that failed (a failure there was told to the process before). What
stands in front of it was used by others, and is taken only by a call that has no equal behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, Literal, NamedTuple

import msgspec

from lousho_cli.evals.cassette_file import Entry, Request, RequestMessage
from lousho_cli.evals.normalise import canonical, canonical_args

Match = Literal["sequence", "request"]

_SHOWN = 80
_NOTHING = object()


class Difference(NamedTuple):
    """Where two requests first differ: a path such as ``messages[2].content``, and both values, shortened.

    ``entry``: the number of the recorded one in its file, from 1; ``key``: its short key.
    """

    path: str
    now: str
    recorded: str
    entry: int = 0
    key: str = ""


class Matching:
    """The entries of a cassette, and which of them were used."""

    def __init__(self, entries: Sequence[Entry], match: Match, *, goes_on: bool = False) -> None:
        self._entries = tuple(entries)
        self._keys = tuple(key_of(entry.request, entry.kind) for entry in entries)
        self._unused = dict.fromkeys(range(len(entries)))
        self._beside = {pair for entry in entries for lane in entry.beside for pair in ((entry.lane, lane), (lane, entry.lane))}
        self._match = match
        self._goes_on = goes_on
        self._begun = not goes_on
        self._floor = 0

    def over(self, lane: int | None) -> bool:
        """Whether nothing is left to play for a conversation: no entry but of those beside it. ``lane`` None: it is a new one."""
        return all(place < self._floor or (self._entries[place].lane, lane) in self._beside for place in self._unused)

    def take(self, request: Request) -> Entry | None:
        """The entry that answers a call, which is used up by it; None where there is none."""
        place = self._find(key_of(request))
        if place is None:
            return None
        if not self._begun:
            self._begun, self._floor = True, place
        del self._unused[place]
        return self._entries[place]

    def _find(self, key: str) -> int | None:
        equal = [place for place in self._unused if self._keys[place] == key]
        if not self._begun:
            return next((place for place in equal if self._entries[place].response is not None), None)
        ahead = [place for place in equal if place >= self._floor]
        if self._match == "request":
            found = next(iter(ahead), None)
        else:
            found = next((place for place in ahead if not self._in_the_way(place)), None)
        if found is None and self._goes_on:
            return next((place for place in equal if place < self._floor and self._entries[place].response is not None), None)
        return found

    def _in_the_way(self, place: int) -> bool:
        lane = self._entries[place].lane
        return any(self._floor <= before < place and (self._entries[before].lane, lane) not in self._beside for before in self._unused)

    def nearest(self, request: Request) -> Difference | None:
        """How a call differs from the entry it should have been; None where no entry is left.

        In a sequence that is the next one, of conversations that go on side by side the one most like it; else the most alike.
        """
        left = [place for place in self._unused if place >= self._floor] if self._begun else list(range(len(self._entries)))
        if self._match == "sequence" and self._begun and left:
            first = self._entries[left[0]].lane
            left = [place for place in left if place == left[0] or (self._entries[place].lane, first) in self._beside]
        found = [
            difference._replace(entry=place + 1, key=short_key(self._keys[place]))
            for place in left
            if (difference := first_difference(request, self._entries[place])) is not None
        ]
        return max(found, key=lambda one: _depth(one.path), default=None)


def key_of(request: Request, kind: str = "stream") -> str:
    """What two calls must have in common to be the same: all but what the caller never says."""
    head = json.dumps([kind, request.model], ensure_ascii=False)
    return "\n".join((head, *map(_message_key, request.messages), _tools_key(msgspec.json.encode(request.tools))))


def _message_key(message: RequestMessage) -> str:
    """A message in one spelling, as JSON text on one line."""
    if all(type(call.args) is str for call in message.tool_calls):
        return _message_key_once(message)
    return _message_key_once.__wrapped__(message)  # values that another program wrote: 1 and true would be the same to the cache


@lru_cache(maxsize=4096)  # each call of a run sends all that was said before once more, and so does the cassette
def _message_key_once(message: RequestMessage) -> str:
    return json.dumps(_told_of(message), ensure_ascii=False, sort_keys=True)


def short_key(key: str) -> str:
    """A key as it is told: 12 hex digits that are the same for equal requests."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()[:12]


@lru_cache(maxsize=64)  # an agent offers the same tools with each call
def _tools_key(encoded: bytes) -> str:
    return json.dumps(_tools(msgspec.json.decode(encoded)), ensure_ascii=False, sort_keys=True)


def _data(request: Request) -> dict[str, Any]:
    return {"model": request.model, "messages": _messages(request), "tools": _tools(msgspec.to_builtins(request.tools))}


def _messages(request: Request) -> Any:
    return [_told_of(message) for message in request.messages]


def _told_of(message: RequestMessage) -> Any:
    told = msgspec.to_builtins(message)
    for call in told.get("toolCalls", ()):
        given = call["args"]
        call["args"] = canonical_args(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))
    return told


def _tools(tools: Any) -> Any:
    for tool in tools:
        tool["parameters"] = canonical(tool["parameters"])
    return tools


def first_difference(request: Request, entry: Entry) -> Difference | None:
    """Where a call first differs from an entry, None where it does not."""
    if entry.kind != "stream":
        return Difference("kind", '"stream"', f'"{entry.kind}"')
    found = next(_differences("", _data(request), _data(entry.request)), None)
    return None if found is None else Difference(found[0], *_shown(found[1], found[2]))


def _differences(path: str, now: Any, recorded: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(now, dict) and isinstance(recorded, dict):
        names = [*now, *(name for name in recorded if name not in now)]
        for name in names:
            yield from _differences(f"{path}.{name}" if path else name, now.get(name, _NOTHING), recorded.get(name, _NOTHING))
    elif isinstance(now, list | tuple) and isinstance(recorded, list | tuple):
        for place in range(max(len(now), len(recorded))):
            one = now[place] if place < len(now) else _NOTHING
            other = recorded[place] if place < len(recorded) else _NOTHING
            yield from _differences(f"{path}[{place}]", one, other)
    elif type(now) is not type(recorded) or now != recorded:
        yield path, now, recorded


def _depth(path: str) -> tuple[int, ...]:
    """How far two requests are alike, by where they first differ: messages before tools, a later message after an earlier one."""
    place = path.partition("[")[2].partition("]")[0]
    return (path.startswith("messages"), int(place) if place.isdecimal() else 0)


def _shown(now: Any, recorded: Any) -> tuple[str, str]:
    """Two values as they are told: texts from shortly before where they part."""
    begin = 0
    if isinstance(now, str) and isinstance(recorded, str):
        same = next((n for n, (one, other) in enumerate(zip(now, recorded, strict=False)) if one != other), min(len(now), len(recorded)))
        begin = max(0, same - _SHOWN // 4) if max(len(now), len(recorded)) > _SHOWN else 0
    return _told(now, begin), _told(recorded, begin)


def _told(value: Any, begin: int) -> str:
    if value is _NOTHING:
        return "nothing"
    if isinstance(value, str):
        cut = value[begin : begin + _SHOWN]
        text = json.dumps(cut, ensure_ascii=False)
        return ("…" if begin else "") + text + ("…" if begin + _SHOWN < len(value) else "")
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
