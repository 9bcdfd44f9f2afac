"""``export``: a session, or its beginning up to a checkpoint, in a form that others read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Literal, get_args

import msgspec

from lousho_cli.app.hostile_text import visible
from lousho_cli.app.loading import Loaded
from lousho_cli.app.redacting import Counting
from lousho_cli.app.sessions import find_session
from lousho_cli.app.showing import Point, read_point
from lousho_cli.core.checkpoints import state_of_checkpoint
from lousho_cli.core.fold import fold
from lousho_cli.core.versions import damaged_records
from lousho_cli.domain.records import Base, Batch
from lousho_cli.errors import ConfigurationError
from lousho_cli.interchange.session_lines import Header, session_lines
from lousho_cli.interchange.writing.redacting import Redact, redacted_batches
from lousho_cli.interchange.writing.subject import ORIGIN, Subject, subject_of
from lousho_cli.ports.log_store import LogRead
from lousho_cli.ports.sessions import Sessions

Form = Literal["jsonl", "atif", "openai", "anthropic", "markdown", "html"]

_ENDINGS: dict[str, Form] = {".jsonl": "jsonl", ".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html"}


class Export(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was exported. ``left`` says what is not in it.

    redactions: of how many texts something was taken out; None where nothing was to be. file: where it was written;
    content: all of it, where it was not.
    """

    session: str
    to: Form
    bytes: int
    messages: int
    steps: int
    subagents: int
    address: str | None = None
    redactions: int | None = None
    left: tuple[str, ...] = ()
    file: str | None = None
    content: str | None = None


def form_of(to: str | None, file: str | None) -> Form:
    """The form that was asked for; where none was, the one that a file's name ends in.

    Raises:
        ConfigurationError: neither says which.
    """
    found = to or _ENDINGS.get(os.path.splitext(file or "")[1].lower())
    if found is None:
        hint = f"Add --to {'|'.join(get_args(Form))}."
        told = "it is not said in which form to export"
        if file and file != "-":
            told += f", and the end of {os.path.basename(file)} does not tell it as {', '.join(_ENDINGS)} do"
        raise ConfigurationError(told, field="--to", code="LOUSHO_USAGE", hint=hint)
    return found  # type: ignore[return-value]  # the command line takes no other word


async def export(store: Sessions | None, text: str, to: Form, redact: Redact | None = None) -> tuple[Export, bytes, Loaded]:
    """A session in a form.

    Args:
        text: its address: a session, or a checkpoint of it, which means all that was there then.
        redact: what takes secrets out; None leaves everything in.

    Returns:
        What it is, its bytes, and the session it was read from, with all the damage of its log.

    Raises:
        ConfigurationError, NotFoundError: as ``read_point``.
        StorageError: it can not be read.
    """
    point = await read_point(store, text)
    store, session_id = await find_session(store, point.loaded.id)
    read = await store.read(session_id)
    loaded = Loaded(session_id, point.loaded.session, read.holes, tuple(damaged_records(read.batches)))
    batches = _up_to(point, await _standing(store, session_id, read))
    count = Counting(redact)
    if redact is not None:
        batches = tuple(redacted_batches(batches, count))
    address = str(msgspec.structs.replace(point.address, session=session_id)) if point.address.is_point else None
    subject = subject_of(session_id, batches, address, redacted=redact is not None)
    left: tuple[str, ...] = ()
    if to == "jsonl":
        header = Header(session_id, loaded.session.format, redact is not None, bool(loaded.damage))
        data = b"".join(session_lines(header, batches))
    elif to == "html":
        from lousho_cli.app.exporting_page import session_page

        data = (await session_page(store, subject, loaded)).encode()
    else:
        data, left = _FORMS[to](subject)
    told = Export(
        session=session_id,
        to=to,
        bytes=len(data),
        messages=len(subject.lead.said),
        steps=len(subject.steps),
        subagents=len(subject.subagents),
        address=address,
        redactions=count.changed if redact is not None else None,
        left=left,
    )
    return told, data, loaded


async def _standing(store: Sessions, session_id: str, read: LogRead) -> tuple[Batch, ...]:
    """The batches of a log. Where some are missing that a snapshot has, it stands for all up to its end."""
    state = await store.load_snapshot(session_id) if read.holes else None
    if state is None or all(hole.first > state.seq for hole in read.holes):
        return read.batches
    return (Batch(state.seq, state.epoch, state.updated_at, (Base(state),)), *(batch for batch in read.batches if batch.seq > state.seq))


def _up_to(point: Point, batches: Sequence[Batch]) -> tuple[Batch, ...]:
    """The batches that a point means. Of a checkpoint older than the log, as of one that a trim kept, a log that begins with it."""
    seq = point.address.seq if point.mark is None else point.mark.seq
    if seq is None:
        return tuple(batches)
    kept = tuple(batch for batch in batches if batch.seq <= seq)
    mark = point.mark
    if mark is None:
        return kept
    latest = fold(kept).latest
    if latest is not None and (latest.seq, latest.address) == (mark.seq, mark.address):
        return kept
    checkpoint = point.checkpoint
    assert checkpoint is not None  # a mark has one
    session = point.loaded.session
    state = msgspec.structs.replace(
        state_of_checkpoint(checkpoint, None),
        agent=session.agent or checkpoint.agent_id,
        parent=session.parent,
        created_at=session.created_at,
        settings={name: value for name, value in session.settings.items() if name == ORIGIN},
    )
    return (Batch(1, 1, mark.at, (Base(state),)),)


def _atif(subject: Subject) -> tuple[bytes, tuple[str, ...]]:
    from lousho_cli import __version__
    from lousho_cli.interchange.writing.atif import trajectory

    return json.dumps(trajectory(subject, __version__), ensure_ascii=False, indent=2).encode() + b"\n", ()


def _markdown(subject: Subject) -> tuple[bytes, tuple[str, ...]]:
    from lousho_cli.interchange.writing.markdown import markdown

    return visible("".join(markdown(subject))).encode(), ()


def _openai(subject: Subject) -> tuple[bytes, tuple[str, ...]]:
    from lousho_cli.app.exporting_messages import openai_messages

    messages, left = openai_messages(subject)
    return _document(messages), left


def _anthropic(subject: Subject) -> tuple[bytes, tuple[str, ...]]:
    from lousho_cli.app.exporting_messages import anthropic_messages

    messages, left = anthropic_messages(subject)
    return _document(messages), left


def _document(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


_FORMS: dict[str, Callable[[Subject], tuple[bytes, tuple[str, ...]]]] = {
    "atif": _atif,
    "markdown": _markdown,
    "openai": _openai,
    "anthropic": _anthropic,
}
