"""Acting on sessions that another process drives, and what an agent's code prints meanwhile."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import pytest
from warm_process import Popen

from lousho_cli.domain import records as r
from lousho_cli.tui.own_terminal import own_terminal
from lousho_cli.tui.screens.answer import AnswerScreen
from tests.tui.acting_bench import done, of, records, text_of, words
from tests.tui.conftest import Open

AGENT = """
name: painter
prompt: p
provider:
  type: scripted
  turns:
    - { text: "I ask.", tool_calls: [{ name: paint, id: c1 }] }
    - { text: "Painted, as it was wanted, with all colours.", delay: 60 }
tools: [{ python: "tools.py:paint" }]
"""
TOOLS = '''
from lousho_cli import ToolContext

async def paint(ctx: ToolContext) -> str:
    """Paints."""
    return str(await ctx.step.ask("count", "How many?", schema={"type": "integer"}))
'''


@contextmanager
def painter(folder: Path) -> Iterator[Any]:
    """``lousho run`` in another process; its tool asks."""
    (folder / "agent.yaml").write_text(AGENT)
    (folder / "tools.py").write_text(TOOLS)
    command = [sys.executable, "-m", "lousho_cli", "run", "agent.yaml", "Go", "--session", "s"]
    with Popen(command, cwd=folder, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_an_answer_goes_to_the_owner_whose_run_is_seen_until_it_is_killed(tui: Open, folder: Path) -> None:
    with painter(folder) as process:
        async with tui(folder / ".lousho", size=(120, 36), follow=True) as seen:
            await seen.until(lambda: "How many?" in seen.text)
            await seen.pilot.press("a")
            await seen.until(lambda: isinstance(seen.app.screen, AnswerScreen) and seen.app.screen._free)
            await seen.pilot.press("3")
            await seen.until(lambda: "drives this session: the answer is left for it" in words(seen))
            await seen.pilot.press("ctrl+s")
            deed = await done(seen)
            assert (deed.state, deed.ended.split()[0]) == ("done", "answered"), deed.ended
            assert deed.goes_on.startswith("lousho follow s")
            assert of(r.ToolFinished, records(folder, "s"))[0].content == '"3"'
            await seen.pilot.press("escape", "enter")
            await seen.until(lambda: "▶ now goes on" in seen.text and "result of paint" in seen.text)
            process.send_signal(signal.SIGKILL)
            await seen.until(lambda: "cut" in seen.text and "nobody" in seen.text)
            await seen.pilot.press("r")
            await seen.until(lambda: "may cost money" in words(seen))
            assert "lousho resume s" in words(seen)
    assert text_of(folder, "s") == "I ask."


async def test_an_abort_is_asked_of_the_owner(tui: Open, folder: Path) -> None:
    with painter(folder) as process:
        async with tui(folder / ".lousho", size=(120, 36), follow=True) as seen:
            await seen.until(lambda: "How many?" in seen.text)
            await seen.pilot.press("A")
            await seen.until(lambda: "is asked to stop" in words(seen))
            await seen.pilot.press("ctrl+s")
            deed = await done(seen)
            assert deed.ended == "aborted by its owner"
        process.wait(20)
        (settled,) = of(r.InputSettled, records(folder, "s"))
        assert settled.outcome == "aborted"


def test_what_the_code_of_an_agent_prints_is_not_drawn_over_the_screen(capfd: pytest.CaptureFixture[str]) -> None:
    with own_terminal():
        os.system("echo noise; echo noise >&2")
        assert sys.__stderr__ is not None and sys.__stdout__ is not None
        sys.__stderr__.write("drawn\n")
        sys.__stdout__.write("drawn\n")
    os.system("echo afterwards")
    out, err = capfd.readouterr()
    assert (out, err) == ("drawn\nafterwards\n", "drawn\n")
