"""Where secrets are kept that belong to a person: keys of connected accounts, and answers on their way to a call that asked."""

from __future__ import annotations

from typing import Protocol

import msgspec

SECRET_ANSWER = "secret_answer"  # noqa: S105 - the name of a type
"""The type of an answer on its way to the host that asked. A list shown to people leaves it out."""

ANSWER_PREFIX = "harness:answer:"
"""What the id of such a one begins with."""


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

    def __init__(self, store: Credentials | None = None, user: str | None = None) -> None:
        self._store, self._user = store, user

    async def list(self, type: str | None = None) -> list[Credential]:
        """This person's credentials, of one type or of all, without their values; [] where there is no store."""
        found = await self._store.list(self._user, type) if self._store is not None else []
        return [credential for credential in found if credential.type != SECRET_ANSWER]

    async def read(self, id: str) -> Credential | None:
        """One of this person's, with its value; None where it is not there."""
        found = await self._store.read(id, self._user) if self._store is not None else None
        return None if found is None or found.type == SECRET_ANSWER else found

    def __repr__(self) -> str:
        return "RunCredentials()"
