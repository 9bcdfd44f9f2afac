"""Input without an id: how much of it does the session hold already?

People retry a request after a crash, and clients send their whole history each time.
Neither may store a message twice, and no new message may be lost because it happens to
read like an old one. Only an input without an id comes here; one with an id is the same
input exactly when id and ``digest_input`` are the same.

``known`` is the stored conversation without system messages, input that still waits
behind unanswered calls at its end. ``start`` is the message the unfinished run started
from, ``newest`` the last user message since then (``start`` itself, until a person
redirects the run). "Skip" is how many leading messages of the input are there already.

| stored        | the input is                                                    | skip             |
|---------------|-----------------------------------------------------------------|------------------|
| any           | all of known, then anything or nothing                          | all of known     |
| finished      | a shorter prefix of known; the text of an old message; other    | 0: a new turn    |
| unfinished    | a prefix of known that holds ``start``, then anything           | the prefix       |
| unfinished    | ``start``, or the whole input that ended in it (any run)        | it: a retry      |
| unfinished    | ``newest``, or the user messages that end in it                 | it: a retry      |
| unfinished    | one of those two, more of known behind it, then user messages   | what known holds |
| unfinished    | the first message of the session, in a later run                | 0: new           |
| unfinished    | a prefix of known that ends before ``start``, then anything     | 0: new           |
| any           | nothing                                                         | 0                |

So ``start`` is found although other input waits behind it, and the session's first
message is new in its fifth run. Where ``newest`` waits or was just taken in, it is what
the interrupted request said, so sending it again is the retry of that request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import msgspec

from lousho_cli.domain.cut_answers import is_synthetic
from lousho_cli.domain.messages import Message, TextPart, without_system
from lousho_cli.domain.resets import is_reset


def recognise(known: Sequence[Message], incoming: Sequence[Message], *, finished: bool, run_start: int) -> int:
    """How many leading messages of ``incoming`` are in ``known`` already; the table above says when.

    Args:
        known: the transcript without system messages, then the input that still waits.
        incoming: the input without system messages.
        finished: whether the newest run came to its end.
        run_start: index in ``known`` of the message the unfinished run started from; of an
            input of several messages the first or the last. ``len(known)`` when it had none.
    """
    shared = _common(known, 0, incoming)
    if shared == len(known):
        return shared
    if finished:
        return 0
    if shared > run_start:
        return shared
    return max((_retried(known, anchor, incoming) for anchor in _anchors(known, run_start)), default=0)


def same_input(left: Message, right: Message) -> bool:
    """Whether two messages say the same: role, content and tool call id. Calls, flags and metadata do not count."""
    return left.role == right.role and left.tool_call_id == right.tool_call_id and _content(left) == _content(right)


def digest_input(messages: Sequence[Message]) -> str:
    """16 hex digits over what an input says. One input id stands for one digest; another one is a conflict.

    Stricter than ``same_input``: calls count too. Metadata does not, it never reaches a model, nor do system
    messages, which a stored session drops.
    """
    said = [
        [m.role, _plain(m), m.tool_call_id, [[call.id, call.name, call.arguments] for call in m.tool_calls], *_wish(m)]
        for m in without_system(messages)
    ]
    return hashlib.sha256(json.dumps(said, separators=(",", ":"), sort_keys=True).encode()).hexdigest()[:16]


def _anchors(known: Sequence[Message], run_start: int) -> list[int]:
    if run_start >= len(known):
        return []
    newest = len(known) - 1
    while newest > run_start and (known[newest].role != "user" or is_synthetic(known[newest])):
        newest -= 1
    return [run_start, newest]


def _retried(known: Sequence[Message], anchor: int, incoming: Sequence[Message]) -> int:
    """The part of ``incoming`` that repeats ``known`` from somewhere in the anchor's input up to or past the anchor."""
    first = anchor
    while first > 0 and known[first - 1].role == "user":
        first -= 1
    for begin in range(first, anchor + 1):
        length = _common(known, begin, incoming)
        # What follows a retry is more talk. Answers and results behind it are another history that only begins alike.
        if begin + length > anchor and all(message.role == "user" for message in incoming[length:]):
            return length
    return 0


def _common(known: Sequence[Message], begin: int, incoming: Sequence[Message]) -> int:
    limit = min(len(known) - begin, len(incoming))
    for index in range(limit):
        if not same_input(known[begin + index], incoming[index]):
            return index
    return limit


def _content(message: Message) -> Any:
    # Clients write plain text as a list of one text part as often as not.
    content = message.content
    if isinstance(content, str) or not all(isinstance(part, TextPart) for part in content):
        return content
    return message.text


def _wish(message: Message) -> list[str]:
    return ["reset"] if is_reset(message) else []


def _plain(message: Message) -> Any:
    return msgspec.to_builtins(_content(message))
