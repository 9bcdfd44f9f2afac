"""Calls as this wire allows them: what an id and a name may be made of, and arguments that are an object.

Transcripts come from other wires too, and from models that write what no schema allows. Everything here depends on
nothing but the text given, so that the same transcript is the same bytes in every process.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import msgspec

from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import json_text
from lousho_cli.providers.wire.surrogates import whole

UNREADABLE = "INVALID_JSON"
"""The key under which a call's argument text is sent back when it is no JSON object: the server takes nothing but objects."""

_VALID = re.compile(r"[a-zA-Z0-9_-]+")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME = 64
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])  # looks at the whole text, but builds nothing of it


class CallIds:
    """The ids of a transcript's calls, in its order: valid on this wire and each used once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._now: dict[str, str] = {}

    def begin(self, calls: tuple[ToolCall, ...]) -> None:
        """Goes on to the next answer: its calls, whose results come next."""
        self._now = {}
        for call in calls:
            self._now[call.id] = self._free(wire_word(call.id))

    def of(self, call_id: str) -> str:
        """The id of a call of this answer."""
        return self._now.get(call_id) or wire_word(call_id)

    def _free(self, wanted: str) -> str:
        found, number = wanted, 1
        while found in self._taken:  # some servers count their calls from 0 in each answer
            number += 1
            found = f"{wanted}_{number}"
        self._taken.add(found)
        return found


def wire_word(text: str) -> str:
    """An id or a name as it is, or, where this wire would refuse it, what is left of it and a short hash of all of it."""
    if _VALID.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_OTHER.sub('_', text)[: _MAX_NAME - 9]}-{digest}"


def wire_name(text: str) -> str:
    """A tool's name, which may also be too long."""
    return wire_word(text) if len(text) <= _MAX_NAME else wire_word(text + "\0")


def wire_input(arguments: str) -> msgspec.Raw | dict[str, Any]:
    """Arguments as an object: the model's exact text, so that no number in it changes; none is ``{}``.

    A text that is no JSON object stands whole under ``UNREADABLE``.
    """
    try:
        _objects.decode(arguments)
        return msgspec.Raw(arguments.encode())
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        pass
    if not arguments.strip():
        return {}
    try:
        value = json.loads(arguments, strict=False)  # takes half characters and control characters as they are
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return msgspec.Raw(json_text(value)[0].encode())
    return {UNREADABLE: whole(arguments)}
