"""What a run leaves in PostgreSQL is what it leaves in every other store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lousho_cli.domain.codec import encode_value
from lousho_cli.executor.create_agent import create_agent
from lousho_cli.providers.scripted import ScriptedProvider
from lousho_cli.stores.file.store import FileStore
from lousho_cli.stores.memory import MemoryStore
from lousho_cli.stores.postgres.store import PostgresStore
from lousho_cli.stores.sqlite.store import SqliteStore
from lousho_cli.tools.define import define_tool


async def test_case_181_the_history_is_the_same_in_every_store(tmp_path: Path, url: str, opened: Callable[..., PostgresStore]) -> None:
    async def look(zebra: int, alpha: float) -> str:
        """Looks."""
        return "a\0b \\u0000 \ud800 ä"

    turns: list[Any] = [
        {"tool_calls": [{"name": "look", "args": {"zebra": n, "alpha": 1.0}, "id": f"c{n}{m}"} for m in range(2)]} for n in range(3)
    ]
    told = []
    for store in (MemoryStore(), FileStore(tmp_path / "s"), SqliteStore(tmp_path / "s.db"), opened(url)):
        agent = create_agent(ScriptedProvider([*turns, "Done."]), store=store, tools=[define_tool(name="look", execute=look)])
        await agent.send("go", "s")
        entries = await store.checkpoints.history("s")
        told.append([(one.address, one.step, one.status, encode_value(one.checkpoint.messages)) for one in entries])
        if isinstance(store, SqliteStore):
            store.close()
    assert len(told[0]) > 6
    assert all(one == told[0] for one in told)
