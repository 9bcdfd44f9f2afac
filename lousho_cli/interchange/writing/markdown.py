"""A session as Markdown to read. What a model, a tool or a person said stands in fences that nothing in it can close."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from lousho_cli.domain.cut_answers import is_cut_off
from lousho_cli.domain.messages import Message, TextPart
from lousho_cli.domain.usage import RunUsage
from lousho_cli.interchange.writing.atif import said_of
from lousho_cli.interchange.writing.subject import Said, Started, Subject, Taken, Transcript

_TICKS = re.compile("`+")
_DEEPEST = 40
"""JSON nested deeper stays as it is: spread over lines it would be mostly the room in front of them, and many times as long."""

_TIME = re.compile("[0-9TZ:.+-]+")
_WHO = {"system": "System", "user": "User", "assistant": "Assistant", "tool": "Result"}


def markdown(subject: Subject) -> Iterator[str]:
    """The text, piece by piece. Control characters in it are still what they were."""
    yield from _head(subject)
    yield from _transcript(subject, subject.lead, 2)


def fenced(text: str, kind: str = "text") -> str:
    """A block that shows a text as it is: its fence is longer than any in the text."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{kind}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"


def code(text: str) -> str:
    """A text on one line, in a sentence, a heading or a cell of a table."""
    text = " ".join(text.split()).replace("|", "\\|") or " "
    ticks = "`" * (_longest(text) + 1)
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{room}{text}{room}{ticks}"


def _time(at: str) -> str:
    """A time as it is; what is none may be anything, as a log of others says what it likes."""
    return at if not at or _TIME.fullmatch(at) else code(at)


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _head(subject: Subject) -> Iterator[str]:
    session = subject.session
    yield f"# {code(subject.name)}\n\n"
    facts = [("Agent", code(session.agent or session.run.agent_id)) if session.agent or session.run.agent_id else None]
    facts.append(("Status", session.status + (f", {session.outcome}" if session.outcome else "")))
    if session.parent is not None:
        at = "" if session.parent.beside else f" at step {session.parent.step}"
        facts.append(("Started by" if session.parent.beside else "Forked from", f"{code(session.parent.session)}{at}"))
    if (origin := subject.origin) is not None:
        facts.append(("Imported from", f"{code(origin.kind)}, {code(origin.file)}"))
    facts += [("Begun", _time(session.created_at)), ("Last change", _time(session.updated_at)), ("Steps", str(len(subject.steps)))]
    used = session.earlier.joined(session.usage).with_delegated
    if used.model_calls:
        facts.append(("Tokens", _tokens(used)))
        facts.append(("Cost", "not known" if used.cost_usd is None else f"${used.cost_usd:.6f}".rstrip("0").rstrip(".")))
    for name, value in filter(None, facts):
        if value:
            yield f"- {name}: {value}\n"
    if session.error:
        yield f"\nIt ended with:\n\n{fenced(session.error)}"
    if session.wait is not None:
        yield f"\nIt waits for a person: {code(session.wait.tool_name)}, {code(session.wait.id)}\n"
    if subject.redacted:
        yield "\nTexts were taken out of this copy.\n"
    if subject.steps:
        yield "\n| run | step | model | in | out | cost |\n|---:|---:|---|---:|---:|---:|\n"
        yield from map(_row, subject.steps)


def _tokens(used: RunUsage) -> str:
    return f"{used.total_tokens} ({used.input_tokens} in, {used.output_tokens} out{', estimated' if used.estimated else ''})"


def _row(taken: Taken) -> str:
    usage = taken.usage
    cost = "" if usage.cost_usd is None else f"{usage.cost_usd:.6f}"
    guess = "~" if usage.estimated else ""
    model = code(usage.model) if usage.model else ""
    return f"| {taken.run} | {usage.step} | {model} | {guess}{usage.input_tokens} | {guess}{usage.output_tokens} | {cost} |\n"


def _transcript(subject: Subject, one: Transcript, level: int) -> Iterator[str]:
    started = Started(subject, one)
    for said in one.said:
        message = said.message
        yield from _said(said, level)
        if message.role == "tool" and (found := started.take(message.tool_call_id, message.tool_name)) is not None:
            yield from _subagent(subject, found, level + 1)
    for found in started.rest():
        yield from _subagent(subject, found, level + 1)


def _subagent(subject: Subject, one: Transcript, level: int) -> Iterator[str]:
    yield f"\n{'#' * min(level, 6)} Sub-agent {code(' / '.join(one.path))}\n"
    yield from _transcript(subject, one, level + 1)


def _said(said: Said, level: int) -> Iterator[str]:
    message = said.message
    name = _WHO[message.role]
    if message.role == "tool":
        name = f"{'Error' if message.is_error else 'Result'} of {code(message.tool_name or message.tool_call_id or '')}"
    beside = [f"run {said.step.run}, step {said.step.usage.step}"] if said.step else []
    beside += ["cut off"] if is_cut_off(message) else []
    beside += [_time(said.at)] if said.at else []
    yield f"\n{'#' * min(level, 6)} {name}{': ' if beside else ''}{', '.join(beside)}\n\n"
    for block in message.reasoning:
        if block.text:
            yield f"Reasoning:\n\n{fenced(block.text)}\n"
    yield from _content(message)
    for call in message.tool_calls:
        yield f"\nCalls {code(call.name)} ({code(call.id)}):\n\n{_json(call.arguments)}"


def _content(message: Message) -> Iterator[str]:
    parts = (TextPart(message.content),) if isinstance(message.content, str) else message.content
    for part in parts:
        if not isinstance(part, TextPart):
            yield f"{code(said_of(part))}\n"
        elif part.text:
            yield _json(part.text) if message.role == "tool" else fenced(part.text)


def _json(text: str) -> str:
    """JSON spread over lines, every text and number in it as it was; any other text as it is."""
    if not text.lstrip().startswith(("{", "[")):
        return fenced(text)
    try:
        if _deeper(msgspec.json.decode(text), _DEEPEST):
            return fenced(text, "json")
        return fenced(msgspec.json.format(text, indent=2), "json")
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return fenced(text)


def _deeper(value: Any, than: int) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return than == 0 or any(_deeper(item, than - 1) for item in items if isinstance(item, dict | list))
