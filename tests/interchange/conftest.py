"""Files as other agents write them, made by code, and a store to import them into."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.import_results import Import
from lousho_cli.app.importing import import_paths
from lousho_cli.core.transcript import check
from lousho_cli.domain.session import Session
from lousho_cli.ports.sessions import read_session
from lousho_cli.stores.memory import MemoryStore


class Chain:
    """Lines of Claude Code, each behind the one before it unless it says otherwise."""

    def __init__(self, session: str = "s-1") -> None:
        self.lines: list[dict[str, Any]] = []
        self._session, self._newest = session, None

    def line(self, kind: str, uuid: str, **fields: Any) -> Chain:
        at = f"2026-01-01T00:00:{len(self.lines):02}.000Z"
        head = {"type": kind, "uuid": uuid, "parentUuid": self._newest, "isSidechain": False, "sessionId": self._session, "timestamp": at}
        self.lines.append(head | fields)
        if not fields.get("isSidechain"):
            self._newest = uuid
        return self

    def user(self, uuid: str, content: Any, **fields: Any) -> Chain:
        return self.line("user", uuid, message={"role": "user", "content": content}, **fields)

    def gives(self, uuid: str, call: str, content: Any, **fields: Any) -> Chain:
        return self.user(uuid, [{"type": "tool_result", "tool_use_id": call, "content": content}], **fields)

    def says(self, uuid: str, *blocks: Any, message: str | None = None, usage: Any = None, **fields: Any) -> Chain:
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        said = {"id": message or f"m-{uuid}", "role": "assistant", "model": "a-model", "content": content, "usage": usage}
        return self.line("assistant", uuid, message=said, **fields)


def calls(call: str, tool: str = "Read", **arguments: Any) -> dict[str, Any]:
    """A call as a block."""
    return {"type": "tool_use", "id": call, "name": tool, "input": arguments}


class Desk:
    """Writes files and imports them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, MemoryStore()

    def write(self, name: str, content: Any) -> Path:
        """A file of lines (a list in a ``.jsonl``), of one document, or of bytes as they are."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif path.suffix == ".jsonl":
            path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in content))
        else:
            path.write_text(json.dumps(content))
        return path

    async def bring(self, *paths: Path, **options: Any) -> Import:
        return await import_paths(self.store, paths or [self.folder], **{"dry_run": False, **options})

    async def session(self, name: str) -> Session:
        """An imported session, whose transcript is a valid one."""
        session = await read_session(self.store, name)
        assert check(session.messages, open_tail=True) is None
        return session

    async def roles(self, name: str) -> list[str]:
        return [message.role for message in (await self.session(name)).messages]

    async def one(self, name: str, content: Any, **options: Any) -> tuple[Any, Session]:
        """What became of the one session of a file, and the session."""
        done = await self.bring(self.write(name, content), **options)
        assert len(done.sessions) == 1, done
        return done.sessions[0], await self.session(done.sessions[0].session)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "theirs")


@pytest.fixture
def chain() -> Callable[..., Chain]:
    return Chain


@pytest.fixture
def call() -> Callable[..., dict[str, Any]]:
    return calls
