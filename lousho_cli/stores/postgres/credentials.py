"""A credential store in the schema of a log store: so that an answer typed on one machine reaches the host that asked on another.

Values stand in their rows as they are: whoever may read the table, the server's disk or a copy of it, can read them. What protects
them is the rights of the database, ``sslmode`` on the way, and that a secret answer goes when it is taken, and does not stay when it
is too old: what has expired for a day is removed whenever something is saved. Keep keys that last in a store made for them.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from lousho_cli.domain.times import later, stamp
from lousho_cli.ports.credentials import Credential
from lousho_cli.stores.postgres.driver import Row
from lousho_cli.stores.postgres.hand import Hand

if TYPE_CHECKING:
    from lousho_cli.stores.postgres.store import PostgresStore

_DAY_MS = 86_400_000
_SAVE = """INSERT INTO {s}.credentials (id, owner, type, expires_at, value) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (id, owner) DO UPDATE SET type = excluded.type, expires_at = excluded.expires_at, value = excluded.value, taken_by = NULL"""
_READ = "SELECT id, type, expires_at, value FROM {s}.credentials WHERE id = %s AND owner = %s AND taken_by IS NULL"
_TAKE = """UPDATE {s}.credentials SET taken_by = %s WHERE id = %s AND owner = %s AND (taken_by IS NULL OR taken_by = %s)
    RETURNING id, type, expires_at, value"""
_LIST = "SELECT id, type, expires_at, ''::bytea FROM {s}.credentials WHERE owner = %s AND taken_by IS NULL ORDER BY id"


class PostgresCredentials:
    """Keeps credentials beside the logs of ``store``. See ``ports.credentials.Credentials``."""

    def __init__(self, store: PostgresStore) -> None:
        self._store, self._database = store, store.database  # a store that nobody holds is closed

    async def save(self, credential: Credential) -> None:
        row = (credential.id, _owner(credential.user), credential.type, credential.expires_at, _bytes(credential.value))
        await self._database.run(partial(_save, row))

    async def read(self, id: str, user: str | None) -> Credential | None:
        rows: list[Row] = await self._database.read(lambda hand: hand.rows(_READ, (id, _owner(user))), [])
        return _credential(rows[0], user) if rows else None

    async def take(self, id: str, user: str | None) -> Credential | None:
        """See ``Credentials``. It is marked as ours and then removed: so it is not lost with the answer to a statement."""
        mark = secrets.token_hex(8)
        rows: list[Row] = await self._database.read(lambda hand: hand.rows(_TAKE, (mark, id, _owner(user), mark)), [])
        if not rows:
            return None
        await self._database.run(lambda hand: hand.run("DELETE FROM {s}.credentials WHERE taken_by = %s", (mark,)))
        return _credential(rows[0], user)

    async def delete(self, id: str, user: str | None) -> None:
        delete = "DELETE FROM {s}.credentials WHERE id = %s AND owner = %s"
        await self._database.read(lambda hand: hand.run(delete, (id, _owner(user))), 0)

    async def list(self, user: str | None, type: str | None = None) -> list[Credential]:
        rows: list[Row] = await self._database.read(lambda hand: hand.rows(_LIST, (_owner(user),)), [])
        return [_credential(row, user) for row in rows if type in (None, row[1])]

    def __repr__(self) -> str:
        return "PostgresCredentials()"


def _save(row: tuple[Any, ...], hand: Hand) -> None:
    hand.run(_SAVE, row)
    hand.run("DELETE FROM {s}.credentials WHERE expires_at < %s", (later(stamp(datetime.now(UTC)), -_DAY_MS),))


def _owner(user: str | None) -> str:
    """A person as a key: nobody is none of them."""
    return "" if user is None else f"user {user}"


def _bytes(value: str) -> bytes:
    return value.encode(errors="surrogatepass")


def _credential(row: tuple[Any, ...], user: str | None) -> Credential:
    name, kind, expires_at, value = row
    return Credential(name, kind, user, expires_at, bytes(value).decode(errors="surrogatepass"))
