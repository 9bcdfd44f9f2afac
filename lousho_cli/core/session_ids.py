"""Which session ids a store takes.

In a log store an id becomes a folder name, a key and a word on a command line, so it is kept to
what is plain in all three; stores of plain files take a little more. Nothing is cleaned up
silently: an id that is not valid is refused.
"""

from __future__ import annotations

import re

from lousho_cli.domain.heads import Head
from lousho_cli.errors import ConfigurationError

MAX_LENGTH = 128
MAX_FORK_LENGTH = 160
MAX_FILE_LENGTH = 200

_VALID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*", re.ASCII)
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", re.ASCII)
_APPROVAL = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_DERIVED = re.compile(r"\.fork-[0-9]+\Z", re.ASCII)


def check_session_id(session_id: str) -> str:
    """The id, when it is one.

    1 to 128 letters, digits, ``.``, ``_`` and ``-``, not starting with ``.`` or ``-``; the id
    derived for a fork (``….fork-N``) may reach 160.

    Raises:
        ConfigurationError: it is not valid; field ``session_id``.
    """
    if not isinstance(session_id, str) or not session_id:
        raise _refused("a session id must not be empty")
    limit = MAX_FORK_LENGTH if _DERIVED.search(session_id) else MAX_LENGTH
    if len(session_id) > limit:
        raise _refused(f"the session id has {len(session_id)} characters, {limit} are allowed")
    if not _VALID.fullmatch(session_id):
        raise _refused(f"the session id {session_id!r} is not valid")
    return session_id


def is_session_id(text: str) -> bool:
    """Whether ``check_session_id`` takes it."""
    try:
        return bool(check_session_id(text))
    except ConfigurationError:
        return False


def check_file_id(session_id: str) -> str:
    """The id, when it can name a file of its own: 1 to 200 letters, digits, ``.``, ``_`` and ``-``, not starting with ``.``.

    Raises:
        ConfigurationError: it can not; field ``session_id``.
    """
    if not isinstance(session_id, str) or not 0 < len(session_id) <= MAX_FILE_LENGTH or not _FILE.fullmatch(session_id):
        hint = f"Use 1 to {MAX_FILE_LENGTH} letters, digits, '.', '_' or '-', and do not start with '.'."
        raise _refused(f"the session id {session_id!r} can not name a file", hint)
    return session_id


def check_approval_id(approval_id: str) -> str:
    """The id of an approval, when it can name a file of its own: 1 to 128 letters, digits, ``_`` and ``-``.

    Raises:
        ConfigurationError: it can not; field ``approval_id``.
    """
    if not isinstance(approval_id, str) or not 0 < len(approval_id) <= MAX_LENGTH or not _APPROVAL.fullmatch(approval_id):
        hint = "See what waits: lousho pending"
        raise ConfigurationError(f"{approval_id!r} is no approval id", field="approval_id", hint=hint)
    return approval_id


def escaped(name: str) -> str:
    """A name with its capitals escaped, ``^trip`` for ``Trip``, so that no disk takes two names for the same file."""
    return re.sub(r"[A-Z]", lambda found: "^" + found[0].lower(), name)


def approval_log(approval_id: str) -> str:
    """The id of the log that keeps a pause of a run whose session is not in this store, or that has none."""
    return f"approval-{approval_id}"


def keeps_only_a_pause(head: Head) -> bool:
    """Whether a log is no session but such a pause: it is found by its approval, never listed as a session."""
    wait = head.waits_for or head.outline.taken
    return wait is not None and head.id == approval_log(wait.id)


def _refused(
    detail: str, hint: str = "Use 1 to 128 letters, digits, '.', '_' or '-', and start with a letter, a digit or '_'."
) -> ConfigurationError:
    return ConfigurationError(detail, field="session_id", code="LOUSHO_SESSION_ID_INVALID", hint=hint)
