"""Forking, resuming, aborting and comparing from the program: what the screen says before, and what the log says after."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from textual.widgets import Checkbox, Select

from lousho_cli.app.comparing import compare
from lousho_cli.domain import records as r
from lousho_cli.stores.file.store import FileStore
from lousho_cli.tui.screens.compare import CompareScreen
from lousho_cli.tui.screens.deed import DeedScreen
from lousho_cli.tui.screens.fork import ForkScreen
from lousho_cli.tui.screens.resume import ResumeScreen
from lousho_cli.tui.widgets.document import Document
from lousho_cli.tui.widgets.json_editor import JsonEditor
from tests.tui.acting_bench import PAYER, begin, done, notices, of, ran, records, text_of, words
from tests.tui.conftest import Open, Seen


@pytest.fixture
async def paid(folder: Path) -> Path:
    """A session that ended: it looked, and it paid."""
    (folder / "agent.yaml").write_text(PAYER)
    await begin("agent.yaml", "bills", "Pay Ana")
    return folder


async def to_step_one(seen: Seen) -> None:
    """From the sessions to the fork of the first step's first checkpoint, before any tool ran."""
    await seen.press("enter", "end", "f")
    assert isinstance(seen.app.screen, ForkScreen)
    await seen.until(lambda: seen.app.screen.shown is not None)


async def test_a_fork_with_another_result_goes_on_and_the_source_never_changes(tui: Open, paid: Path) -> None:
    before = (paid / ".lousho" / "sessions" / "bills" / "log.jsonl").read_bytes()
    async with tui(paid / ".lousho", size=(110, 40)) as seen:
        await seen.press("enter", "down", "f")
        await seen.until(lambda: "nothing runs" in words(seen))
        seen.app.screen.query_one("#call", Select).value = "c_pay"
        await seen.rest()
        editor = seen.app.screen.query_one("#result", JsonEditor)
        assert editor.text == '"paid"'
        editor.text = '"unpaid"'
        await seen.rest()
        assert """--tool-result 'c_pay="unpaid"'""" in words(seen)
        seen.app.screen.query_one("#run", Checkbox).value = True
        await seen.until(lambda: "may cost money" in words(seen) and not seen.app.screen.query_one("#fork").disabled)
        assert "--run" in words(seen)
        await seen.press("ctrl+s")
        deed = await done(seen)
        assert (deed.state, deed.session) == ("done", "bills.fork-1"), deed.ended
        assert text_of(paid, "bills.fork-1") == "It is not paid."
        assert "forked from step" in words(seen) and "It is not paid." in seen.text
    assert (paid / ".lousho" / "sessions" / "bills" / "log.jsonl").read_bytes() == before
    assert sorted(ran(paid)) == ["looked", "paid"]


async def test_what_must_not_run_twice_needs_a_yes(tui: Open, paid: Path) -> None:
    async with tui(paid / ".lousho", size=(110, 40)) as seen:
        await to_step_one(seen)
        seen.app.screen.query_one("#run", Checkbox).value = True
        await seen.until(lambda: all(said in words(seen) for said in ("must not run twice", "pay (c_pay)", "will run: look")))
        assert seen.app.screen.query_one("#fork").disabled
        await seen.press("ctrl+s")
        assert not seen.app.actor.deeds and sorted(ran(paid)) == ["looked", "paid"]
        seen.app.screen.query_one("#yes", Checkbox).value = True
        await seen.until(lambda: not seen.app.screen.query_one("#fork").disabled)
        assert "--run --yes" in words(seen)
        await seen.press("ctrl+s")
        deed = await done(seen)
        assert deed.state == "done", deed.ended
        assert sorted(ran(paid)) == ["looked", "looked", "paid", "paid"]


async def test_a_fork_says_more_and_has_another_state_and_id(tui: Open, paid: Path) -> None:
    async with tui(paid / ".lousho", size=(110, 40)) as seen:
        await seen.press("enter", "f")
        await seen.until(lambda: "nothing runs" in words(seen))
        for name, text in (("append", "-v and more?"), ("as", "other")):
            seen.app.screen.query_one(f"#{name}").value = text
        state = seen.app.screen.query_one("#state", JsonEditor)
        state.text = '{"paid": tru'
        await seen.rest()
        assert "is not JSON" in words(seen) and seen.app.screen.query_one("#fork").disabled
        state.text = '{"paid": true}'
        await seen.until(lambda: not seen.app.screen.query_one("#fork").disabled)
        assert "'--append-input=-v and more?'" in words(seen)
        await seen.press("ctrl+s")
        deed = await done(seen)
        assert deed.ended == "made other", deed.ended
        (forked,) = of(r.Forked, records(paid, "other"))
        assert forked.state.business_state == {"paid": True}
        assert "lousho resume other" in words(seen)


async def test_resuming_says_what_will_run_and_streams(tui: Open, folder: Path) -> None:
    (folder / "agent.yaml").write_text(PAYER)
    await begin("agent.yaml", "bills", "Pay Ana")
    async with tui(folder / ".lousho", "bills", size=(110, 40)) as seen:
        await seen.press("end", "f")
        await seen.until(lambda: not seen.app.screen.query_one("#fork").disabled)
        await seen.press("ctrl+s")
        fork = (await done(seen)).session
    async with tui(folder / ".lousho", fork, size=(110, 40)) as seen:
        await seen.press("r")
        await seen.until(lambda: "will run" in words(seen))
        assert "pay" in words(seen) and f"lousho resume {fork}" in words(seen)
        assert sorted(ran(folder)) == ["looked", "paid"]
        await seen.pilot.press("enter")
        deed = await done(seen)
        assert isinstance(seen.app.screen, DeedScreen)
        assert deed.state == "done" and "Paid." in seen.text
        assert sorted(ran(folder)) == ["looked", "looked", "paid", "paid"]
        await seen.press("escape", "r")
        await seen.until(lambda: "Nothing is pending" in words(seen))
        await seen.press("ctrl+s")  # there is nothing to do yet
        assert isinstance(seen.app.screen, ResumeScreen)
        await seen.press("shift+tab")
        seen.app.screen.query_one("#text").value = "And now?"
        await seen.rest()
        assert "'And now?'" in words(seen)
        await seen.press("ctrl+s")
        await done(seen, lambda one: one is not deed and one.state != "runs")
        assert text_of(folder, fork) == "You said more."


SLOW = """
name: slow
prompt: p
provider:
  type: scripted
  turns:
    - { text: "First.", tool_calls: [{ name: sleep, args: {}, id: c1 }] }
    - { text: "Second." }
tools:
  - { name: sleep, command: ["sh", "-c", "echo began >> ran.txt; test -e go || exec sleep 60; echo 1"], replay: safe }
"""


@pytest.fixture
async def slow(folder: Path) -> Path:
    """A session whose next step is a tool that does not end; nobody drives it."""
    (folder / "agent.yaml").write_text(SLOW)
    (folder / "go").touch()
    await begin("agent.yaml", "slow", "Go")
    (folder / "go").unlink()
    (folder / "ran.txt").unlink()
    return folder


async def forked_and_running(seen: Seen, folder: Path) -> None:
    await seen.press("end", "f")
    seen.app.screen.query_one("#run", Checkbox).value = True
    await seen.until(lambda: not seen.app.screen.query_one("#fork").disabled and "will run" in words(seen))
    await seen.press("ctrl+s")
    await seen.until(lambda: ran(folder) == ["began"])


async def test_leaving_stops_what_runs_so_that_it_can_go_on(tui: Open, slow: Path) -> None:
    agent = slow / "agent.yaml"
    agent.write_text(SLOW.replace('text: "Second."', 'delay: 60, text: "Second' + 300 * " word" + '"'))
    async with tui(slow / ".lousho", "slow", size=(110, 40)) as seen:
        await seen.press("down", "f")
        seen.app.screen.query_one("#run", Checkbox).value = True
        await seen.until(lambda: not seen.app.screen.query_one("#fork").disabled and "may cost money" in words(seen))
        await seen.press("ctrl+s")
        await seen.until(lambda: "Second" in words(seen) and "▶ runs …" in words(seen))  # it streams
        assert "▶ 1 runs here" in words(seen)
        await seen.pilot.press("q")
        told: list[str] = []
        await asyncio.to_thread(seen.app.actor.close, told.append)
    assert told[0].startswith("stopping: fork slow@")
    assert told[-1].startswith("lousho resume slow.fork-1")
    found = records(slow, "slow.fork-1")
    assert not of(r.InputSettled, found) and not of(r.ToolFinished, found)
    assert await FileStore(slow / ".lousho").owner("slow.fork-1") is None
    agent.write_text(SLOW)
    from lousho_cli.app.resuming import ResumeOrder, resume

    back = await resume(ResumeOrder("slow.fork-1"), lambda _: None, lambda _: None, lambda _: None)
    assert back is not None and not isinstance(back, str) and back.done.text == "Second."


async def test_aborting_asks_first_and_settles_the_run(tui: Open, slow: Path) -> None:
    async with tui(slow / ".lousho", "slow", size=(110, 40)) as seen:
        await forked_and_running(seen, slow)
        await seen.press("A")
        assert "lousho abort slow.fork-1" in words(seen) and "cancelled results" in words(seen)
        await seen.press("ctrl+s")
        deed = await done(seen)
        assert deed.ended == "aborted by its owner"
        fork = seen.app.actor.deeds[0]
        await seen.until(lambda: fork.state == "stopped")
        assert fork.ended.startswith("aborted")
        (settled,) = of(r.InputSettled, records(slow, "slow.fork-1"))
        assert settled.outcome == "aborted"


async def test_the_comparison_has_the_verdicts_of_diff(tui: Open, sample: Path) -> None:
    found, _ = await compare(FileStore(sample), "trip", "trip.fork-1")
    async with tui(sample, size=(160, 48)) as seen:
        await seen.press("end", "home", "f")
        await seen.type("trip")
        await seen.press("enter", "home", "m")
        assert "marked: trip" in words(seen)
        await seen.press("down", "c")
        assert isinstance(seen.app.screen, CompareScreen)
        screen = seen.app.screen
        a, b = screen.a, screen.b
        assert {a, b} == {"trip", "trip.fork-1"}
        assert f"{a} and {b} part at step {found.diverged_at}" in words(seen)
        for change in found.changes:
            assert change.where in words(seen)
        for row in found.drift:
            assert f"drift of {row.field}" in words(seen)
        left, right = screen.query_one("#a", Document), screen.query_one("#b", Document)
        await seen.press("n")
        assert left.top_level == right.top_level == 1
        await seen.press("N")
        assert left.top_level == right.top_level == 0
        await seen.press("end")
        assert left.top_level == right.top_level == 1
        await seen.press("home")
        assert left.top_level == right.top_level == 0
        await seen.press("y")
        assert seen.app.clipboard.startswith(f"lousho diff {a} {b}")


async def test_a_copy_is_shown_for_whose_terminal_has_no_clipboard(tui: Open, sample: Path) -> None:
    async with tui(sample, "trip@1", size=(110, 40)) as seen:
        await seen.pilot.press("y")
        await seen.until(lambda: "copied: trip@" in notices(seen))
        assert seen.app.clipboard.startswith("trip@")
        await seen.pilot.press("Y")
        await seen.until(lambda: "copied: lousho show trip@" in notices(seen))


def test_what_the_calls_of_a_checkpoint_gave() -> None:
    from lousho_cli.app.showing import ShownMessage
    from lousho_cli.domain.messages import ToolCall
    from lousho_cli.tui.state.patching import calls_of

    class Seen:
        messages = (
            ShownMessage(role="assistant", content="", tool_calls=(ToolCall("a", "x", "{}"), ToolCall("b", "y", "{}"))),
            ShownMessage(role="tool", content=json.dumps({"n": 1}), tool_call_id="a"),
        )

    newest, oldest = calls_of(Seen())  # type: ignore[arg-type]
    assert (newest.id, newest.answered, newest.result) == ("b", False, None)
    assert (oldest.id, oldest.answered, oldest.result) == ("a", True, {"n": 1})


async def test_drift_and_a_missing_tool_are_said_before_and_after(tui: Open, paid: Path) -> None:
    from lousho_cli.app.forking import ForkOrder, fork, look

    order = ForkOrder("bills", "1.1")
    await fork(order, await look(order))
    agent = paid / "agent.yaml"
    agent.write_text(PAYER.replace("prompt: You pay bills.", "prompt: You pay no bills.\npolicy: { on_agent_drift: error }"))
    async with tui(paid / ".lousho", "bills.fork-1", size=(110, 40)) as seen:
        await seen.press("r")
        await seen.until(lambda: "It would be refused: the agent changed" in words(seen))
        await seen.press("ctrl+s")
        deed = await done(seen)
        assert deed.state == "failed" and "instructions" in deed.ended, deed.ended
        assert "✗" in seen.text
        agent.write_text(PAYER.replace("name: pay\n", "name: transfer\n"))
        await seen.press("escape", "r")
        await seen.until(lambda: "the agent no longer has a tool" in words(seen) and "missing: pay" in words(seen))
        await seen.press("ctrl+s")
        deed = await done(seen, lambda one: one is not deed and one.state != "runs")
        assert deed.state == "failed" and "pay" in deed.ended, deed.ended
        await seen.press("escape", "down", "up")  # the program goes on
    assert sorted(ran(paid)) == ["looked", "paid"]


async def test_the_palette_has_what_can_be_done(tui: Open, sample: Path) -> None:
    async with tui(sample, "booking", size=(110, 40)) as seen:
        commands = {command.title: command.callback for command in seen.app.get_system_commands(seen.app.screen)}
        assert {"Decide", "Reject", "Resume", "Fork from here", "Mark it, for a comparison", "What was done here"} <= commands.keys()
        commands["Decide"]()
        await seen.rest()
        assert "lousho approve 7f3a9c1e2b4d" in words(seen)
