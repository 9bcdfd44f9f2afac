"""What the driver said, as one of our errors, and whether trying again may help."""

from __future__ import annotations

from lousho_cli.errors import StorageError
from lousho_cli.stores.postgres.address import Address
from lousho_cli.stores.postgres.driver import Error, psycopg, psycopg_pool

NO_STORE = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedFunction, psycopg.errors.InvalidSchemaName)
"""There are no tables of ours, and no functions."""

_AGAIN = frozenset(
    {
        "40001",  # could not be put in an order
        "40P01",  # deadlock
        "55P03",  # a lock was not to be had
        "57P01",  # the server is being shut down
        "57P02",  # or has crashed
        "57P03",  # or is starting
        "57P05",  # idle for too long
        "25P03",  # and that within a transaction: this process was stopped there
        "25P04",  # or was too slow in it
        "25006",  # it became a standby: the one that writes is elsewhere
        "53300",  # too many connections
        "08000", "08001", "08003", "08004", "08006", "08P01",
    }
)  # fmt: skip

_CHANGED = "Were they changed by hand, or made by a version that was never released? Name another schema with ?schema=, or restore them."
_SAID = {
    "53100": ("there is no room on the server's disk", "Make room there; what was saved is still there."),
    "53200": ("the server is out of memory", "Try again; what was saved is still there."),
    "53300": ("the server takes no more connections", "Raise its max_connections, or lower ?connections= of this store."),
    "42501": ("no permission", "Give this user the rights to the schema, or name another with ?schema=."),
    "25006": ("the server can only be read", "Name the one that writes, or several with target_session_attrs=read-write."),
    **dict.fromkeys(("42P01", "42703", "42883"), ("its tables are not as this lousho makes them", _CHANGED)),
    "54000": ("a record is larger than the database takes", ""),
    "57014": ("the server cancelled the statement", "See its statement_timeout; what was saved is still there."),
}

_AWAY = "Check that the server runs and can be reached; what was saved is still there."
_CONNECTING = (
    ("does not exist", 'database "', "Create it on the server (createdb), or name another behind the last / of the address."),
    ("did not answer in time", "", "It may hang, be overloaded, or wait for a lock or its standby; what was saved is still there."),
    ("authentication failed", "", "Check the user and the password: of the address, of PGPASSWORD or of ~/.pgpass."),
    ("no password supplied", "", "Give it with PGPASSWORD, or in ~/.pgpass."),
    ("does not exist", 'role "', "Create this user on the server, or name another before the @ of the address."),
    ("pg_hba.conf", "", "Ask whoever runs the server to let this user in from here, or try another sslmode."),
    ("session is read-only", "", "No server of the address writes now: make a standby take over, or name the one that does."),
    ("too many", "", "Raise max_connections of the server, or the limit of this user; or lower ?connections= of this store."),
    ("certificate verify failed", "", "Name who signed the server's certificate with ?sslrootcert=FILE; never turn the check off."),
    ("does not match host name", "", "Name the server as its certificate does."),
    ("root certificate file", "", "Name who signed the server's certificate with ?sslrootcert=FILE, or use sslrootcert=system."),
    ("does not support SSL", "", "Switch TLS on at the server, or take sslmode out of the address where the way there is safe."),
)
"""What a server that is there says to who wants to connect, in English: words, what must stand there too, and what to do."""


_NOT_YET = (
    "starting up",
    "shutting down",
    "not yet accepting",
    "too many",
    "recovery",
    "connection slots",
    "closed the connection",
    "terminating connection",
    "error response during",  # as the driver says it before it knows whom it talks to: why is not told then
    "is read-only",
)
"""What a server says that is there, but not yet, or no more for a moment."""

_NOBODY = ("s the server running", "failed to resolve", "did not answer in time", "timeout expired")
"""What the driver says where it met no server at all."""


class ServerAwayError(StorageError):
    """A server that could not be reached, or did not answer, for as long as it was tried. What was asked of it plays no part."""


def not_yet(error: Error) -> bool:
    """Whether a server that was connected to is there, and a moment more may do."""
    return isinstance(error, psycopg.OperationalError) and any(words in str(error) for words in _NOT_YET)


def nobody_there(error: Error) -> bool:
    """Whether no server was met where one was to be connected to: it was not started yet, or the address is wrong."""
    return isinstance(error, psycopg.OperationalError) and any(words in str(error) for words in _NOBODY)


def may_pass(error: Error) -> bool:
    """Whether the same may work a little later, on another connection."""
    if error.sqlstate is not None:
        return error.sqlstate in _AGAIN
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def breaks(error: Error) -> bool:
    """Whether the connection that gave this error is to be given up, even where it still stands."""
    return error.sqlstate in ("25006", "57P01", "57P02") or (error.sqlstate is None and may_pass(error))


def storage_error(address: Address, error: Error) -> StorageError:
    """What went wrong with a server, without a password. The driver's own error holds more than is good to show, so it is left out."""
    said = _SAID.get(error.sqlstate or "")
    if said is not None:
        return StorageError(f"{address.shown}: {said[0]}", hint=said[1])
    text = " ".join(address.masked(str(error)).split()).replace("wait timeout expired", "the server did not answer in time")
    if isinstance(error, psycopg_pool.PoolTimeout):
        detail = f"all of the {address.connections} connections of this process are in use"
        return StorageError(f"{address.shown}: {detail}", hint="Raise ?connections= of this store, or ask for less at once.")
    if error.sqlstate is None and may_pass(error):
        away = ServerAwayError(f"{address.shown}: {text}", hint=_hint(text))
        away.retryable = any(words in text for words in (*_NOT_YET, *_NOBODY))
        return away
    return StorageError(f"{address.shown}: {text or type(error).__name__}")


def _hint(text: str) -> str:
    return next((hint for words, also, hint in _CONNECTING if words in text and also in text), _AWAY)
