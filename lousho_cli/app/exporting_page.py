"""A session as a page to look at in a browser: what was said, its ring, what each step used, and its family of forks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lousho_cli.app.families import Member, family
from lousho_cli.app.histories import entries_of
from lousho_cli.app.loading import Loaded
from lousho_cli.app.usage import session_totals
from lousho_cli.domain.cut_answers import is_cut_off, is_synthetic
from lousho_cli.domain.messages import Message, TextPart
from lousho_cli.domain.plain import json_text
from lousho_cli.domain.session import Session
from lousho_cli.errors import SDKError
from lousho_cli.interchange.writing.atif import said_of
from lousho_cli.interchange.writing.subject import Said, Started, Subject, Taken, Transcript
from lousho_cli.pages.document import page
from lousho_cli.ports.sessions import Sessions


async def session_page(store: Sessions, subject: Subject, loaded: Loaded) -> str:
    """The page as one HTML text.

    Args:
        store: where the other members of its family are.
        loaded: the session as it was read, for its damage.
    """
    session = subject.session
    parent = session.parent
    wait = session.wait
    transcripts = _Transcripts(subject)
    said, places = transcripts.entries(subject.lead)
    data: dict[str, Any] = {
        "name": subject.name,
        "session": subject.id,
        "address": subject.address,
        "agent": session.agent or session.run.agent_id,
        "status": session.status,
        "outcome": session.outcome,
        "error": session.error,
        "begun": session.created_at,
        "changed": session.updated_at,
        "parent": parent.session if parent is not None else None,
        "parent_step": parent.step if parent is not None and not parent.beside else None,
        "origin": subject.origin,
        "redacted": subject.redacted,
        "damage": [*loaded.damage, *([loaded.newer] if loaded.newer else [])],
        "waits": {"id": wait.id, "tool": wait.tool_name, "kind": wait.kind, "args": json_text(wait.args)[0]} if wait is not None else None,
        "state": None if session.business_state is None else json_text(session.business_state)[0],
        "totals": session_totals(session),
        "models": session.earlier.joined(session.usage).by_model,
        "steps": [_step(taken) for taken in subject.steps],
        "said": said,
        "ring": _ring(subject, places),
        "limit": session.ring,
        "subagents": transcripts.subagents,
        "family": await _family(store, subject),
    }
    return page("session", f"{subject.name} · lousho", data)


async def _family(store: Sessions, subject: Subject) -> tuple[Member, ...]:
    try:
        members = await family(store, subject.id)
    except SDKError:  # a store that lists nothing: the session is there all the same
        return ()
    return members if len(members) > 1 else ()


def _ring(subject: Subject, places: Sequence[int]) -> list[dict[str, Any]]:
    """The kept checkpoints, oldest first, each with the place of the last entry that it has."""
    session = subject.session
    entries = entries_of(Loaded(subject.id, session))
    found = []
    for mark, entry in zip(session.marks, reversed(entries), strict=True):
        there = len(mark.messages) <= len(places) and mark.messages.shares_with(session.messages)
        found.append(
            {
                "address": mark.address,
                "seq": mark.seq,
                "run": mark.run.number,
                "step": mark.step,
                "status": mark.status,
                "finish_reason": mark.finish_reason,
                "at": mark.at,
                "added": entry.added,
                "bytes": entry.bytes,
                "waits": mark.approval_id is not None,
                "place": places[len(mark.messages) - 1] if there and len(mark.messages) else None,
            }
        )
    return found


class _Transcripts:
    """Transcripts as entries of a page, and the sub-agents that their calls lead to, by place."""

    def __init__(self, subject: Subject) -> None:
        self.subagents: list[dict[str, Any]] = []
        self._subject = subject

    def entries(self, one: Transcript) -> tuple[list[dict[str, Any]], list[int]]:
        """What was said, results beside their calls; and for each message of the session the place of its entry."""
        entries: list[dict[str, Any]] = []
        open_calls: dict[str, dict[str, Any]] = {}
        started = Started(self._subject, one)
        held: list[int] = []
        for said in one.said:
            message = said.message
            call = open_calls.pop(message.tool_call_id or "", None) if message.role == "tool" else None
            if call is not None:
                call |= {"result": _text(message), "failed": message.is_error, "ended": said.at, "given": _given(message)}
            else:
                entries.append(_entry(said))
            if message.role == "assistant":
                open_calls = {call["id"]: call for call in entries[-1]["calls"]}
                for call in entries[-1]["calls"]:
                    self._lead_to(call, started)
            held.append(len(entries) - 1)
        entries += [_entry(Said(Message("tool", ""))) | {"subagent": self._place(found)} for found in started.rest()]
        return entries, _with_notes(one.session, held)

    def _lead_to(self, call: dict[str, Any], started: Started) -> None:
        found = started.take(call["id"], call["name"])
        if found is not None:
            call["subagent"] = self._place(found)

    def _place(self, found: Transcript) -> int:
        """The place of a sub-agent, which is told of there with all in it."""
        session = found.session
        place = len(self.subagents)
        told: dict[str, Any] = {"path": found.path, "status": session.status, "outcome": session.outcome, "error": session.error}
        self.subagents.append(told)
        told |= {"said": self.entries(found)[0], "tokens": session.usage.tokens_with_delegated, "steps": session.step}
        return place


def _with_notes(session: Session, held: list[int]) -> list[int]:
    """The places of all messages of a session: a note of ours, which is shown nowhere, stands with the message before it."""
    places: list[int] = []
    at = iter(held)
    for message in session.messages:
        places.append((places[-1] if places else 0) if is_synthetic(message) else next(at))
    return places


def _entry(said: Said) -> dict[str, Any]:
    message = said.message
    return {
        "role": message.role,
        "text": _text(message),
        "of": message.tool_name or message.tool_call_id,
        "reasoning": [block.text for block in message.reasoning if block.text],
        "calls": [{"id": call.id, "name": call.name, "args": call.arguments, "result": None} for call in message.tool_calls],
        "at": said.at,
        "cut": is_cut_off(message),
        "copied": said.copied,
        "used": _step(said.step) if said.step is not None else None,
    }


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text if isinstance(part, TextPart) else said_of(part) for part in message.content)


def _given(message: Message) -> str | None:
    """Who had a say in a result beside the tool, in words."""
    marks = message.metadata or {}
    told = []
    if isinstance(decided := marks.get("approval"), Mapping):
        edited = ", with other arguments" if decided.get("edited") else ""
        by = f" by {decided['by']}" if decided.get("by") else ""
        told.append(f"{'approved' if decided.get('approved') else 'rejected'}{by}{edited}")
    if "replacedByHook" in marks:
        told.append(f"put in place by {marks['replacedByHook']}")
    return "; ".join(told) or None


def _step(taken: Taken) -> dict[str, Any]:
    return {"run": taken.run, "at": taken.at, **msgspec.structs.asdict(taken.usage)}
