"""A credential store in this process: every host of a process may share one, and nothing of it survives."""

from __future__ import annotations

import msgspec

from lousho_cli.ports.credentials import Credential


class MemoryCredentials:
    """Keeps credentials in memory. See ``ports.credentials.Credentials``."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str | None], Credential] = {}

    async def save(self, credential: Credential) -> None:
        self._kept[credential.id, credential.user] = credential

    async def read(self, id: str, user: str | None) -> Credential | None:
        return self._kept.get((id, user))

    async def take(self, id: str, user: str | None) -> Credential | None:
        return self._kept.pop((id, user), None)

    async def delete(self, id: str, user: str | None) -> None:
        self._kept.pop((id, user), None)

    async def list(self, user: str | None, type: str | None = None) -> list[Credential]:
        found = [one for one in self._kept.values() if one.user == user and type in (None, one.type)]
        return [msgspec.structs.replace(one, value="") for one in sorted(found, key=lambda one: one.id)]
