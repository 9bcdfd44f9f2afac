"""Driving a session that is taken away."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app import driving
from lousho_cli.app.agent_files import agent_from
from lousho_cli.app.driving import Job, drive, waiting_item
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


async def test_a_signal_between_a_pause_and_its_approval_in_advance_leaves_it_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, ran = FileStore(tmp_path), tmp_path / "ran"
    turns = [{"tool_calls": [{"name": "a", "id": "c1", "args": {}}]}, "done"]
    tool = {"name": "a", "command": ["touch", str(ran)], "needs_approval": True}
    said = {"name": "a", "prompt": "p", "provider": {"type": "scripted", "turns": turns}, "tools": [tool]}
    flags = RunFlags(yes=True)
    agent = agent_from(said, folder=tmp_path, path=tmp_path / "a.json")
    job = Job(store, "s", prepare(agent, flags), flags, lambda event: None, lambda text: None)

    async def stopped_meanwhile(*where: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(100):
            await asyncio.sleep(0)
        return await waiting_item(*where)

    monkeypatch.setattr(driving, "waiting_item", stopped_meanwhile)
    came = await drive(job, lambda session: session.execute("Go"))
    assert (came.done.status, came.done.approval_id is not None, ran.exists()) == ("awaiting-approval", True, False)
