"""The credential store of the commands: beside the sessions where these are shared by many machines, and the keyring of who types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.credentials import Credential, Credentials

if TYPE_CHECKING:
    from lousho_cli.stores.credentials_keyring import KeyringCredentials


class OwnCredentials:
    """What the log store keeps beside its sessions, if it does, and the keyring, where there is one; each asked only when needed.

    Args:
        held: answers of this process, looked at first.
        store: the log store of the sessions.
    """

    def __init__(self, held: Credentials | None = None, store: Any = None) -> None:
        self._held, self._shared = held, shared_credentials(store)
        self._found: KeyringCredentials | None = None

    def beside(self, store: Any) -> OwnCredentials:
        """The same for the sessions of a log store."""
        return OwnCredentials(self._held, store)

    async def save(self, credential: Credential) -> None:
        await (self._shared or keyring_or_say()).save(credential)

    async def read(self, id: str, user: str | None) -> Credential | None:
        for kept in self._places():
            if (found := await kept.read(id, user)) is not None:
                return found
        kept_here = self._keyring()
        return await kept_here.read(id, user) if kept_here is not None else None

    async def take(self, id: str, user: str | None) -> Credential | None:
        for kept in self._places():
            if (found := await kept.take(id, user)) is not None:
                return found
        kept_here = self._keyring()
        return await kept_here.take(id, user) if kept_here is not None else None

    async def delete(self, id: str, user: str | None) -> None:
        for kept in (self._shared, self._keyring()):
            if kept is not None:
                await kept.delete(id, user)

    async def list(self, user: str | None, type: str | None = None) -> list[Credential]:
        found = {one.id: one for kept in (self._keyring(), self._shared) if kept is not None for one in await kept.list(user, type)}
        return sorted(found.values(), key=lambda one: one.id)

    def _places(self) -> Sequence[Credentials]:
        """Where to look before the keyring, which may have to be unlocked."""
        return [kept for kept in (self._held, self._shared) if kept is not None]

    def _keyring(self) -> KeyringCredentials | None:
        if self._found is None:
            try:
                self._found = keyring_or_say()
            except ConfigurationError:
                return None
        return self._found


def shared_credentials(store: Any) -> Credentials | None:
    """The credential store that a log store has for all who share it, None for one without."""
    found: Credentials | None = getattr(store, "credentials", None)
    return found


def way_of_secrets(store: Any) -> Credentials:
    """How a secret reaches who drives a session of a log store.

    Raises:
        ConfigurationError: there is no way: the store has none, and there is no keyring here.
    """
    return shared_credentials(store) or keyring_or_say()


def keyring_or_say() -> KeyringCredentials:
    """The keyring.

    Raises:
        ConfigurationError: there is none.
    """
    from lousho_cli.stores.credentials_keyring import KeyringCredentials

    return KeyringCredentials()
