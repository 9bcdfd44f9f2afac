"""What the driver said, as one of our errors, and whether trying again may help."""

from __future__ import annotations

from lousho_cli.errors import StorageError
from lousho_cli.stores.postgres.address import Address
from lousho_cli.stores.postgres.driver import Error, psycopg

NO_STORE = (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName)
"""There are no tables of ours."""

_AGAIN = frozenset(
    {
        "40001",  # could not be put in an order
        "40P01",  # deadlock
        "55P03",  # a lock was not to be had
        "57P01",  # the server is being shut down
        "57P02",  # or has crashed
        "57P03",  # or is starting
        "57P05",  # idle for too long
        "25006",  # it became a standby: the one that writes is elsewhere
        "53300",  # too many connections
        "08000", "08001", "08003", "08004", "08006", "08P01",
    }
)  # fmt: skip

_SAID = {
    "53100": ("there is no room on the server's disk", "Make room there; what was saved is still there."),
    "53200": ("the server is out of memory", "Try again; what was saved is still there."),
    "53300": ("the server takes no more connections", "Raise its max_connections, or lower ?connections= of this store."),
    "42501": ("no permission", "Give this user the rights to the schema, or name another with ?schema=."),
    "25006": ("the server can only be read", "Name the one that writes, or several with target_session_attrs=read-write."),
    "54000": ("a record is larger than the database takes", ""),
    "57014": ("the server cancelled the statement", "See its statement_timeout."),
}


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
    text = " ".join(address.masked(str(error)).split())
    hint = "Check that the server runs and can be reached; what was saved is still there." if error.sqlstate is None else ""
    return StorageError(f"{address.shown}: {text or type(error).__name__}", hint=hint)
