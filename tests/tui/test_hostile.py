"""Text of strangers wherever it can stand: brackets are text, nothing is obeyed, and every line is as wide as the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from lousho_cli.core.fold import fold
from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval, Question
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.stores.file.store import FileStore
from lousho_cli.tui.widgets.checkpoint import CheckpointPane
from tests.tui.conftest import Open, Seen
from tests.tui.sample import at, begins, write
from tests.tui.test_checkpoint import document
from tests.tui.voyage import write_as

HOSTILE = (
    "[/dim] [b arr[0] [src: /a?b=2-] [red]text[/red] [@click=app.quit]leave[/]",
    "before\x1b[31mred\x1b]0;title\x07\x00after",
    "left\u202eright\u2066 zero\u200bwidth\ufeff",
    "tab\there 👩‍👩‍👧 é 漢字",
    "[a link](command:quit) <script>alert(1)</script> ![image](file:///x)",
)


@pytest.fixture
async def hostile(tmp_path: Path) -> Path:
    """A session that is made of hostile text wherever text can stand."""
    store = FileStore(tmp_path / ".lousho")
    everything = "\n\n".join(HOSTILE)
    call = ToolCall("c[0]", "tool[/b]", '{"[red]": "\\u001b[31m", "list": ["[/dim]", "[b"]}')
    when, records = begins("[red]agent", everything)
    result = r.ToolFinished("c[0]", "x" * 1_000_000 + everything, is_error=True)
    turn = r.Turn(Message("assistant", everything + "\n\n" + "y" * 200_000, tool_calls=(call,)), "tool_calls", "[model]")
    state = r.BusinessState({HOSTILE[0]: [HOSTILE[1], {"[": HOSTILE[2]}]})
    note = r.Note("[kind]", everything)
    await write(store, "hostile", [(when, [*records, state]), (at(1), [turn, r.Mark(1)]), (at(2), [note, result, r.Mark(1)])])
    return tmp_path / ".lousho"


def sent(seen: Seen) -> str:
    """The text of every strip on the screen."""
    return "".join(segment.text for strip in seen.app.screen._compositor.render_strips() for segment in strip)


async def test_case_211_brackets_are_text_in_every_panel(tui: Open, hostile: Path) -> None:
    async with tui(hostile, "hostile", size=(120, 40)) as seen:
        await seen.press("enter", "home")
        for words in HOSTILE[0].split(" "):
            assert words in "\n".join(document(seen)), words
        assert "<script>alert(1)</script>" in sent(seen)
        for key in ("2", "3", "4", "5", "6", "1"):
            await seen.press(key, "z", "end", "z", "home")
        await seen.press("slash")
        await seen.type("[/dim")
        await seen.press("enter", "n", "n", "N")
        assert " of " in str(seen.app.screen.query_one(CheckpointPane).border_subtitle)
        await seen.press("escape", "slash")
        await seen.type("[image]")


async def test_case_213_no_control_character_reaches_the_terminal(tui: Open, hostile: Path) -> None:
    async with tui(hostile, "hostile", size=(120, 40)) as seen:
        await seen.press("enter", "home")
        assert "before\\x1b[31mred\\x1b]0;title\\x07\\x00after" in sent(seen)
        assert "left\\u202eright\\u2066 zero\\u200bwidth\\ufeff" in sent(seen)
        for key in ("1", "2", "3", "4", "5", "6"):
            await seen.press(key, "home", "enter", "down", "enter", "end")
            assert not any(ord(letter) < 32 or letter in "\x7f\u202e\u2066\u200b\ufeff" for letter in sent(seen))
            assert all(strip.cell_length <= 120 for strip in seen.app.screen._compositor.render_strips())


async def everywhere(folder: Path) -> Path:
    """Hostile names of agents, hosts, people, tools and steps, hostile errors, questions, notes and arguments; wide ones too."""
    store = FileStore(folder / ".lousho")
    wide = "日本語のエージェント👩‍💻"
    (when, records), call = begins(wide, HOSTILE[1] + "z" * 1_000_000), ToolCall("c", "[/t]\x1b[2J", '{"[b]": "\u202e"}')
    question = Question(HOSTILE[0] + HOSTILE[1] + "q" * 100_000, (HOSTILE[2], "[b]yes[/b]"))
    wait = PendingApproval(
        "7f3a[b]", "c", call.name, {"[b]": HOSTILE[2]}, "0123456789abcdef", at(5), kind="question", question=question, session_id="asks"
    )
    turn = r.Turn(Message("assistant", "", tool_calls=(call,)), "tool_calls", HOSTILE[1])
    waits = [r.WaitOpened(wait), r.Mark(1, "awaiting-approval", "awaiting-approval", wait.id)]
    await write_as(store, "asks", "[host]\x1b[31m", [(when, records), (at(5), [turn, *waits])])
    refused = r.WaitAnswered(wait.id, False, HOSTILE[1], by="[by]\u202e" + wide)
    await write_as(store, "asked", wide, [(when, records), (at(5), [turn, *waits]), (at(6), [refused, r.Mark(1)])])
    await write_as(store, "asked", "[/other]", [(at(7), [r.ModelRetry(1, HOSTILE[0], 1), r.Note("drift", HOSTILE[1])])])
    ended = r.InputSettled("in-1", "failed", error=HOSTILE[1] + HOSTILE[0] + "e" * 1_000_000)
    await write(store, "failed", [begins("[red]x[/]\x07", "Go"), (at(8), [ended])])
    state = state_from(fold((await store.read("asked")).batches[:2]))
    await write(store, "asked.fork-1", [(at(9), [r.Forked("asked", 2, 1, state, patch=("[b]\x1b[2J", wide))])])
    return folder / ".lousho"


async def test_case_213_the_whole_program_obeys_nothing_and_keeps_its_lines(tui: Open, tmp_path: Path) -> None:
    told = ""
    async with tui(await everywhere(tmp_path), "asked", size=(100, 24)) as seen:
        for keys in (("end",), ("tab",), ("tab", "home"), ("2",), ("4", "z"), ("6",), ("escape", "escape"), ("g",), ("w",), ("a",)):
            await seen.press(*keys)
            told += lines_hold(seen)
    for words in (
        "[red]x[/]\\x07",
        "taken over by [/other]",
        "question of [/t]\\x1b[2J rej",
        "[/dim] [b arr[0]",
        "before\\x1b[31mred",
        "日本語",
    ):
        assert words in told, words


def lines_hold(seen: Seen) -> str:
    """The screen as text, none of whose lines is wider than it is; with nothing in it that a terminal would obey."""
    strips = seen.app.screen._compositor.render_strips()
    assert {strip.cell_length for strip in strips} == {seen.app.size.width}
    text = sent(seen)
    assert not any(ord(letter) < 32 or letter in "\x7f\x9b\u202e\u2066\u200b\ufeff" for letter in text)
    return text
