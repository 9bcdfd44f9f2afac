"""A user's own records: which there may be, and what they say to the model.

They stand in the log beside ours, in front of an ``Appended`` of the same batch, which has what they say to the model. So
the transcript is the same whoever reads the log later, whatever became of the function that said it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import digest_of
from lousho_cli.domain.codec import encode_value
from lousho_cli.domain.messages import Message, messages_from
from lousho_cli.errors import SDKError

Project = Callable[[Mapping[str, Any]], Any]
"""What a user's own record says to the model: text, a user message or several, None for nothing. Pure."""

PROJECT_FAILED = "project_failed"
INVALID_RECORDS = "invalid_input"


def says_nothing(_record: Mapping[str, Any]) -> None:
    """The projection of who has none."""


def wrong_with(record: Mapping[str, Any]) -> str | None:
    """Why a record may not stand in a log as a user's own; None where it may."""
    if not isinstance(record.get("type"), str) or not record["type"]:
        return "it has no type"
    return f"its type begins with {r.RESERVED}, which is reserved" if is_reserved(record) else None


def is_reserved(record: Mapping[str, Any]) -> bool:
    """Whether a record has a type that is ours."""
    return str(record.get("type")).startswith(r.RESERVED)


def own_records(records: Sequence[Mapping[str, Any]]) -> tuple[r.Record, ...]:
    """A user's records as they stand in a log. A batch may hold records of others; its type leaves them out."""
    return cast("tuple[r.Record, ...]", tuple(r.Foreign(record["type"], encode_value(record)) for record in records))


def digest_of_records(records: Sequence[Mapping[str, Any]]) -> str:
    """16 hex digits over records: one id stands for one digest."""
    return digest_of(list(records))


def appended(post_id: str, records: Sequence[Mapping[str, Any]], by: str | None, project: Project) -> tuple[r.Record, ...]:
    """The records of a post that brings a user's own, or its refusal."""
    if not records or any(wrong_with(record) for record in records):
        return (r.InputRejected(post_id, INVALID_RECORDS),)
    try:
        said = said_by(records, project)
    except Exception:  # noqa: BLE001 - a projection is a caller's code, and what it fails on is refused
        return (r.InputRejected(post_id, PROJECT_FAILED),)
    return (*own_records(records), r.Appended(post_id, said, by, digest_of_records(records)))


def said_by(records: Sequence[Mapping[str, Any]], project: Project) -> tuple[Message, ...]:
    """What records say to the model. Raises whatever the projection does."""
    return tuple(message for record in records for message in _messages(project(record)))


def _messages(said: Any) -> tuple[Message, ...]:
    messages = () if said is None else messages_from(said)
    if any(message.role != "user" for message in messages):
        raise SDKError("a record can only say what a user says")
    return messages
