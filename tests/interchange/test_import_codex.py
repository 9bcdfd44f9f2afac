"""Rollouts of Codex as sessions."""

from __future__ import annotations

from typing import Any

from lousho_cli.domain.resets import is_reset


def rollout(*lines: tuple[str, dict[str, Any]], session: str = "r-1") -> list[dict[str, Any]]:
    """Lines with a time each, behind the one that says whose they are."""
    meta = ("session_meta", {"id": session, "cwd": "/project", "cli_version": "0.1"})
    return [
        {"timestamp": f"2026-01-02T03:04:{number:02}.000Z", "type": kind, "payload": payload}
        for number, (kind, payload) in enumerate([meta, ("turn_context", {"model": "a-model"}), *lines])
    ]


def said(role: str, text: str) -> tuple[str, dict[str, Any]]:
    kind = "output_text" if role == "assistant" else "input_text"
    return "response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def item(kind: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "response_item", {"type": kind, **fields}


def event(kind: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": kind, **fields}


def used(tokens_in: int, tokens_out: int) -> tuple[str, dict[str, Any]]:
    usage = {"input_tokens": tokens_in, "cached_input_tokens": 3, "output_tokens": tokens_out, "reasoning_output_tokens": 1}
    return event("token_count", info={"last_token_usage": usage, "total_token_usage": {"input_tokens": 10**6}})


TALK = rollout(
    event("user_message", message="List the files."),
    said("user", "List the files."),
    item("reasoning", summary=[{"type": "summary_text", "text": "I will look."}], encrypted_content="OPAQUE"),
    item("function_call", name="exec", arguments='{"cmd": "ls"}', call_id="c1"),
    used(10, 5),
    item("function_call_output", call_id="c1", output="a.txt\nb.txt"),
    item("custom_tool_call", name="apply_patch", input="*** Begin\n*** End", call_id="c2"),
    item("custom_tool_call_output", call_id="c2", output=[{"type": "output_text", "text": "Done!"}]),
    item("function_call", name="mcp__x__look", arguments='{"q":"x"}', call_id="c3"),
    item("function_call_output", call_id="c3", output={"status": "ok"}),
    event("agent_message", message="There are two."),
    said("assistant", "There are two."),
    used(20, 7),
    ("future_record", {"safe": "ignored"}),
)


async def test_case_225_a_text_that_stands_twice_is_there_once(desk: Any) -> None:
    done, session = await desk.one("rollout-x.jsonl", TALK)
    roles = [message.role for message in session.messages]
    assert (roles.count("user"), roles.count("tool"), sum(len(message.tool_calls) for message in session.messages)) == (1, 3, 3)
    assert [message.text for message in session.messages if message.role == "assistant" and message.text] == ["There are two."]
    assert [message.content for message in session.messages if message.role == "tool"] == ["a.txt\nb.txt", "Done!", '{"status":"ok"}']
    assert [call.arguments for message in session.messages for call in message.tool_calls] == [
        '{"cmd": "ls"}', "*** Begin\n*** End", '{"q":"x"}',
    ]  # fmt: skip
    assert (done.session, done.skipped_types, done.kind) == ("r-1", {"future_record": 1}, "codex")
    assert all(not message.reasoning and message.native is None for message in session.messages)
    assert session.messages[1].metadata["items"][0]["encrypted_content"] == "OPAQUE", "kept as data"
    assert (session.status, session.updated_at) == ("finished", "2026-01-02T03:04:13.000Z")


async def test_each_answer_has_what_it_used(desk: Any) -> None:
    _, session = await desk.one("rollout-x.jsonl", TALK)
    said = [(step.model, step.input_tokens, step.output_tokens, step.cached_input_tokens) for step in session.step_usage]
    assert (said[0], said[3]) == (("a-model", 10, 5, 3), ("a-model", 20, 7, 3))
    assert [step.estimated for step in session.step_usage] == [False, True, True, False]
    assert all(step.input_tokens and step.output_tokens for step in session.step_usage), "what nobody said is guessed"


async def test_events_are_read_where_there_are_no_items_and_a_torn_line_is_named(desk: Any) -> None:
    lines = rollout(event("user_message", message="Safe."), event("agent_message", message="Yes."))
    done, session = await desk.one("r.jsonl", [*lines, "{torn"])
    assert [message.text for message in session.messages] == ["Safe.", "Yes."]
    assert [bad.line for bad in done.bad_lines] == [5]


async def test_case_226_a_rollout_that_grew_is_the_same_session(desk: Any) -> None:
    for cut in range(3, len(TALK)):
        desk.store = type(desk.store)()
        await desk.bring(desk.write("r.jsonl", TALK[:cut]))
        done = await desk.bring(desk.write("r.jsonl", TALK))
        assert {head.id for head in (await desk.store.heads()).heads} == {"r-1"}, (cut, done)
        assert len((await desk.session("r-1")).messages) == 8


async def test_case_238_a_byte_order_mark_and_a_line_separator(desk: Any) -> None:
    import json

    lines = rollout(said("user", "one\u2028two"), said("assistant", "three"))
    content = b"\xef\xbb\xbf" + b"\n".join(json.dumps(line, ensure_ascii=False).encode() for line in lines)
    _, session = await desk.one("r.jsonl", content)
    assert [message.text for message in session.messages] == ["one\u2028two", "three"]


async def test_instructions_compaction_and_parallel_calls(desk: Any) -> None:
    lines = rollout(
        said("user", "look"),
        item("function_call", name="a", arguments="{}", call_id="1"),
        item("function_call", name="b", arguments="{}", call_id="2"),
        item("function_call_output", call_id="2", output="two"),
        item("function_call_output", call_id="1", output="one"),
        said("assistant", "Done."),
        ("compacted", {"message": "In short: done."}),
        said("user", "and now?"),
        said("assistant", "Nothing."),
    )
    lines[0]["payload"]["base_instructions"] = {"text": "You code."}
    _, session = await desk.one("r.jsonl", lines)
    assert [message.text for message in session.messages] == [
        "You code.", "look", "", "one", "two", "Done.", "In short: done.", "and now?", "Nothing.",
    ]  # fmt: skip
    assert [is_reset(message) for message in session.messages].index(True) == 6


async def test_a_rollout_of_the_first_versions(desk: Any) -> None:
    lines = [
        {"id": "old-1", "timestamp": "2025-05-01T00:00:00.000Z", "instructions": "You code."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
        {"record_type": "state"},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "1"},
        {"type": "function_call_output", "call_id": "1", "output": "ok"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    done, session = await desk.one("rollout-old.jsonl", lines)
    assert (done.kind, done.session) == ("codex", "old-1")
    assert [message.role for message in session.messages] == ["system", "user", "assistant", "tool", "assistant"]


async def test_case_228_calls_and_results_that_lack_each_other(desk: Any) -> None:
    lines = rollout(
        said("user", "look"),
        item("function_call_output", call_id="early", output="first"),
        item("function_call", name="a", arguments="{}", call_id="early"),
        item("function_call", name="b", arguments="{}", call_id="lost"),
        item("function_call_output", call_id="nobody", output="?"),
        said("assistant", "Done."),
    )
    done, session = await desk.one("r.jsonl", lines)
    assert [message.tool_call_id or message.role for message in session.messages] == ["user", "assistant", "early", "lost", "assistant"]
    assert len(done.repaired) == 3


async def test_what_says_nothing_by_itself_goes_to_the_answer_that_follows(desk: Any) -> None:
    lines = rollout(
        said("user", "look"),
        item("ghost_snapshot", commit="x"),
        said("assistant", "Done."),
        said("user", "and?"),
        item("reasoning", summary=[]),
    )
    _, session = await desk.one("r.jsonl", lines)
    assert [message.role for message in session.messages] == ["user", "assistant", "user"]
    assert session.messages[1].metadata == {"items": [{"type": "ghost_snapshot", "commit": "x"}]}
