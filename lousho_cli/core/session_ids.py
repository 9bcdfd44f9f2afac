"""Which session ids a log store takes.

An id becomes a folder name, a key and a word on a command line, so it is kept to what is
plain in all three. Nothing is cleaned up silently: an id that is not valid is refused.
"""

from __future__ import annotations

import re

from lousho_cli.domain.heads import Head
from lousho_cli.errors import ConfigurationError

MAX_LENGTH = 128
MAX_FORK_LENGTH = 160

_VALID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*", re.ASCII)
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


def approval_log(approval_id: str) -> str:
    """The id of the log that keeps a pause of a run whose session is not in this store, or that has none."""
    return f"approval-{approval_id}"


def keeps_only_a_pause(head: Head) -> bool:
    """Whether a log is no session but such a pause: it is found by its approval, never listed as a session."""
    wait = head.waits_for or head.outline.taken
    return wait is not None and head.id == approval_log(wait.id)


def _refused(detail: str) -> ConfigurationError:
    return ConfigurationError(
        detail,
        field="session_id",
        code="LOUSHO_SESSION_ID_INVALID",
        hint="Use 1 to 128 letters, digits, '.', '_' or '-', and start with a letter, a digit or '_'.",
    )
