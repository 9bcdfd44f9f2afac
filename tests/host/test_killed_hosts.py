"""Hosts that are killed for real, and the next one."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from warm_process import run

from lousho_cli import FileStore, define_tool
from lousho_cli.domain import records as r
from lousho_cli.domain.texts import CONTINUE_NOTE
from lousho_cli.host.host import create_harness_host
from tests.host.left import Model, harness, records

VICTIM = Path(__file__).with_name("dying_process.py")


def killed(folder: Path, way: str) -> None:
    died = run([sys.executable, str(VICTIM), str(folder), way], capture_output=True, timeout=60)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()


async def gone_on(folder: Path, replay: Any = None) -> tuple[Any, Model]:
    async def pay() -> str:
        with (folder.parent / "ran.txt").open("a") as file:
            file.write("paid\n")
        return "paid"

    tool = define_tool(name="pay", description="Pays.", execute=pay, replay=replay)
    host, model = create_harness_host({"log": FileStore(folder)}), Model("and stormy night.")
    session = await host.open(harness(model, tools=[tool], durability={"continue_cut_off": True}), "t")
    ended = await session.settled("a")
    await host.close()
    return ended, model


@pytest.mark.parametrize(("replay", "times"), [("never", 1), ("safe", 2)])
async def test_ds_108_109_a_host_killed_in_a_tool(tmp_path: Path, replay: Any, times: int) -> None:
    folder = tmp_path / ".lousho"
    killed(folder, replay)
    ended, model = await gone_on(folder, replay)
    assert ended.outcome == "completed"
    assert (tmp_path / "ran.txt").read_text() == "paid\n" * times
    assert model.asked[0][-1].is_error == (replay == "never")
    assert [one.attempt for one in await records(FileStore(folder), r.RunResumed)] == [2]


async def test_ds_123_a_host_killed_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    folder = tmp_path / ".lousho"
    killed(folder, "answer")
    ended, model = await gone_on(folder)
    assert ended.text == "It was a dark and stormy night."
    assert [message.text for message in model.asked[0]] == ["Hi", "It was a dark ", CONTINUE_NOTE]
