"""What is shown of a ring and of a checkpoint, as plain values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.app.families import Member
from lousho_cli.app.ring import RingReader
from lousho_cli.app.showing import Shown, ShownMessage
from lousho_cli.domain.messages import ImagePart, TextPart, ToolCall
from lousho_cli.stores.file.store import FileStore
from lousho_cli.tui.state.changes import changes
from lousho_cli.tui.state.fork_tree import branches
from lousho_cli.tui.state.json_tree import json_node
from lousho_cli.tui.state.outline import Node, Outline
from lousho_cli.tui.state.paging import blocks_of, number_of, pages_of, size_of, text_nodes
from lousho_cli.tui.state.ring_rows import cost_plot, lines_of, sparkline, tokens_plot
from lousho_cli.tui.state.search import Found, first_at, search
from lousho_cli.tui.state.transcript import transcript
from lousho_cli.tui.state.viewport import Spot, following, moved
from tests.tui.voyage import voyage


@pytest.fixture
async def read(tmp_path: Path) -> tuple[RingReader, Any]:
    """The voyage as it is read: who reads it, and its ring."""
    reader = RingReader("voyage")
    ring = await reader.read(FileStore(await voyage(tmp_path)))
    return reader, ring


def texts(outline: Outline) -> list[str]:
    return [f"{'  ' * item.depth}{item.node.label or item.node.text or item.node.aside}" for item in outline.items]


def opened(*roots: Node) -> Outline:
    """With everything in it open."""
    outline = Outline(roots)
    at = 0
    while at < len(outline.items):
        if outline.items[at].node.children is not None and not outline.items[at].opened:
            outline.toggle(at)
        at += 1
    return outline


async def test_a_ring_has_a_row_a_checkpoint_and_a_line_for_each_thing_that_happened(read: tuple[RingReader, Any]) -> None:
    lines = lines_of(read[1])
    said = [f"{one.row.sign} {one.row.name} {one.row.added}" if one.row else f"{one.sign} {one.text}" for one in lines]
    assert [one for one in said if one.startswith(("✓ 3", "○", "? 2.1"))] == [
        said[0],
        "○ 2.2 error of book_table",
        "? 2.1 calls book_table, “Shall I book?”",
        "○ 1.3 result of trains",
        "○ 1.2 result of weather",
        "○ 1.1 calls weather, trains, “Let me look.”",
    ]
    assert said[0].startswith("✓ 3   “# Two days in Lisbon".replace("   ", " "))
    happened = [one for one in said if one[0] in "↻✗⇄≠↺" or "approved" in one or "waits for" in one]
    assert happened == [
        "↻ resumed, attempt 2",
        "✓ book_table approved by kim: a table outside",
        "? waits for a person: book_table (7f3a9c1e2b4d)",
        "↺ model call failed, try 1: 503: overloaded",
        "↻ resumed, attempt 2",
        "≠ drift: tools added: book_table; tools changed (input schema): trains",
        "⇄ taken over by laptop",
        "✗ cut while trains ran: desk was gone",
    ]


async def test_a_plot_says_in_words_what_its_bars_show(read: tuple[RingReader, Any]) -> None:
    tokens, cost = tokens_plot(read[1], 20), cost_plot(read[1], 20)
    assert tokens is not None and tokens.said == "6.7k tokens, most 3.4k at step 3" and len(tokens.bars) == 6
    assert cost is not None and cost.said == "$0.0241, most $0.0127 at step 3"
    assert sparkline([1, 8, 4], 3) == "▂█▅"
    assert sparkline([0, 0], 2) == "▁▁"
    assert len(sparkline(list(range(500)), 30)) == 30 and sparkline([*[0] * 99, 9], 10).endswith("█")


def test_a_fork_tree_tells_where_each_branch_left() -> None:
    family = (
        Member(id="trip", status="finished", step=3),
        Member(id="trip.fork-2", parent="trip", left_at=2),
        Member(id="trip.fork-1", parent="trip", left_at=1, status="finished", step=2),
        Member(id="other", parent="trip.fork-1", left_at=1),
    )
    tree = branches(family, "trip.fork-1")
    assert [f"{one.stem}{one.name} {one.left}".rstrip() for one in tree] == [
        "trip",
        "├─ .fork-1 from step 1",
        "│  └─ other from step 1",
        "└─ .fork-2 from step 2",
    ]
    assert [one.here for one in tree] == [False, True, False, False]
    assert branches(family[:1], "trip") == ()
    gone = branches((Member(id="lost", gone=True), Member(id="child", parent="lost")), "child")
    assert [(one.id, one.state) for one in gone] == [("lost", "gone"), ("child", "did not end, step 0")]


def shown(*messages: ShownMessage, **more: Any) -> Shown:
    fields = {
        "session": "s",
        "status": "finished",
        "step": 1,
        "finish_reason": "stop",
        "business_state": None,
        "fingerprint": None,
        "agent": "a",
        "updated_at": "",
        "seq": 1,
        "tools": (),
        "usage": None,
    }
    return Shown(**(fields | {"messages": messages} | more))


def test_a_result_stands_below_its_call_and_a_call_is_closed() -> None:
    messages = (
        ShownMessage(role="user", content=(TextPart("look"), ImagePart("https://example.org/a.png"))),
        ShownMessage(
            role="assistant", content="yes", tool_calls=(ToolCall("c1", "read", '{"file":"a"}'), ToolCall("c2", "odd", "{not json"))
        ),
        ShownMessage(role="tool", content='{"lines":[1,2]}', tool_call_id="c1", tool_name="read"),
        ShownMessage(role="tool", content="lost", tool_call_id="c9", tool_name="gone"),
    )
    outline = Outline(transcript(shown(*messages)))
    assert texts(outline) == [
        "user",
        "  look",
        "  [image, image, https://example.org/a.png]",
        "assistant",
        "  yes",
        "  read",
        "  odd",
        "result of gone",
        "  lost",
    ]
    assert outline.items[6].node.aside == "{not json → no result yet"
    whole = texts(opened(*transcript(shown(*messages))))
    assert whole[5:13] == ["  read", "    call", "    arguments", "      file", "    result", "      lines", "        0", "        1"]
    assert "      {not json" in whole
    raw = opened(*transcript(shown(*messages), raw=True))
    assert any(item.node.text == '{"lines":[1,2]}' for item in raw.items)


def test_a_long_result_comes_in_pages_and_nothing_of_it_is_lost() -> None:
    long = "\n".join(f"line {number}" for number in range(1000)) + "x" * 10_000
    pages = pages_of(long)
    assert "".join(pages) == long and len(pages) > 15
    assert all(len(page) <= 2_500 and page.count("\n") <= 60 for page in pages)
    nodes = text_nodes("k", long)
    assert nodes[1].aside == f"page 2 of {len(pages)}" and not nodes[1].opened
    assert "".join(pages_of("x" * 1_000_000)) == "x" * 1_000_000
    markdown = "\n\n".join(["```", *(f"code {number}\n" * 20 for number in range(40)), "```"])
    assert [look for _, look in blocks_of(markdown)][:1] == ["text"]  # a fence that is too long is not laid out
    assert "".join(text for text, _ in blocks_of("a\n\n" * 3000)) == "a\n\n" * 3000


def test_what_a_person_closed_stays_closed_in_the_next_checkpoint() -> None:
    nodes = transcript(shown(ShownMessage(role="user", content="one"), ShownMessage(role="assistant", content="two")))
    first = Outline(nodes)
    first.toggle(0)
    again = Outline(nodes, first.choices)
    assert texts(again) == ["user", "assistant", "  two"]
    again.choose_top()
    assert texts(Outline(nodes, again.choices)) == ["user", "assistant"]
    again.choose_top()
    assert texts(Outline(nodes, again.choices)) == ["user", "  one", "assistant", "  two"]


def test_a_search_finds_what_is_closed_and_opens_the_way_to_it() -> None:
    value = {"days": [{"sky": "sun"}, {"sky": "RAIN"}], "note": "rain, rain"}
    outline = Outline([json_node("s", "state", value), Node("x", "no more rain")])
    found = search(outline.roots, "rain")
    assert found.said(0) == "1 of 4" and found.said(None) == "4"
    at = outline.open_to(found.hits[0].path)
    assert at is not None and outline.items[at].node.text == '"RAIN"'
    assert [hit.nth for hit in found.hits] == [0, 0, 1, 0]
    assert first_at(found, [("s",)]) == 3
    assert search(outline.roots, "snow").said(None) == "not found"
    assert search(outline.roots, "") == Found("")
    assert search(outline.roots, "rain", lambda: True).more


def test_a_search_looks_as_deep_as_json_goes() -> None:
    deep: Any = "found it"
    for _ in range(5000):
        deep = [deep]
    assert len(search([json_node("d", "deep", deep)], "found it").hits) == 1


def test_json_is_made_as_it_is_opened_and_much_of_it_in_groups() -> None:
    many = json_node("m", "many", list(range(25_000)), opened=True)
    outline = Outline([many])
    assert len(outline.items) == 4 and outline.items[1].node.aside == "0 … 9999"
    outline.toggle(1)
    assert outline.items[2].node.aside == "0 … 99"
    whole = search([many], "24999")
    assert [hit.nth for hit in whole.hits] == [0, 1] and whole.hits[0].path[2] == "m/[20000-25000]/[24900-25000]"
    assert json_node("e", "empty", {}).children is None and json_node("n", "none", None).text == "null"


async def test_changes_tell_what_a_checkpoint_has_that_the_one_before_had_not(read: tuple[RingReader, Any]) -> None:
    reader = read[0]
    newest = Outline(changes(reader.shown("voyage@3"), reader.shown("voyage@2.2")))
    said = texts(newest)
    assert said[0] == "since" and "+ 1 message added" in said
    assert [line for line in said if line.startswith("business state")] == ["business state: 2 changes"]
    assert "  budget" in said and "  stops[1]" in said
    assert "step" in said and "status" in said
    drifted = texts(Outline(changes(reader.shown("voyage@1.3"), reader.shown("voyage@1.2"))))
    assert "+ tool book_table" in drifted and "tool trains changed" in drifted and "model changed" in drifted
    assert changes(reader.shown("voyage@1.1"), None)[0].aside == "no kept checkpoint stands before this one"


def test_places_move_by_lines_and_never_past_the_ends() -> None:
    heights = [1, 5, 2, 1]
    asked: set[int] = set()

    def height(at: int) -> int:
        asked.add(at)
        return heights[at]

    assert moved(Spot(), 3, 4, height) == Spot(1, 2)
    assert moved(Spot(3, 0), -2, 4, height) == Spot(2, 0)
    assert moved(Spot(1, 2), 100, 4, height) == Spot(3, 0)
    assert moved(Spot(1, 2), -100, 4, height) == Spot(0, 0)
    assert moved(Spot(9, 9), 0, 0, height) == Spot()
    assert following(Spot(), Spot(3, 0), 4, 4, height) == Spot(1, 4)
    assert following(Spot(2, 0), Spot(1, 3), 4, 4, height) == Spot(1, 3)
    many = [1] * 100_000
    following(Spot(500, 0), Spot(510, 0), 20, len(many), lambda at: asked.add(at) or 1)
    assert len(asked) < 60  # nothing is laid out that is not near what is seen


def test_numbers_are_told_in_short() -> None:
    assert [size_of(n) for n in (12, 1200, 48_000, 3_000_000)] == ["12 B", "1.2 KB", "48 KB", "3.0 MB"]
    assert [number_of(n) for n in (950, 1204, 120_000, 3_400_000)] == ["950", "1.2k", "120k", "3.4M"]


def test_arguments_that_no_json_can_hold_are_shown_as_they_are() -> None:
    for text in ("[" * 100_000, '{"a": 1e999}', "", json.dumps("text")):
        call = ShownMessage(role="assistant", content="", tool_calls=(ToolCall("c", "t", text),))
        assert opened(*transcript(shown(call))).items
