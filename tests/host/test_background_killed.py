"""Hosts that are killed for real while an agent runs in the background, and the next one."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from warm_process import run

import lousho_cli
from lousho_cli.domain import records as r
from lousho_cli.domain.texts import HOST_STOPPED_MESSAGE
from lousho_cli.host.host import create_harness_host
from lousho_cli.stores.file.store import FileStore
from tests.host.agents import digging, notes, records_of

VICTIM = Path(__file__).with_name("dying_lead_process.py")
ENV = os.environ | {"PYTHONPATH": str(Path(lousho_cli.__file__).parents[1])}

STARTED, TURN, ENDED, TOLD = "lousho.agent_started", "lousho.turn", "lousho.input_settled", "lousho.agent_ended"


@pytest.mark.parametrize(
    ("where", "again", "outcome"),
    [
        (STARTED, False, "completed"),  # it never ran, so it runs for the first time
        (TURN, False, "failed"),
        (TURN, True, "completed"),
        (ENDED, False, "completed"),  # finished work is never lost
        (TOLD, False, "completed"),
    ],
)
async def test_ds_098_099_104_a_host_killed_while_an_agent_runs(tmp_path: Path, where: str, again: bool, outcome: str) -> None:
    folder, ran = tmp_path / ".lousho", tmp_path / "ran.txt"
    words = [sys.executable, str(VICTIM), str(folder), where, *(["again"] if again else [])]
    died = run(words, capture_output=True, timeout=60, env=ENV)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    store = FileStore(folder)
    host = create_harness_host({"log": store})
    (taken,) = await host.resume_pending([digging(ran)])
    assert taken.thread_id == "t"
    session = await host.open(digging(ran), "t")
    result = await session.agent_result("one")
    assert (result.outcome, result.text) == (outcome, "Gold." if outcome == "completed" else "")
    assert result.error == (HOST_STOPPED_MESSAGE if outcome == "failed" else None)
    assert (await session.settled("agents.one")).text == "I see."
    assert len(await notes(store)) == len(await records_of(store, "t", r.AgentEnded)) == 1
    assert (ran.read_text() if ran.exists() else "") == ("dug\n" if outcome == "completed" else "")
    await host.close()
