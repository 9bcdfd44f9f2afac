"""Several processes decide one approval at the same moment: one gets it, and the call runs once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from warm_process import Popen

from lousho_cli import Agent, AgentExecutor, ScriptedProvider
from tests.executor.deciding_process import CALL, store_of, tool_in

ROOT = Path(__file__).parents[2]
LOST = {"LOUSHO_APPROVAL_NOT_FOUND", "LOUSHO_SESSION_BUSY"}


@pytest.mark.parametrize("kind", ["file", "sqlite"])
async def test_de_067_of_several_processes_exactly_one_decides(kind: str, tmp_path: Path) -> None:
    store = store_of(kind, tmp_path)
    paused = await AgentExecutor.execute(
        Agent("payer"),
        "go",
        ScriptedProvider([CALL]),
        [tool_in(tmp_path)],
        session_id="s",
        checkpoint_store=store.checkpoints,
        approval_store=store.approvals,
    )
    assert paused.approval_id is not None
    command = [sys.executable, str(Path(__file__).with_name("deciding_process.py")), kind, str(tmp_path), paused.approval_id]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    deciders = [Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ) for _ in range(3)]
    try:
        for decider in deciders:
            assert decider.stdout is not None
            assert decider.stdout.readline() == "ready\n"
        for decider in deciders:
            assert decider.stdin is not None
            decider.stdin.write("go\n")
            decider.stdin.flush()
        ended = [decider.communicate(timeout=30)[0].strip() for decider in deciders]
    finally:
        for decider in deciders:
            decider.kill()
    assert sorted(ended, key=lambda said: said != "done")[0] == "done"
    assert set(sorted(ended, key=lambda said: said != "done")[1:]) <= LOST
    assert len((tmp_path / "ran").read_text().splitlines()) == 1
    saved = await store_of(kind, tmp_path).checkpoints.load("s")
    assert (saved.status, [m.role for m in saved.messages]) == ("finished", ["user", "assistant", "tool", "assistant"])
