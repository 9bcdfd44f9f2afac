"""The credential store of the commands: the keyring of the person who types them, asked only when something needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.credentials import Credential, Credentials

if TYPE_CHECKING:
    from lousho_cli.stores.credentials_keyring import KeyringCredentials


class OwnCredentials:
    """The keyring, where there is one; without one it holds nothing. ``held``: answers of this process, looked at first."""

    def __init__(self, held: Credentials | None = None) -> None:
        self._held = held
        self._found: KeyringCredentials | None = None

    async def save(self, credential: Credential) -> None:
        await keyring_or_say().save(credential)

    async def read(self, id: str, user: str | None) -> Credential | None:
        found = await self._held.read(id, user) if self._held is not None else None
        kept = self._keyring() if found is None else None
        return await kept.read(id, user) if kept is not None else found

    async def take(self, id: str, user: str | None) -> Credential | None:
        found = await self._held.take(id, user) if self._held is not None else None
        kept = self._keyring() if found is None else None
        return await kept.take(id, user) if kept is not None else found

    async def delete(self, id: str, user: str | None) -> None:
        kept = self._keyring()
        if kept is not None:
            await kept.delete(id, user)

    async def list(self, user: str | None, type: str | None = None) -> list[Credential]:
        kept = self._keyring()
        return await kept.list(user, type) if kept is not None else []

    def _keyring(self) -> KeyringCredentials | None:
        if self._found is None:
            try:
                self._found = keyring_or_say()
            except ConfigurationError:
                return None
        return self._found


def keyring_or_say() -> KeyringCredentials:
    """The keyring.

    Raises:
        ConfigurationError: there is none.
    """
    from lousho_cli.stores.credentials_keyring import KeyringCredentials

    return KeyringCredentials()
