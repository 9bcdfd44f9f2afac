"""Message lists, trajectories, logs of evals and databases as sessions."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from typing import Any

import pytest

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'}}
CHAT = [
    {"role": "system", "content": "You help."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}],
    },
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"forecast": "rain"}'},
    {"role": "assistant", "content": "It rains."},
]


async def test_a_chat_transcript_with_or_without_what_is_around_it(desk: Any) -> None:
    done, session = await desk.one("trip.json", CHAT)
    assert (done.kind, done.session) == ("openai-chat", "trip")
    assert [message.role for message in session.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert session.messages[2].tool_calls[0].arguments == '{"city": "Lisbon"}'
    assert session.messages[3].content == '{"forecast": "rain"}'
    body = {
        "model": "gpt-x",
        "messages": CHAT[:-1],
        "choices": [{"message": CHAT[-1]}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4},
    }
    _, whole = await desk.one("whole.json", body)
    assert [message.content for message in whole.messages] == [message.content for message in session.messages]
    assert (whole.step_usage[-1].model, whole.usage.by_model["gpt-x"].calls, whole.step_usage[-1].total_tokens) == ("gpt-x", 2, 13)


async def test_a_chat_transcript_a_message_a_line(desk: Any) -> None:
    done, session = await desk.one("trip.jsonl", [*CHAT[:2], "{torn", {"content": "no role"}, *CHAT[2:]])
    assert [bad.line for bad in done.bad_lines] == [3, 4]
    assert len(session.messages) == 5


RESPONSES = {
    "model": "gpt-x",
    "instructions": "You help.",
    "input": [
        {"role": "user", "content": "Look"},
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "OPAQUE"},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    ],
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It rains."}]}],
    "usage": {"input_tokens": 9, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2}},
}


async def test_a_responses_transcript(desk: Any) -> None:
    done, session = await desk.one("trip.json", RESPONSES)
    assert done.kind == "openai-responses"
    assert [message.text for message in session.messages] == ["You help.", "Look", "", "rain", "It rains."]
    assert (session.step_usage[-1].total_tokens, session.step_usage[-1].reasoning_tokens) == (13, 2)


async def test_an_anthropic_message_list(desk: Any) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    use = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Lisbon"}}
    messages = [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "I look."}, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "rain", "is_error": True}]},
        {"role": "assistant", "content": "It rains."},
    ]
    for name, content in (("list.json", messages), ("request.json", {"system": "You help.", "messages": messages})):
        done, session = await desk.one(name, content)
        assert done.kind == "anthropic"
        said = [message for message in session.messages if message.role != "system"]
        assert [message.text for message in said] == ["Look", "I look.", "rain", "It rains."]
        assert (said[1].reasoning[0].signature, said[2].is_error) == ("sig", True)


async def test_case_234_commands_in_texts_are_no_calls(desk: Any) -> None:
    steps = [
        [{"role": "assistant", "content": f"```bash\nls {n}\n```"}, {"role": "user", "content": "<output></output>"}] for n in range(10)
    ]
    messages = [
        {"role": "system", "content": "One command."},
        {"role": "user", "content": "Solve it."},
        *(one for step in steps for one in step),
    ]
    messages[-1]["content"] = ""
    old, session = await desk.one("issue.traj.json", messages)
    assert (old.kind, old.messages, len(session.messages)) == ("swe-agent", 22, 22)
    assert not any(message.tool_calls for message in session.messages)
    info = {"exit_status": "Submitted", "model_stats": {"instance_cost": 0.1}, "config": {"model": {"model_name": "a-model"}}}
    new, session = await desk.one("b.traj.json", {"trajectory_format": "mini-swe-agent-1", "info": info, "messages": messages})
    assert (new.session, new.messages, session.agent) == ("b", 22, "mini-swe-agent")
    assert session.settings["lousho.origin"]["details"]["model_stats"] == {"instance_cost": 0.1}
    assert session.earlier.by_model["a-model"].calls == 10


async def test_a_swe_agent_trajectory(desk: Any) -> None:
    history = [
        {"role": "system", "content": "You fix.", "agent": "main"},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [{**CALL, "id": "t1"}], "message_type": "action"},
        {"role": "tool", "content": [{"type": "text", "text": "fine"}], "tool_call_ids": ["t1"]},
        {"role": "assistant", "content": "Done."},
    ]
    done, session = await desk.one("x.traj", {"trajectory": [], "history": history, "info": {"submission": "diff"}})
    assert (done.kind, done.session) == ("swe-agent", "x")
    assert [message.text for message in session.messages] == ["You fix.", "Fix it.", "I look.", "fine", "Done."]


SAMPLE = {
    "id": 1, "epoch": 1, "input": "Look", "target": "rain", "scores": {"match": {"value": "C"}},
    "messages": [
        {"id": "m1", "role": "user", "content": "Look"},
        {"role": "assistant", "model": "a-model",
         "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "I look."}],
         "tool_calls": [{"id": "c1", "function": "weather", "arguments": {"city": "Lisbon"}, "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "function": "weather", "content": "no", "error": {"type": "timeout", "message": "late"}},
        {"role": "assistant", "content": "It rains."},
    ],
}  # fmt: skip


async def test_an_inspect_log_is_a_session_a_sample(desk: Any) -> None:
    log = {"version": 2, "status": "success", "eval": {"task": "trips", "model": "p/a-model"}, "samples": [SAMPLE, {**SAMPLE, "id": "b 2"}]}
    done = await desk.bring(desk.write("log.json", log))
    assert [(one.session, one.kind) for one in done.sessions] == [("log-1-1", "inspect"), ("log-b-2-1", "inspect")]
    session = await desk.session("log-1-1")
    assert (session.agent, [message.text for message in session.messages]) == ("trips", ["Look", "I look.", "no", "It rains."])
    assert (session.messages[1].tool_calls[0].arguments, session.messages[2].is_error) == ('{"city":"Lisbon"}', True)


async def test_an_inspect_archive_with_a_sample_that_is_broken(desk: Any) -> None:
    path = desk.write("log.eval", b"")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", json.dumps(SAMPLE))
        archive.writestr("samples/2_epoch_1.json", "{torn")
    done = await desk.bring(path)
    assert [one.session for one in done.sessions] == ["log-1-1"]
    assert "2_epoch_1" in done.failed[0].source


async def test_an_atif_trajectory_with_a_sub_agent(desk: Any) -> None:
    steps = [
        {"step_id": 1, "source": "system", "message": "You help."},
        {"step_id": 2, "timestamp": "2026-01-01T00:00:00Z", "source": "user", "message": "Look"},
        {
            "step_id": 3, "source": "agent", "message": "I look.", "reasoning_content": "hm", "model_name": "a-model",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "weather", "arguments": {"city": "Lisbon"}}],
            "observation": {"results": [{"source_call_id": "c1", "content": "rain"}]},
            "metrics": {"prompt_tokens": 9, "completion_tokens": 4, "cached_tokens": 2, "cost_usd": 0.5},
        },
        {"step_id": 4, "source": "agent", "message": "It rains."},
        {"step_id": 5, "source": "nobody", "message": "?"},
    ]  # fmt: skip
    inner = {
        "schema_version": "ATIF-v1.7",
        "trajectory_id": "k",
        "agent": {"name": "scout", "version": "1"},
        "steps": steps[1:2] + steps[3:4],
    }
    body = {"schema_version": "ATIF-v1.7", "session_id": "t-1", "agent": {"name": "trip", "version": "1"}, "steps": steps}
    done = await desk.bring(desk.write("x.json", {**body, "subagent_trajectories": [inner]}))
    assert [(one.session, one.kind, one.parent) for one in done.sessions] == [("t-1", "atif", None), ("t-1.k", "atif", "t-1")]
    session = await desk.session("t-1")
    assert [message.text for message in session.messages] == ["You help.", "Look", "I look.", "rain", "It rains."]
    assert (session.agent, session.step_usage[0].cost_usd, session.step_usage[0].cached_input_tokens) == ("trip", 0.5, 2)
    assert [bad.line for bad in done.sessions[0].bad_lines] == [5]


async def test_a_database_of_the_agents_sdk_is_read_and_not_changed(desk: Any) -> None:
    path = desk.write("sessions.db", b"")
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP);"
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at TIMESTAMP);"
    )
    items = [*RESPONSES["input"], *RESPONSES["output"]]
    for session in ("user 1", "two"):
        rows = [(session, json.dumps(item), f"2026-01-01 00:00:{number:02}") for number, item in enumerate(items)]
        connection.executemany(
            "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES (?, ?, ?)", [*rows, (session, "{", "")]
        )
    connection.commit()
    connection.close()
    before = path.read_bytes()
    done = await desk.bring(path)
    assert [(one.session, one.was, one.kind) for one in done.sessions] == [
        ("user-1", "user 1", "openai-agents"),
        ("two", None, "openai-agents"),
    ]
    session = await desk.session("two")
    assert [message.text for message in session.messages] == ["Look", "", "rain", "It rains."]
    assert session.updated_at == "2026-01-01T00:00:04.000Z"
    assert done.sessions[0].bad_lines[0].line == 6
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01", b"hello", b"{}", b"[]", b'[{"a": 1}]', b'{"messages": [1]}', b"[" * 5000, b"\xff\xfe"]
)
async def test_what_is_no_session_is_refused_whatever_it_is(desk: Any, content: bytes) -> None:
    from lousho_cli.errors import SDKError

    for name in ("x.jsonl", "x.bin"):
        with pytest.raises(SDKError):
            await desk.bring(desk.write(name, content))


async def test_values_of_the_wrong_kind_anywhere_are_no_traceback(desk: Any) -> None:
    odd = [None, 1, "x", [], {}, [None], [1], {"type": 1}, [{"type": None}], [{"type": "text", "text": 1}], True]
    shapes = []
    for value in odd:
        shapes.append(
            [
                *CHAT,
                {"role": "assistant", "content": value, "tool_calls": value, "model": value, "usage": value},
                {"role": "user", "content": value},
            ]
        )
        shapes.append(
            {
                "system": value,
                "model": value,
                "messages": [*CHAT[:2], {"role": "assistant", "content": value}, {"role": "user", "content": value}],
            }
        )
        shapes.append(
            {**RESPONSES, "input": [*RESPONSES["input"], {"type": "message", "role": "assistant", "content": value}], "usage": value}
        )
        shapes.append(
            {
                "schema_version": "ATIF-v1.7",
                "agent": value,
                "steps": [
                    {"source": "user", "message": "x"},
                    value,
                    {"source": "agent", "message": value, "tool_calls": value, "observation": value, "metrics": value},
                ],
            }
        )
        shapes.append({"eval": {"task": value}, "samples": [value, {**SAMPLE, "id": value, "messages": [*SAMPLE["messages"], value]}]})
        shapes.append({"trajectory": [], "history": [*CHAT, value], "info": value})
    for number, shape in enumerate(shapes):
        done = await desk.bring(desk.write(f"x{number}.json", shape))
        for one in done.sessions:
            await desk.session(one.session)
