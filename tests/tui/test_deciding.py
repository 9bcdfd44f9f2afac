"""Approving, rejecting and answering from the program: what the screen says before, and what the log says after."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.domain import records as r
from lousho_cli.tui.screens.answer import AnswerScreen
from lousho_cli.tui.screens.decide import DecideScreen
from lousho_cli.tui.screens.deed import DeedScreen
from lousho_cli.tui.widgets.json_editor import JsonEditor
from tests.tui.acting_bench import GATED, begin, done, of, ran, records, text_of, words
from tests.tui.conftest import Open


@pytest.fixture
async def waiting(folder: Path) -> Path:
    """A session that waits for a person to approve a payment."""
    (folder / "agent.yaml").write_text(GATED)
    await begin("agent.yaml", "bills", "Pay Ana")
    return folder


async def test_approving_runs_the_call_that_was_shown_and_goes_on(tui: Open, waiting: Path) -> None:
    (asked,) = of(r.WaitOpened, records(waiting, "bills"))
    async with tui(waiting / ".lousho", size=(100, 30)) as seen:
        await seen.press("a")
        for said in ('"to": "Ana"', '"amount": 12', asked.approval.digest, f"lousho approve {asked.approval.id}", "may cost money"):
            assert said in words(seen)
        assert ran(waiting) == ["looked"]
        await seen.pilot.press("enter")
        deed = await done(seen)
        assert isinstance(seen.app.screen, DeedScreen)
        assert (deed.state, ran(waiting), text_of(waiting, "bills")) == ("done", ["looked", "paid"], "Paid.")
        for said in ("pay gave", "Paid.", "done after 2 steps", f"$ lousho approve {asked.approval.id}", "go on with: lousho resume bills"):
            assert said in words(seen)
        await seen.pilot.press("y")
        assert shlex.split(seen.app.clipboard)[:3] == ["lousho", "approve", asked.approval.id]
        (answered,) = of(r.WaitAnswered, records(waiting, "bills"))
        assert answered.approved and answered.digest is None  # what ran is what was shown
        await seen.press("escape", "D")
        assert "approve pay" in words(seen) and "done after 2 steps" in words(seen)


async def test_rejecting_tells_the_model_why(tui: Open, waiting: Path) -> None:
    async with tui(waiting / ".lousho", size=(100, 30)) as seen:
        await seen.press("w", "x", "shift+tab", "shift+tab", "shift+tab")
        await seen.type("too much")
        assert "'--reason=too much'" in words(seen)
        await seen.press("escape", "right")
        await seen.pilot.press("enter")
        await done(seen)
        (answered,) = of(r.WaitAnswered, records(waiting, "bills"))
        assert (answered.approved, answered.note) == (False, "too much")
        assert ran(waiting) == ["looked"]


async def test_an_edit_is_checked_as_it_is_typed_and_has_a_digest_of_its_own(tui: Open, waiting: Path) -> None:
    (asked,) = of(r.WaitOpened, records(waiting, "bills"))
    async with tui(waiting / ".lousho", size=(100, 30)) as seen:
        await seen.press("a")
        editor = seen.app.screen.query_one(JsonEditor)
        editor.focus()
        editor.text = '{"to": "Ana", "amount": 0}'
        await seen.rest()
        assert "amount" in words(seen) and "none while it can not be used" in words(seen)
        assert f"lousho approve {asked.approval.id}" not in words(seen)
        editor.text = '{"to": "Ana", "amount": '
        await seen.rest()
        assert "is not JSON" in words(seen)
        editor.text = '{"to": "Bea", "amount": 3}'
        await seen.rest()
        assert f"it was {asked.approval.digest}" in words(seen)
        assert editor.now.digest in words(seen)
        assert """--edit '{"to":"Bea","amount":3}'""" in words(seen)
        await seen.press("escape")
        await seen.pilot.press("enter")
        await done(seen)
        (answered,) = of(r.WaitAnswered, records(waiting, "bills"))
        assert answered.args == {"to": "Bea", "amount": 3}
        assert ran(waiting) == ["looked", "paid"]


async def test_a_decision_can_only_be_recorded(tui: Open, waiting: Path) -> None:
    async with tui(waiting / ".lousho", size=(100, 30)) as seen:
        await seen.press("a", "shift+tab")
        await seen.press("space")
        assert "nothing runs" in words(seen) and "--no-resume" in words(seen)
        await seen.press("ctrl+s")
        deed = await done(seen)
        assert deed.ended.startswith("approved ")
        assert ran(waiting) == ["looked"]
        assert of(r.WaitAnswered, records(waiting, "bills"))


async def test_what_was_decided_meanwhile_is_said_and_the_program_goes_on(tui: Open, waiting: Path) -> None:
    from lousho_cli.app.deciding import DecisionOrder, carry_out

    (asked,) = of(r.WaitOpened, records(waiting, "bills"))
    async with tui(waiting / ".lousho", size=(100, 30)) as seen:
        await seen.press("a")
        await carry_out(DecisionOrder(asked.approval.id, "reject"), lambda _: None, lambda _: None, lambda _: None)
        await seen.pilot.press("enter")
        deed = await done(seen)
        assert deed.state == "failed" and asked.approval.id in deed.ended
        assert len(of(r.WaitAnswered, records(waiting, "bills"))) == 1
        await seen.press("escape", "down", "up")
        assert "bills" in words(seen)


async def test_an_agent_that_is_gone_is_said_and_nothing_is_decided(tui: Open, waiting: Path) -> None:
    (waiting / "agent.yaml").unlink()
    async with tui(waiting / ".lousho", size=(100, 30)) as seen:
        await seen.press("a")
        await seen.pilot.press("enter")
        deed = await done(seen)
        assert deed.state == "failed" and "can not be found" in deed.ended
        assert "can not be found" in words(seen)
        assert not of(r.WaitAnswered, records(waiting, "bills"))


async def test_an_agent_is_found_by_name_where_the_command_line_said(tui: Open, waiting: Path) -> None:
    (waiting / "moved").mkdir()
    (waiting / "agent.yaml").rename(waiting / "moved" / "agent.yaml")
    async with tui(waiting / ".lousho", size=(100, 30), agents=["moved"]) as seen:
        await seen.press("a")
        assert "--agents moved" in words(seen)
        await seen.pilot.press("enter")
        deed = await done(seen)
        assert deed.state == "done"
        assert of(r.WaitAnswered, records(waiting, "bills"))


ASKER = """
name: asker
prompt: You ask.
provider:
  type: scripted
  turns:
    - { tool_calls: [{ name: ask-question, args: ARGS, id: c_ask }] }
    - { text: "Thank you." }
tools: [ask-question]
"""


async def asks(folder: Path, args: str) -> None:
    (folder / "agent.yaml").write_text(ASKER.replace("ARGS", args))
    await begin("agent.yaml", "trip", "Ask me")


async def test_a_question_is_answered_by_one_of_its_choices(tui: Open, folder: Path) -> None:
    await asks(folder, '{ question: "How do you travel? [bold]", options: ["By train", "By bike [x]"] }')
    async with tui(folder / ".lousho", size=(100, 30)) as seen:
        await seen.press("a")
        assert isinstance(seen.app.screen, AnswerScreen)
        assert "How do you travel? [bold]" in words(seen) and "By bike [x]" in words(seen)
        await seen.press("down", "enter")
        assert "'By bike [x]'" in words(seen)
        await seen.pilot.press("enter")
        deed = await done(seen)
        assert deed.state == "done"
        (answered,) = of(r.WaitAnswered, records(folder, "trip"))
        assert answered.note == "By bike [x]"
        assert text_of(folder, "trip") == "Thank you."


async def test_a_secret_is_seen_nowhere(tui: Open, folder: Path) -> None:
    await asks(folder, '{ question: "Your password?", secret: true }')
    async with tui(folder / ".lousho", size=(100, 30)) as seen:
        await seen.press("a")
        await seen.type("hunter2-long")
        screen = seen.text
        picture = seen.app.export_screenshot()
        await seen.press("enter")
        screen += seen.text
        await seen.pilot.press("enter")
        deed = await done(seen)
        assert deed.state == "done", deed.ended
        await seen.press("escape", "D")
        screen += seen.text
        for text in (screen, picture, deed.command, deed.goes_on):
            assert "hunter2" not in text and "•" not in text
    stored = b"".join(file.read_bytes() for file in (folder / ".lousho").rglob("*") if file.is_file())
    assert b"hunter2" not in stored


async def test_escape_does_nothing_of_it(tui: Open, waiting: Path) -> None:
    before: Any = records(waiting, "bills")
    async with tui(waiting / ".lousho", size=(80, 24)) as seen:
        await seen.press("a", "tab", "escape")
        assert not isinstance(seen.app.screen, DecideScreen)
        assert not seen.app.actor.deeds
    assert records(waiting, "bills") == before
