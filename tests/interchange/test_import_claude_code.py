"""Claude Code's lines as sessions: answers in pieces, branches, sidechains, compaction, and all that is odd."""

from __future__ import annotations

from typing import Any

from lousho_cli.app.import_names import ORIGIN
from lousho_cli.domain.resets import is_reset

USED = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 10}


async def test_case_221_lines_of_one_message_are_one_answer_and_count_once(desk: Any, chain: Any, call: Any) -> None:
    lines = chain().user("a", "look").says("b", "I look.", message="m", usage={"input_tokens": 5, "output_tokens": 1})
    lines.says("c", call("x", path="1"), message="m").says("d", call("y", path="2"), message="m", usage=USED)
    lines.gives("e", "x", "one").gives("f", "y", [{"type": "text", "text": "two"}], parentUuid="d").says("g", "Done.")
    done, session = await desk.one("s-1.jsonl", lines.lines)
    assert [message.role for message in session.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    answer = session.messages[1]
    assert (answer.content, [one.id for one in answer.tool_calls]) == ("I look.", ["x", "y"])
    assert [one.arguments for one in answer.tool_calls] == ['{"path":"1"}', '{"path":"2"}']
    assert [message.content for message in session.messages[2:4]] == ["one", "two"]
    first = session.step_usage[0]
    assert (first.model, first.input_tokens, first.output_tokens, first.cached_input_tokens) == ("a-model", 105, 7, 90)
    assert (done.repaired, done.bad_lines, done.messages) == ((), (), 5)
    assert (session.status, session.outcome, session.updated_at) == ("finished", "completed", "2026-01-01T00:00:06.000Z")


async def test_a_call_that_came_behind_the_result_of_another_is_of_the_same_answer(desk: Any, chain: Any, call: Any) -> None:
    lines = chain().user("a", "look").says("b", call("x"), message="m").gives("c", "x", "one")
    lines.says("d", call("y"), message="m", parentUuid="b").gives("e", "y", "two").says("f", "Done.")
    done, session = await desk.one("s-1.jsonl", lines.lines)
    assert [message.tool_call_id or message.role for message in session.messages] == ["user", "assistant", "x", "y", "assistant"]
    assert (done.repaired, done.messages) == ((), 5)


async def test_case_222_types_nobody_knows_are_counted_and_the_rest_is_there(desk: Any, chain: Any, call: Any) -> None:
    lines = chain().user("a", "write").says("b", "I write.", call("x")).gives("c", "x", "ok").says("d", call("y")).gives("e", "y", "ok")
    lines.user("f", "and now?").says("g", "Done.")
    extra = [{"type": "invented", "sessionId": "s-1", "n": n} for n in range(2)] + [{"type": "queue-operation", "operation": "enqueue"}]
    progress = {"type": "progress", "uuid": "p", "parentUuid": "b", "data": {"type": "hook"}}
    mixed = [{"type": "summary", "summary": "A talk", "leafUuid": "g"}, *lines.lines[:2], progress, *extra, *lines.lines[2:]]
    done, session = await desk.one("s-1.jsonl", mixed)
    assert len(session.messages) == 7
    assert done.skipped_types == {"summary": 1, "invented": 2, "queue-operation": 1, "progress": 1}


async def test_case_223_one_odd_line_discards_nothing_else(desk: Any, chain: Any, call: Any) -> None:
    lines = chain().user("a", "look").says("b", "I look.", call("x")).gives("c", "x", "ok").says("d", "Done.").lines
    misspelled = {"type": "user", "sessionId": "s-1", "message": {"role": "user", "contenst": "hm"}}
    plain = {"type": "user", "sessionId": "s-1", "message": "error"}
    null = {"type": "user", "sessionId": "s-1", "message": {"role": "user", "content": None}}
    odd = [
        *lines[:2],
        misspelled,
        plain,
        null,
        "42",
        '"text"',
        "[1]",
        "{}",
        "",
        '{"type": "user", "message": {"content": ["x"]}}',
        *lines[2:],
    ]
    path = desk.write("s-1.jsonl", [*odd, '{"type": "user", "message": {"role": "us'])
    done = (await desk.bring(path)).sessions[0]
    assert [bad.line for bad in done.bad_lines] == [3, 4, 5, 6, 7, 8, 9, 11, 14]
    assert all(bad.why for bad in done.bad_lines)
    assert await desk.roles("s-1") == ["user", "assistant", "tool", "assistant"]


async def test_case_224_arguments_and_results_equal_the_source(desk: Any, chain: Any, call: Any) -> None:
    arguments = {"path": "ä\u2028/x", "n": 1.5, "deep": [{"a": None}], "big": 2**70}
    picture = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]
    lines = (
        chain()
        .user("a", "look")
        .says("b", call("x", **arguments), call("y"))
        .gives("c", "x", "line one\nline two")
        .gives("d", "y", picture)
    )
    _, session = await desk.one("s-1.jsonl", lines.lines)
    import json

    assert json.loads(session.messages[1].tool_calls[0].arguments) == arguments
    assert session.messages[2].content == "line one\nline two"
    assert json.loads(session.messages[3].text) == picture


async def test_case_224_a_file_without_a_message_is_an_error(desk: Any) -> None:
    done = await desk.bring(desk.write("s-1.jsonl", [{"type": "summary", "summary": "x", "leafUuid": "y"}]))
    assert done.empty_handed
    assert "no message" in done.failed[0].why
    assert (await desk.store.heads()).heads == ()


async def test_case_228_calls_and_results_that_lack_each_other_are_named(desk: Any, chain: Any, call: Any) -> None:
    lines = chain().user("a", "look").gives("b", "late", "came first").says("c", call("late"), call("lost"))
    lines.gives("d", "nobody", "for whom?").says("e", call("next")).gives("f", "next", "ok").says("g", "Done.")
    done, session = await desk.one("s-1.jsonl", lines.lines)
    assert [message.tool_call_id or message.role for message in session.messages] == [
        "user", "assistant", "late", "lost", "assistant", "next", "assistant",
    ]  # fmt: skip
    assert session.messages[2].content == "came first"
    assert session.messages[3].is_error
    assert len(done.repaired) == 3
    for place, word in ((2, "late"), (4, "nobody"), (3, "lost")):
        assert any(said.startswith(f"line {place}: ") and word in said for said in done.repaired)
    records = [record for batch in (await desk.store.read("s-1")).batches for record in batch.records]
    assert any("for whom?" in getattr(record, "text", "") for record in records), "what was left out of the talk is in the log"


async def test_a_result_that_comes_behind_the_next_answer_goes_to_its_turn(desk: Any, chain: Any, call: Any) -> None:
    lines = chain().user("a", "look").says("b", call("x")).says("c", "Meanwhile.").user("d", "?").gives("e", "x", "late").says("f", "Done.")
    done, session = await desk.one("s-1.jsonl", lines.lines)
    assert [message.text for message in session.messages] == ["look", "", "late", "Meanwhile.", "?", "Done."]
    assert len(done.repaired) == 1


async def test_case_232_the_newest_branch_is_the_session_and_the_others_are_told_of(desk: Any, chain: Any) -> None:
    lines = chain().user("a", "one").says("b", "first answer").user("c", "two").says("d", "old branch")
    lines.user("e", "two, otherwise", parentUuid="b").says("f", "new branch").user("g", "and?", parentUuid="nowhere").says("h", "The end.")
    lines.user("s1", "prompt", isSidechain=True, parentUuid=None, agentId="k").says(
        "s2", "found", isSidechain=True, parentUuid="s1", agentId="k"
    )
    done = await desk.bring(desk.write("s-1.jsonl", lines.lines))
    assert [(one.session, one.parent) for one in done.sessions] == [("s-1", None), ("agent-k", "s-1")]
    texts = [message.text for message in (await desk.session("s-1")).messages]
    assert texts == ["one", "first answer", "two, otherwise", "new branch", "and?", "The end."]
    assert any("line 3" in said and "branch of 2 lines" in said for said in done.left)
    assert any("line 7" in said and "not there" in said for said in done.left)
    assert (await desk.store.head("agent-k")).lead == "s-1"


async def test_case_232_branches_become_sessions_of_their_own_where_they_are_wanted(desk: Any, chain: Any) -> None:
    lines = chain().user("a", "one").says("b", "first answer").user("c", "two").says("d", "old branch")
    path = desk.write("s-1.jsonl", lines.user("e", "two, otherwise", parentUuid="b").says("f", "new branch").lines)
    done = await desk.bring(path, branches=True)
    assert [one.session for one in done.sessions] == ["s-1", "s-1.branch-3"]
    assert [message.text for message in (await desk.session("s-1.branch-3")).messages] == ["one", "first answer", "two", "old branch"]
    assert done.left == ()
    assert {one.result for one in (await desk.bring(path, branches=True)).sessions} == {"unchanged"}


async def test_a_file_of_a_sub_agent_is_a_session_under_its_lead(desk: Any, chain: Any) -> None:
    desk.write("p/s-1.jsonl", chain().user("a", "go").says("b", "Done.").lines)
    side = {"isSidechain": True, "agentId": "k7"}
    desk.write("p/agent-k7.jsonl", chain().user("x", "find it", **side).says("y", "found", parentUuid="x", **side).lines)
    desk.write("p/notes.txt", b"nothing")
    done = await desk.bring()
    assert {(one.session, one.parent) for one in done.sessions} == {("s-1", None), ("agent-k7", "s-1")}
    assert await desk.roles("agent-k7") == ["user", "assistant"]


async def test_compaction_keeps_what_was_said_and_says_where_the_model_began_anew(desk: Any, chain: Any) -> None:
    lines = (
        chain().user("a", "one").says("b", "first").line("system", "k", subtype="compact_boundary", parentUuid=None, logicalParentUuid="b")
    )
    lines.user("c", "In short: one, first.", isCompactSummary=True).user("d", "two").says("e", "second")
    _, session = await desk.one("s-1.jsonl", lines.lines)
    assert [message.text for message in session.messages] == ["one", "first", "In short: one, first.", "two", "second"]
    assert [is_reset(message) for message in session.messages] == [False, False, True, False, False]


async def test_case_238_a_byte_order_mark_and_line_separators_in_texts_cut_nothing(desk: Any, chain: Any) -> None:
    import json

    lines = chain().user("a", "one\u2028two\u0085three").says("b", "fine\u2029").lines
    content = b"\xef\xbb\xbf" + b"\r\n".join(json.dumps(line, ensure_ascii=False).encode() for line in lines)
    done, session = await desk.one("s-1.jsonl", content)
    assert [message.text for message in session.messages] == ["one\u2028two\u0085three", "fine\u2029"]
    assert done.bad_lines == ()


async def test_what_json_does_not_allow_is_read_all_the_same(desk: Any, chain: Any, call: Any) -> None:
    import json

    text = (
        json.dumps(chain().user("a", "x").says("b", call("c", n=1), "half").lines[1])
        .replace('"n": 1', '"n": NaN')
        .replace("half", "half \\ud800")
    )
    done, session = await desk.one("s-1.jsonl", [chain().user("a", "x").lines[0], text])
    assert done.bad_lines == ()
    assert session.messages[1].tool_calls[0].arguments == '{"n":"NaN"}'
    assert session.messages[1].text == "half \ufffd"


async def test_it_is_marked_with_where_it_comes_from(desk: Any, chain: Any) -> None:
    lines = chain().user("a", "one", cwd="/project", version="2.0.0").says("b", "first").lines
    _, session = await desk.one("s-1.jsonl", lines)
    origin = session.settings[ORIGIN]
    assert (origin["kind"], origin["file"], origin["id"], origin["entries"]) == ("claude-code", "s-1.jsonl", "s-1", 2)
    assert origin["details"] == {"cwd": "/project", "version": "2.0.0"}
    assert session.messages[0].metadata == {"original": {"uuid": "a"}}
    assert session.messages[1].metadata == {"original": {"uuid": "b", "id": "m-b"}}


async def test_each_answer_is_a_checkpoint_of_its_run(desk: Any, chain: Any, call: Any) -> None:
    lines = chain().user("a", "one")
    for number in range(70):
        lines.says(f"b{number}", call(f"x{number}")).gives(f"c{number}", f"x{number}", "ok")
    _, session = await desk.one("s-1.jsonl", lines.says("z", "Done.").user("y", "again").says("x", "Yes.").lines)
    assert [mark.address for mark in session.marks][:3] == ["1/1.1", "1/1.2", "1/2.1"]
    assert [mark.address for mark in session.marks][-2:] == ["1/71.1", "2/1.1"]


async def test_a_talk_that_stops_is_not_gone_on_with_by_itself_and_keeps_its_open_call(desk: Any, chain: Any, call: Any) -> None:
    _, session = await desk.one("s-1.jsonl", chain().user("a", "go").says("b", call("x")).lines)
    assert (session.status, session.outcome, [one.id for one in session.pending]) == ("in-progress", "aborted", ["x"])
    assert session.run.replay == "never"
    assert session.turn.started == {"x": 1}
