"""Driving a session that is taken away."""

from __future__ import annotations

from pathlib import Path

import pytest

from lousho_cli.app.agent_files import agent_from
from lousho_cli.app.driving import Job, drive
from lousho_cli.app.preparing import RunFlags, prepare
from lousho_cli.domain import records as r
from lousho_cli.errors import OwnershipLostError
from lousho_cli.executor.results import RunResult
from lousho_cli.host.session import HostSession
from lousho_cli.stores.file.store import FileStore


async def test_a_lost_session_says_to_whom(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    agent = agent_from(
        {"name": "a", "prompt": "p", "provider": {"type": "scripted", "turns": ["hi"]}}, folder=tmp_path, path=tmp_path / "a.json"
    )
    job = Job(store, "s", prepare(agent, RunFlags()), RunFlags(), lambda event: None, lambda text: None)

    async def taken(session: HostSession) -> RunResult:
        claim = await store.claim("s", "elsewhere")
        await store.append(claim, (r.Batch(1, claim.epoch, "2026-01-01T00:00:00.000Z", (r.Claimed("elsewhere"), r.Created("a"))),))
        await store.release(claim)
        raise OwnershipLostError("s", "another owner")

    with pytest.raises(OwnershipLostError, match="an owner on elsewhere since 2026-01-01T00:00:00.000Z"):
        await drive(job, taken)
