"""What the calls of every wire need: ids of their own, words a server takes, and arguments that can be read.

Transcripts come from other wires too, and from models that write what no schema allows. Everything here depends on
nothing but what is given, so that the same transcript is the same bytes in every process.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container
from typing import Any

import msgspec

from lousho_cli.domain.plain import json_text
from lousho_cli.providers.wire.surrogates import whole

UNREADABLE = "INVALID_JSON"
"""The key under which a call's argument text is sent back when it is no JSON object, to a server that takes nothing else."""

LONGEST_WORD = 64

_VALID = re.compile(r"[a-zA-Z0-9_-]+")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])  # looks at the whole text, but builds nothing of it


def unique_id(wanted: str, taken: Container[str]) -> str:
    """The id, or the next of its kind that is not taken: servers give one id to several calls of an answer."""
    found, number = wanted, 1
    while found in taken:
        number += 1
        found = f"{wanted}_{number}"
    return found


def wire_word(text: str, longest: int = LONGEST_WORD) -> str:
    """An id or a name as it is, or, where a server would refuse it, what is left of it and a short hash of all of it."""
    if len(text) <= longest and _VALID.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_OTHER.sub('_', text)[: longest - 9]}-{digest}"


def argument_text(value: Any) -> str:
    """Arguments as text; some servers send them as an object."""
    if value is None or isinstance(value, str):
        return value or ""
    return whole(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def argument_object(arguments: str) -> msgspec.Raw | dict[str, Any]:
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
