"""What imitators put into an answer that our own fields do not hold, and that they want back as it was.

The field that reasoning came in, OpenRouter's ``reasoning_details`` and Gemini's ``thought_signature`` of the text and
of each call. It is kept as the answer's ``native`` form, under a name that holds the host: no other server gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lousho_cli.domain.messages import Message, Native
from lousho_cli.domain.plain import json_text
from lousho_cli.providers.wire.surrogates import inner_whole

THINKING = "thinking"
"""The name for reasoning that came as a part of the content."""


class Extras(msgspec.Struct, frozen=True, omit_defaults=True):
    """The kept form. field: where reasoning stood. calls: what each call had besides, in the order of the calls."""

    field: str = ""
    details: tuple[dict[str, Any], ...] = ()
    extra: dict[str, Any] = {}
    calls: tuple[dict[str, Any], ...] = ()


def kept(extras: Extras, wire: str) -> Native | None:
    """The extras as the native form of an answer; None when there are none."""
    return None if extras == Extras() else Native(wire, json_text(msgspec.to_builtins(extras))[0])


def extras_of(message: Message, wire: str) -> Extras:
    """The extras of an answer of the same server; empty ones for any other answer, or where they do not fit it."""
    if message.native is None or message.native.wire != wire:
        return Extras()
    try:
        extras = msgspec.json.decode(message.native.content, type=Extras)
    except msgspec.MsgspecError:
        return Extras()
    return extras if len(extras.calls) in (0, len(message.tool_calls)) else Extras()


def signatures_in(extra: Any) -> dict[str, Any]:
    """The signatures in an ``extra_content``, by the vendor that made them; what else stands there is only for reading."""
    found = {}
    for vendor, fields in extra.items() if isinstance(extra, Mapping) else ():
        signature = fields.get("thought_signature") if isinstance(fields, Mapping) else None
        if isinstance(signature, str) and signature:
            found[str(vendor)] = {"thought_signature": signature}
    return found


class Details:
    """Pieces of ``reasoning_details`` in, whole details out, in the order they began."""

    def __init__(self) -> None:
        self._details: list[dict[str, Any]] = []
        self._texts: list[dict[str, list[str]]] = []

    def add(self, pieces: list[Any]) -> str:
        """Takes the list of one delta; gives the text that can be read in it."""
        shown = []
        for piece in pieces:
            if isinstance(piece, dict):
                shown += [piece[name] for name in ("text", "summary") if isinstance(piece.get(name), str)]
                self._add(piece)
        return inner_whole("".join(shown))

    def _add(self, piece: dict[str, Any]) -> None:
        last = self._details[-1] if self._details else {}
        same = (last.get("type"), last.get("index")) == (piece.get("type"), piece.get("index"))
        if not same or last.get("signature") or "data" in piece:
            self._details.append({})
            self._texts.append({})
        for name, value in piece.items():
            if name in ("text", "summary") and isinstance(value, str):
                self._texts[-1].setdefault(name, []).append(value)
            if value is not None or name not in self._details[-1]:
                self._details[-1][name] = value

    def whole(self) -> tuple[dict[str, Any], ...]:
        """The details, their texts joined."""
        joined = zip(self._details, self._texts, strict=True)
        return tuple({**detail, **{name: "".join(pieces) for name, pieces in texts.items()}} for detail, texts in joined)
