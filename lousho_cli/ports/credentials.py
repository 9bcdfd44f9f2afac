"""Where secrets are kept that belong to a person: keys of connected accounts, and answers on their way to a call that asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from lousho_cli.domain.secret_references import reference_in

SECRET_ANSWER = "secret_answer"  # noqa: S105 - the name of a type
"""The type of an answer on its way to the host that asked. A list shown to people leaves it out."""


class Credential(msgspec.Struct, frozen=True, omit_defaults=True):
    """One secret. ``expires_at``: UTC, ISO 8601; None for never. ``user``: whose it is, None for nobody's. Printing it hides the value."""

    id: str
    type: str
    user: str | None = None
    expires_at: str | None = None
    value: str = ""

    def __repr__(self) -> str:
        return f"Credential(id={self.id!r}, type={self.type!r}, user={self.user!r}, expires_at={self.expires_at!r}, value=[secret])"


class Credentials(Protocol):
    """A credential store. It knows no time: who reads looks at ``expires_at``. Each raises StorageError where it can not be asked."""

    async def save(self, credential: Credential) -> None:
        """Keeps it, in place of one with the same id and user."""

    async def read(self, id: str, user: str | None) -> Credential | None:
        """The one with this id, where it is this user's; else None."""

    async def take(self, id: str, user: str | None) -> Credential | None:
        """``read``, and it is gone: of several who take it, one gets it."""

    async def delete(self, id: str, user: str | None) -> None:
        """Removes it; nothing where it is not there."""

    async def list(self, user: str | None, type: str | None = None) -> list[Credential]:
        """This user's, of one type or of all, by id; without their values."""


class RunCredentials:
    """What a tool sees of a credential store: those of the person its run is for, without answers on their way."""

    def __init__(self, store: Credentials | None = None, user: str | None = None, now: Callable[[], str] = str) -> None:
        self._store, self._user, self._now = store, user, now

    async def list(self, type: str | None = None) -> list[Credential]:
        """This person's credentials, of one type or of all, without their values; [] where there is no store."""
        found = await self._store.list(self._user, type) if self._store is not None else []
        return [credential for credential in found if credential.type != SECRET_ANSWER]

    async def read(self, id: str) -> Credential | None:
        """One of this person's, with its value; None where it is not there."""
        found = await self._store.read(id, self._user) if self._store is not None else None
        return None if found is None or found.type == SECRET_ANSWER else found

    async def take(self, reference: str) -> str | None:
        """The secret that this person typed when a model asked for one, once; None where it was taken, is too old, or is another's.

        Args:
            reference: what the model got in its place, whole, or what follows ``[secret]`` alone.
        """
        kept = reference_in(reference)
        found = await self._store.take(kept, self._user) if self._store is not None and kept is not None else None
        if found is None or found.type != SECRET_ANSWER or (found.expires_at is not None and found.expires_at <= self._now()):
            return None
        return found.value

    def __repr__(self) -> str:
        return "RunCredentials()"
