"""Somebody's own two stores, of three methods each, as processes that die see them.

The approval store has ``load``: without it nobody can see that an approval was taken by a process that died.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec


class PlainDisk:
    """JSON texts that outlive processes."""

    keeps_input_ids = False

    def __init__(self, dead: type[BaseException]) -> None:
        self.dead_error = dead
        self.checkpoints: dict[str, str] = {}
        self.approvals: dict[str, str] = {}

    def process(self, death: Any = None) -> PlainProcess:
        return PlainProcess(self, death)

    async def bury(self, process: PlainProcess) -> None:
        """Nothing is left of a process but the texts."""

    def remove(self) -> None:
        """There is nothing to give back."""


class PlainProcess:
    """Both stores, and how often they were written to."""

    def __init__(self, disk: PlainDisk, death: Any) -> None:
        self.disk, self.death, self.dead = disk, death, False
        self._writes = 0
        self.checkpoints, self.approvals = _Checkpoints(self), _Approvals(self)

    def write(self, texts: dict[str, str], key: str, text: str | None) -> str | None:
        """Puts a text, or takes one; the process may die in front of it or behind."""
        self.must_live()
        self._writes += 1
        self.dead = self.death is not None and self._writes >= self.death.at
        if self.dead and not self.death.behind:
            raise self.disk.dead_error
        before = texts.pop(key, None)
        if text is not None:
            texts[key] = text
        self.must_live()
        return before

    def must_live(self) -> None:
        if self.dead:
            raise self.disk.dead_error


class _Checkpoints:
    def __init__(self, process: PlainProcess) -> None:
        self._process, self._texts = process, process.disk.checkpoints

    async def save(self, session_id: str, checkpoint: Any) -> None:
        self._process.write(self._texts, session_id, msgspec.json.encode(checkpoint).decode())

    async def load(self, session_id: str) -> Any:
        self._process.must_live()
        text = self._texts.get(session_id)
        return None if text is None else json.loads(text)

    async def delete(self, session_id: str) -> None:
        self._process.write(self._texts, session_id, None)


class _Approvals:
    def __init__(self, process: PlainProcess) -> None:
        self._process, self._texts = process, process.disk.approvals

    async def save(self, pending: Any, snapshot: Any) -> None:
        self._process.write(self._texts, pending.id, msgspec.json.encode({"pending": pending, "snapshot": snapshot}).decode())

    async def load(self, approval_id: str) -> Any:
        self._process.must_live()
        text = self._texts.get(approval_id)
        return None if text is None else json.loads(text)

    async def resolve(self, approval_id: str) -> Any:
        text = self._process.write(self._texts, approval_id, None)
        return None if text is None else json.loads(text)
