"""What may be part of a KV key, and how long a value may live."""

from __future__ import annotations

from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.stores.kv.namespace import LEAST_TTL_SECONDS, MOST_KEY_BYTES

HISTORY = "#history"
"""What the keys of a session's history add to its own."""


def key_of(prefix: str, name: str, field: str, room: int) -> str:
    """The key of a session or an approval.

    Args:
        field: whose option it is, for the error.
        room: how many bytes must be left for what longer keys add.

    Raises:
        ConfigurationError: KV has no such key, or it could be taken for one of a history.
    """
    key = f"{prefix}{name}"
    wrong = None
    if not isinstance(name, str) or not name:
        wrong = "is empty" if name == "" else "is no text"
    elif HISTORY in name:
        wrong = f"holds {HISTORY}, which ends the keys of a history"
    elif key in {".", ".."}:
        wrong = "is no key that KV takes"
    elif len(key.encode("utf-8", "surrogatepass")) + room > MOST_KEY_BYTES:
        wrong = f"is too long: KV takes keys of {MOST_KEY_BYTES} bytes, and a history needs {room} of them"
    elif any("\ud800" <= char <= "\udfff" for char in name):
        wrong = "holds what is no character"
    if wrong is not None:
        code = "LOUSHO_SESSION_ID_INVALID" if field == "session_id" else None
        raise ConfigurationError(f"the {field.replace('_', ' ')} {name!r:.80} {wrong}", field=field, code=code, hint="Use another id.")
    return key


def check_ttl_seconds(seconds: int | None, field: str = "ttl_seconds") -> int | None:
    """The time to live, when it is None or a whole number from 60, the least that KV takes.

    Raises:
        RangeError: it is not.
    """
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int) or seconds < LEAST_TTL_SECONDS:
        raise RangeError(
            f"{field} must be a whole number of seconds, {LEAST_TTL_SECONDS} or more, not {seconds!r}",
            field=field,
            hint="Leave it out to keep values for ever.",
        )
    return seconds
