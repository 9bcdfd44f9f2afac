"""What an input means for the session it comes to: a new run, the next message of one, or nothing new.

Inputs have ids. The same id with the same content is the same input, whatever crashed in
between; with other content it is a conflict. Text is compared only where no id was given
(``core.recognise``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from lousho_cli.core.decide import AgentFacts, begin_run, birth, resumed
from lousho_cli.core.recognise import digest_input, recognise
from lousho_cli.domain import records as r
from lousho_cli.domain.cut_answers import is_cut_off, joined
from lousho_cli.domain.messages import Message, TextPart, without_system
from lousho_cli.domain.plain import text_of
from lousho_cli.domain.session import InputState, Session
from lousho_cli.errors import ConfigurationError


class Admission(msgspec.Struct, frozen=True):
    """What to record, and which input the caller waits for.

    kind: ``run`` when there is something to do, ``settled`` when the input had its end already or there is
    nothing to continue, ``conflict`` when its id was used for other content, ``empty`` when a new session
    was given nothing to say.
    """

    kind: Literal["run", "settled", "conflict", "empty"]
    records: tuple[r.Record, ...] = ()


def admit(
    session: Session,
    messages: Sequence[Message],
    *,
    input_id: str | None,
    fresh_id: str,
    now: str,
    agent: AgentFacts,
    created: r.Created,
    by: str | None = None,
) -> Admission:
    """Admits ``messages`` (may be empty: just go on) to a session that waits for nobody.

    Args:
        input_id: given by the caller; None lets text be recognised and uses ``fresh_id``.
        created: the record that begins the log, written once.
    """
    known = session.inputs.get(input_id) if input_id else None
    if known is not None:
        if not same_input(known, messages, by):
            return Admission("conflict")
        if known.status == "settled" and (session.ended or known.outcome == "completed"):
            return Admission("settled")
        messages = ()
    taken_up = known is not None and known.status == "received"
    new = _new_messages(session, messages, by_text=input_id is None)
    named = input_id or fresh_id
    entering = (r.InputApplied(named),) if taken_up else _entering(new, named, by)
    if session.exists and not session.ended:
        return Admission("run", (resumed(session, agent, now), *entering))
    if not entering:
        return Admission("settled" if session.exists or session.waiting else "empty")
    begin = begin_run(session, agent, named, now)
    return Admission("run", (*birth(session, created), *entering[:-1], begin, entering[-1]))


def must_say_something(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages of an input, unless they end in a user message that says nothing: no model takes that.

    Raises:
        ConfigurationError: they do.
    """
    last = messages[-1] if messages else None
    if last is None or last.role != "user" or last.text.strip():
        return messages
    if not isinstance(last.content, str) and any(not isinstance(part, TextPart) for part in last.content):
        return messages
    raise ConfigurationError(
        "the input is blank", field="input", code="LOUSHO_CONFIG_MISSING_INPUT", hint="Say something; to only go on, give an empty list."
    )


def input_id_from(value: object) -> str | None:
    """An input id as a caller gave it, None for none. It tells inputs apart: what can not be stored as it is is refused, not altered.

    Raises:
        ConfigurationError: it is no text.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise ConfigurationError(f"input_id is text, not {type(value).__name__}", field="input_id")
    if text_of(value) != value:
        raise ConfigurationError("the input id holds bytes that are no text", field="input_id", hint="Use letters and digits.")
    return value


def beginning(session: Session, messages: Sequence[Message], input_id: str | None) -> tuple[Message, ...]:
    """The messages a new run would begin with; none where an unfinished one goes on, or nothing new came."""
    if session.exists and not session.ended:
        return ()
    known = session.inputs.get(input_id) if input_id else None
    if known is not None:
        return known.messages if known.status == "received" else ()
    return _new_messages(session, messages, by_text=input_id is None)


def same_input(known: InputState, messages: Sequence[Message], by: str | None) -> bool:
    """Whether what comes under a known input's id is that input again: the same content from the same sender."""
    return known.digest == digest_input(messages) and known.by == by


def _entering(new: Sequence[Message], input_id: str, by: str | None) -> tuple[r.Record, ...]:
    if not new:
        return ()
    return (r.InputReceived(input_id, tuple(new), by), r.InputApplied(input_id))


def _new_messages(session: Session, messages: Sequence[Message], *, by_text: bool) -> tuple[Message, ...]:
    """The messages that are not there yet. A stored session has its system prompt and takes no other."""
    if not session.exists:
        return tuple(messages)
    incoming = without_system(messages)
    if not by_text or not incoming:
        return incoming
    stored = (*session.messages, *session.held)
    skip = _known(stored, incoming, session)
    if not skip and any(map(is_cut_off, stored)):
        # Who shows an answer as one, which was cut and gone on with, sends it back as one.
        skip = _known(stored, incoming, session, seen=joined)
    return incoming[skip:]


def _known(
    stored: Sequence[Message], incoming: Sequence[Message], session: Session, seen: Callable[[Sequence[Message]], Sequence[Message]] = tuple
) -> int:
    """How many leading messages of ``incoming`` are stored; ``seen``: as what the stored ones are compared."""
    start = len(without_system(seen(stored[: session.run.start])))
    return recognise(without_system(seen(stored)), incoming, finished=session.ended, run_start=start)
