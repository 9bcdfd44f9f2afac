"""What every provider demands of a transcript: each call has one result, directly behind its turn.

``check`` says whether that holds, ``repair`` makes it hold (``mend`` says which change does), ``split_open_turn`` takes the
last turn apart while calls of it still have to run. A *turn* here is an assistant message
with tool calls. Ids are unique within a turn only: models and scripts use them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from lousho_cli.core.tool_errors import not_run
from lousho_cli.domain.messages import Message, ToolCall


class Problem(msgspec.Struct, frozen=True):
    """The first thing wrong: the index of the message, the call it is about, and what."""

    index: int
    call_id: str
    detail: str


class OpenSplit(NamedTuple):
    """A transcript around its last turn.

    before: everything up to and with the last turn; the whole transcript when its last answer has no calls.
    unanswered: the calls without a result, in call order.
    results: the results of the turn by call id, in call order, also behind the first unanswered call.
    held: input that was stored behind the turn, and enters once every call is answered.
    """

    before: tuple[Message, ...]
    unanswered: tuple[ToolCall, ...]
    results: dict[str, Message]
    held: tuple[Message, ...]


def check(messages: Sequence[Message], start: int = 0, *, open_tail: bool = False) -> Problem | None:
    """The first place where the pairing of calls and results is broken, None when nowhere.

    Args:
        start: where to begin: everything before is known to be valid, and no turn is open there.
        open_tail: allow the last turn to lack results, with only input behind it, as a stored
            transcript may. A request to a model may not.
    """
    rest = messages[start:]
    at = 0
    while at < len(rest):
        message = rest[at]
        if message.role == "tool":
            call_id = message.tool_call_id or ""
            return Problem(start + at, call_id, f"the result of call {call_id or '(no id)'} stands behind no turn that waits for it")
        if message.role == "assistant" and message.tool_calls:
            end = _end_of_turn(rest, at, open_tail)
            if isinstance(end, Problem):
                return msgspec.structs.replace(end, index=start + at)
            at = end
        else:
            at += 1
    return None


def _end_of_turn(messages: Sequence[Message], at: int, open_tail: bool) -> int | Problem:
    calls = messages[at].tool_calls
    if len(calls) > 1 and len(_distinct(calls)) < len(calls):
        ids = [call.id for call in calls]
        twice = next(call_id for call_id in ids if ids.count(call_id) > 1)
        return Problem(at, twice, f"two calls of one turn have the id {twice}")
    end, missing = at + 1, None
    for call in calls:
        if end < len(messages) and messages[end].role == "tool" and messages[end].tool_call_id == call.id:
            end += 1
        elif missing is None:
            missing = call
    if missing is None or (open_tail and all(message.role not in ("assistant", "tool") for message in messages[end:])):
        return end
    return Problem(at, missing.id, f"call {missing.id} of {missing.name} has no result directly behind its turn")


def repair(messages: Sequence[Message], *, open_tail: bool = False) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """The transcript made valid, and in words what had to be done; no words when it was valid.

    Results go behind their turn in call order, and with that whatever stood between them goes
    behind them. A call without a result gets an error result that says it was not run. A second
    result, a result of no call, and a second call with one id are dropped. No recorded result
    of a call is lost. Total; repairing twice changes nothing more.

    Args:
        open_tail: leave the calls of the last answer unanswered where they are.
    """
    turns = {at: _distinct(m.tool_calls) for at, m in enumerate(messages) if m.role == "assistant" and m.tool_calls}
    places, words = _places(messages, turns)
    last_answer = max((at for at, message in enumerate(messages) if message.role == "assistant"), default=-1)
    fixed: list[Message] = []
    for at, message in enumerate(messages):
        if message.role == "tool":
            continue
        calls = turns.get(at, message.tool_calls)
        if len(calls) < len(message.tool_calls):
            message = msgspec.structs.replace(message, tool_calls=calls, native=None)
            words.append(f"message {at}: calls that repeat the id of another call of the turn were dropped")
        fixed.append(message)
        if at in turns:
            fill = not (open_tail and at == last_answer)
            fixed.extend(_results(messages, at, calls, places, fill, words))
    return tuple(fixed), tuple(words)


def mend(messages: Sequence[Message]) -> tuple[int, tuple[Message, ...], str]:
    """A repair as a change: how many messages stay, what comes behind them, and in a sentence what was done; '' where nothing was."""
    fixed, words = repair(messages)
    if not words:
        return len(messages), (), ""
    keep = next((at for at, (old, new) in enumerate(zip(messages, fixed, strict=False)) if old is not new), min(len(messages), len(fixed)))
    told = "; ".join(words[:_MOST_WORDS]) + (f"; and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else "")
    return keep, fixed[keep:], f"the transcript was repaired before it was sent: {told}"


_MOST_WORDS = 5
"""So many changes of one repair are told."""


def _places(messages: Sequence[Message], turns: dict[int, tuple[ToolCall, ...]]) -> tuple[dict[tuple[int, str], int], list[str]]:
    """Where the result of each call stands: key (turn, call id). And words on those that belong to none."""
    asked: dict[str, list[int]] = {}
    for at, calls in turns.items():
        for call in calls:
            asked.setdefault(call.id, []).append(at)
    places: dict[tuple[int, str], int] = {}
    early: list[tuple[int, str]] = []
    words: list[str] = []
    newest: dict[str, int] = {}
    for at, message in enumerate(messages):
        for call in turns.get(at, ()):
            newest[call.id] = at
        if message.role != "tool":
            continue
        call_id = message.tool_call_id or ""
        if call_id not in newest:
            early.append((at, call_id))
        elif (newest[call_id], call_id) in places:
            words.append(f"message {at}: a second result of call {call_id} was dropped")
        else:
            places[newest[call_id], call_id] = at
    for at, call_id in early:
        # Nobody before it asked. A recorded result is worth keeping, so the first to ask after it gets it.
        turn = next((turn for turn in asked.get(call_id, ()) if turn > at and (turn, call_id) not in places), None)
        if turn is None:
            words.append(f"message {at}: a result of call {call_id or '(no id)'}, which nobody asked for, was dropped")
        else:
            places[turn, call_id] = at
    return places, words


def _results(
    messages: Sequence[Message],
    at: int,
    calls: tuple[ToolCall, ...],
    places: dict[tuple[int, str], int],
    fill: bool,
    words: list[str],
) -> list[Message]:
    results = []
    expected = at + 1
    for call in calls:
        place = places.get((at, call.id))
        if place is not None:
            if place != expected:
                words.append(f"message {place}: the result of call {call.id} was moved behind its turn, in call order")
            expected += 1
            results.append(messages[place])
        elif fill:
            words.append(f"message {at}: call {call.id} of {call.name} had no result and got one that says it was not run")
            results.append(Message(role="tool", content=not_run(call), tool_call_id=call.id, tool_name=call.name, is_error=True))
    return results


def split_open_turn(messages: Sequence[Message]) -> OpenSplit:
    """Takes a stored transcript apart around its last answer.

    Behind it, a result of no call of that turn and a second result of one call are left out;
    ``repair`` with ``open_tail`` first names them.
    """
    last = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant"), None)
    if last is None or not messages[last].tool_calls:
        return OpenSplit(tuple(messages), (), {}, ())
    behind = messages[last + 1 :]
    found: dict[str, Message] = {}
    for message in behind:
        if message.role == "tool" and message.tool_call_id is not None:
            found.setdefault(message.tool_call_id, message)
    calls = messages[last].tool_calls
    return OpenSplit(
        before=tuple(messages[: last + 1]),
        unanswered=tuple(call for call in calls if call.id not in found),
        results={call.id: found[call.id] for call in calls if call.id in found},
        held=tuple(message for message in behind if message.role != "tool"),
    )


def _distinct(calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    first: dict[str, ToolCall] = {}
    for call in calls:
        first.setdefault(call.id, call)
    return tuple(first.values())
