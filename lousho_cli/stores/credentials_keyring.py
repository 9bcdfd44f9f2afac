"""A credential store in the system's keyring, for all processes of one person on one machine. Needs the extra ``keyring``.

A keyring holds text under a service and a name, and can not list what it holds. So each credential stands under its id,
and a further entry for each person names the ids. A keyring knows no locks: of two processes that save at the same moment,
one may be missing from the list, though it is there; and two that take the same one at the same moment may both get it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from lousho_cli.errors import ConfigurationError, StorageError
from lousho_cli.ports.credentials import Credential

T = TypeVar("T")

SERVICE = "lousho-credentials"


class KeyringCredentials:
    """Keeps credentials in the keyring. See ``ports.credentials.Credentials``.

    Args:
        service: the service they stand under.

    Raises:
        ConfigurationError: there is no keyring on this machine, or the extra is not installed.
    """

    def __init__(self, service: str = SERVICE) -> None:
        self._keyring, self._service = _usable(), service
        self._one_at_a_time = asyncio.Lock()

    async def save(self, credential: Credential) -> None:
        def work() -> None:
            self._keyring.set_password(self._service, _name(credential.id, credential.user), msgspec.json.encode(credential).decode())
            self._put_ids(credential.user, {*self._ids(credential.user), credential.id})

        await self._ask(work)

    async def read(self, id: str, user: str | None) -> Credential | None:
        return await self._ask(lambda: self._read(id, user))

    async def take(self, id: str, user: str | None) -> Credential | None:
        def work() -> Credential | None:
            found = self._read(id, user)
            if found is not None:
                self._remove(id, user)
            return found

        return await self._ask(work)

    async def delete(self, id: str, user: str | None) -> None:
        await self._ask(lambda: self._remove(id, user))

    async def list(self, user: str | None, type: str | None = None) -> list[Credential]:
        def work() -> list[Credential]:
            found = [self._read(one, user) for one in sorted(self._ids(user))]
            return [msgspec.structs.replace(one, value="") for one in found if one is not None and type in (None, one.type)]

        return await self._ask(work)

    def _read(self, id: str, user: str | None) -> Credential | None:
        text = self._keyring.get_password(self._service, _name(id, user))
        try:
            return None if text is None else msgspec.json.decode(text, type=Credential)
        except msgspec.DecodeError:
            return None  # somebody else's entry

    def _remove(self, id: str, user: str | None) -> None:
        if self._keyring.get_password(self._service, _name(id, user)) is not None:
            self._keyring.delete_password(self._service, _name(id, user))
        ids = self._ids(user)
        if id in ids:
            self._put_ids(user, ids - {id})

    def _ids(self, user: str | None) -> set[str]:
        try:
            return set(json.loads(self._keyring.get_password(self._service, _name("", user)) or "[]"))
        except (ValueError, TypeError):
            return set()

    def _put_ids(self, user: str | None, ids: set[str]) -> None:
        self._keyring.set_password(self._service, _name("", user), json.dumps(sorted(ids)))

    async def _ask(self, work: Callable[[], T]) -> T:
        """Asks on a thread: a keyring may have to be unlocked first. Its errors may hold anything, so only their kind is told."""
        async with self._one_at_a_time:
            try:
                return await asyncio.to_thread(work)
            except Exception as error:  # noqa: BLE001 - a backend is anybody's code
                raise StorageError(f"the keyring could not be asked ({type(error).__name__})", hint="Unlock it, and try again.") from None


def _usable() -> Any:
    hint = "Install the extra keyring, or give another credential store."
    try:
        import keyring
        from keyring.backends import fail, null

        backend = keyring.get_keyring()
    except Exception as error:  # noqa: BLE001 - a backend is anybody's code
        raise ConfigurationError(f"there is no keyring here ({type(error).__name__})", field="credentials", hint=hint) from None
    if isinstance(backend, fail.Keyring | null.Keyring):
        raise ConfigurationError("there is no keyring here", field="credentials", hint=hint)
    return keyring


def _name(id: str, user: str | None) -> str:
    return json.dumps([id] if user is None else [id, user])
