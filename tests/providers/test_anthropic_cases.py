"""Whole runs against a Messages server that keeps the rules: whatever is killed, rejected or cut, it never has a reason to refuse."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from warm_process import run

import lousho_cli
from lousho_cli import AnthropicProvider, FileStore, create_agent, define_tool, memory_store
from lousho_cli.__main__ import main
from lousho_cli.core.fold import fold
from lousho_cli.domain.texts import TRUNCATED_TOOL_RESULT
from tests.providers import messages_server as m
from tests.providers.messages_server import MessagesServer

AGENT = '''
import os
from lousho_cli import AnthropicProvider

THINKS = {"thinking": {"type": "THINKING", "budget_tokens": 1024}}

async def ends(name, ctx):
    """Tells that it was started; the first time, ends its process in the way that a file says."""
    with open("ran.txt", "a") as file:
        file.write(name + "\\n")
    if os.path.exists("end-" + name):
        with open("end-" + name) as file:
            how = int(file.read())
        os.remove("end-" + name)
        os.kill(os.getpid(), how)
        await ctx.signal.wait()
        raise RuntimeError("stopped")
    return "result of " + name

def tool(name):
    return {"name": name, "description": name, "input": {"type": "object"}, "execute": lambda args, ctx: ends(name, ctx)}

agent = {
    "name": "project",
    "prompt": "Be brief.",
    "provider": AnthropicProvider("claude-x", base_url=os.environ["MESSAGES_SERVER"], extra_body=THINKS),
    "tools": [tool("a"), tool("b"), tool("c")],
    "policy": {"tool_concurrency": 1},
    "durability": {"retry": False},
}
'''


@pytest.fixture
async def server() -> AsyncIterator[MessagesServer]:
    playing = MessagesServer()
    await playing.start()
    yield playing
    await playing.stop()
    assert playing.refused == [], "a rule of the wire was broken"
    assert playing.plays == [], "an answer was never asked for"


class Project:
    """A folder with an agent whose model is the server, driven by the command line in processes of its own."""

    def __init__(self, folder: Path, server: MessagesServer) -> None:
        self.folder, self.server = folder, server

    def write(self, *plays: bytes, thinking: str = "disabled") -> None:
        (self.folder / "agent.py").write_text(AGENT.replace("THINKING", thinking))
        self.server.plays = list(plays)

    def end_in(self, tool: str, signal: int) -> None:
        (self.folder / f"end-{tool}").write_text(str(signal))

    async def lousho(self, *args: str) -> tuple[int | None, str]:
        """Runs a command; its exit code and stderr."""
        root = str(Path(lousho_cli.__file__).parents[1])
        plain = {name: value for name, value in os.environ.items() if not name.startswith("LOUSHO_")}
        environ = plain | {"PYTHONPATH": root, "MESSAGES_SERVER": self.server.base_url, "HOME": str(self.folder)}
        command = [sys.executable, "-m", "lousho_cli", *args]
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        ran = await asyncio.to_thread(run, command, cwd=self.folder, env=environ, **options)
        return ran.returncode, ran.stderr

    @property
    def ran(self) -> list[str]:
        return (self.folder / "ran.txt").read_text().split()

    async def messages(self) -> Any:
        return fold((await FileStore(self.folder / ".lousho").read("s")).batches).messages


@pytest.fixture
def project(tmp_path: Path, server: MessagesServer) -> Project:
    return Project(tmp_path, server)


@pytest.fixture
async def agent(server: MessagesServer) -> AsyncIterator[Any]:
    """Makes an agent of this process, whose tools are functions."""
    opened: list[AnthropicProvider] = []

    def make(*tools: Any, **options: Any) -> Any:
        opened.append(AnthropicProvider("claude-x", base_url=server.base_url))
        return create_agent(opened[-1], store=memory_store(), instructions="Be brief.", tools=tools, **options)

    yield make
    for provider in opened:
        await provider.aclose()


@define_tool
def look(city: str = "") -> str:
    """Look it up."""
    return f"sun {city}".strip()


def contents(body: Any) -> list[tuple[str, list[Any]]]:
    return [(message["role"], message["content"]) for message in body["messages"]]


def results(body: Any) -> list[tuple[str, str]]:
    return [(block["tool_use_id"], block.get("content", "")) for block in body["messages"][-1]["content"] if block["type"] == "tool_result"]


def mark_free(blocks: list[Any]) -> list[Any]:
    return [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]


async def test_case_124_all_results_are_one_message_in_call_order(agent: Any, server: MessagesServer) -> None:
    calls = [m.call(f"toolu_{n}", "look", city=str(n)) for n in (3, 1, 2)]
    server.plays = [m.answer(m.said("Looking."), *calls), m.answer(m.said("Sun."))]
    assert (await agent(look, tool_concurrency=3).send("Weather?", "s")).text == "Sun."
    assert [role for role, _ in contents(server.bodies[1])] == ["user", "assistant", "user"]
    assert results(server.bodies[1]) == [("toolu_3", '"sun 3"'), ("toolu_1", '"sun 1"'), ("toolu_2", '"sun 2"')]
    assert len(server.bodies[1]["messages"][2]["content"]) == 3


async def test_case_125_a_resume_between_the_results_answers_each_call_once(project: Project, server: MessagesServer) -> None:
    project.write(m.answer(*(m.call(f"toolu_{name}", name) for name in "abc")), m.answer(m.said("Done.")))
    project.end_in("b", 9)
    assert (await project.lousho("run", "agent.py", "Go", "-s", "s"))[0] == -9
    assert (await project.lousho("resume", "s"))[0] == 0
    assert project.ran == ["a", "b", "b", "c"]
    assert results(server.bodies[1]) == [(f"toolu_{name}", f'"result of {name}"') for name in "abc"]
    prefix = server.raw[0].replace(b',"cache_control":{"type":"ephemeral"}', b"").removesuffix(b"]}]}")
    assert server.raw[1].replace(b',"cache_control":{"type":"ephemeral"}', b"").startswith(prefix), "the same bytes in another process"


async def test_case_126_after_an_abort_results_come_before_the_new_input(project: Project, server: MessagesServer) -> None:
    project.write(m.answer(*(m.call(f"toolu_{name}", name) for name in "abc")), m.answer(m.said("Other.")))
    project.end_in("b", 2)
    assert (await project.lousho("run", "agent.py", "Go", "-s", "s"))[0] == 130
    assert (await project.lousho("run", "agent.py", "something else", "-s", "s"))[0] == 0
    assert project.ran == ["a", "b"]
    _, _, (role, blocks) = contents(server.bodies[1])
    assert (role, [block["type"] for block in blocks]) == ("user", ["tool_result"] * 3 + ["text"])
    assert [block.get("is_error", False) for block in blocks] == [False, True, True, False]
    assert blocks[3]["text"] == "something else"


@pytest.mark.parametrize("deltas", [True, False])
async def test_case_127_a_tool_without_arguments_runs_with_none(agent: Any, server: MessagesServer, deltas: bool) -> None:
    ran: list[str] = []

    @define_tool
    def pelican_name_generator() -> str:
        """A name."""
        ran.append("it")
        return "Pete"

    stream = (m.STREAMS / "anthropic_empty_arguments.sse").read_bytes()
    if not deltas:
        parts = stream.split(b"\n\n")
        stream = b"\n\n".join(part for part in parts if b"input_json_delta" not in part)
    server.plays = [stream, m.answer(m.said("Pete."))]
    assert (await agent(pelican_name_generator).send("A name?", "s")).text == "Pete."
    (call,) = server.bodies[1]["messages"][1]["content"]
    assert (ran, call["input"]) == (["it"], {})


async def test_case_128_an_error_inside_a_success_fails_the_run(project: Project, server: MessagesServer) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    project.write(m.events(m.opening(), m.started(0, m.said("Half an answ")), error))
    code, err = await project.lousho("run", "agent.py", "Go", "-s", "s")
    assert code == 1
    assert "overloaded_error" in err
    assert [message.role for message in await project.messages()] == ["system", "user"]


THOUGHTS = [m.thinking("First I look.\n\u2028 Zürich 🧭", "Ep+/signed=="), {"type": "redacted_thinking", "data": "q/Zz+="}]


async def test_case_130_signed_thinking_comes_back_byte_for_byte(project: Project, server: MessagesServer) -> None:
    blocks = [*THOUGHTS, m.said("Let me look."), m.call("toolu_a", "a", n=2712345678901234567)]
    project.write(m.answer(*blocks), m.answer(m.said("Done.")), thinking="enabled")
    project.end_in("a", 9)
    assert (await project.lousho("run", "agent.py", "Go", "-s", "s"))[0] == -9
    assert (await project.lousho("resume", "s"))[0] == 0
    assert server.bodies[1]["messages"][1]["content"] == blocks
    assert json.dumps(THOUGHTS, ensure_ascii=False, separators=(",", ":")).encode()[1:-1] in server.raw[1]


async def test_case_132_a_finished_session_goes_on_in_another_process(project: Project, server: MessagesServer) -> None:
    first = [THOUGHTS[0], m.call("toolu_1", "a")]
    # Thinking between two calls: what our own fields could not put back in its place.
    second = [m.thinking("again", "s2=="), m.call("toolu_2", "a"), m.thinking("and again", "s3=="), m.said("Both."), m.call("toolu_3", "b")]
    project.write(m.answer(*first), m.answer(m.said("One.")), m.answer(*second), m.answer(m.said("Two.")), thinking="enabled")
    assert (await project.lousho("run", "agent.py", "think", "-s", "s"))[0] == 0
    assert (await project.lousho("run", "agent.py", "think again, use the tool, then answer", "-s", "s"))[0] == 0
    last = contents(server.bodies[3])
    assert (last[1][1], last[5][1]) == (first, second)
    assert results(server.bodies[3]) == [("toolu_2", '"result of a"'), ("toolu_3", '"result of b"')]


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tides"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "encrypted_content": "E+/="}],
}


async def test_case_133_a_paused_answer_is_sent_back_and_gone_on_with(agent: Any, server: MessagesServer) -> None:
    paused = [m.thinking("search", "s1=="), m.said("Searching."), SEARCH]
    server.plays = [m.answer(*paused, reason="pause_turn"), m.answer(FOUND, m.said("High at noon.")), m.answer(m.said("Welcome."))]
    one = agent()
    result = await one.send("Tides?", "s")
    assert (result.text, result.finish_reason, result.steps) == ("High at noon.", "stop", 2)
    assert contents(server.bodies[1])[1:] == [("assistant", paused)], "unchanged, and no user behind it"
    await one.send("Thanks", "s")
    assert contents(server.bodies[2])[1] == ("assistant", [*paused, FOUND, m.said("High at noon.")])


async def test_case_133_pauses_end_at_the_most_steps(agent: Any, server: MessagesServer) -> None:
    server.plays = [m.answer(m.said("Hm."), SEARCH, reason="pause_turn")] * 2 + [m.answer(m.said("Yes."))]
    one = agent()
    result = await one.send("Tides?", "s", max_steps=2)
    assert (result.finish_reason, result.steps, len(server.bodies)) == ("max-steps", 2, 2)
    assert (await one.send("And?", "s")).text == "Yes."
    assert contents(server.bodies[2])[1] == ("assistant", [m.said("Hm."), m.said("Hm.")]), "half a search can not be sent"


@pytest.mark.parametrize("cut", ['{"path":"a","content":"x', '{"city":"a"}'])
async def test_case_135_a_call_cut_at_the_most_tokens_never_runs(agent: Any, server: MessagesServer, cut: str) -> None:
    ran: list[str] = []

    @define_tool
    def write(city: str = "") -> str:
        """Write."""
        ran.append(city)
        return "written"

    start = m.events(m.opening(), m.started(0, m.call("toolu_1", "write")), m.delta(0, "input_json_delta", partial_json=cut))
    server.plays = [start + m.events(*m.closing("max_tokens")), m.answer(m.said("Sorry."))]
    result = await agent(write).send("Write", "s")
    assert (ran, result.text) == ([], "Sorry.")
    (block,) = server.bodies[1]["messages"][2]["content"]
    assert (block["tool_use_id"], block["is_error"]) == ("toolu_1", True)
    assert json.loads(block["content"])["message"] == TRUNCATED_TOOL_RESULT
    assert result.messages[2].tool_calls[0].arguments == cut, "kept as it came"


async def test_case_136_usage_of_a_recorded_stream(agent: Any, server: MessagesServer) -> None:
    @define_tool
    def fixed_version() -> str:
        """The version."""
        return "0.32a0"

    server.plays = [(m.STREAMS / f"anthropic_{name}.sse").read_bytes() for name in ("thinking_and_call", "answer")]
    result = await agent(fixed_version).send("Version?", "s")
    assert (result.usage.input_tokens, result.usage.output_tokens) == (598 + 707, 92 + 89)
    assert not result.usage.estimated


async def test_case_138_an_empty_text_is_never_sent_back(agent: Any, server: MessagesServer) -> None:
    server.plays = [m.answer(m.said(""), m.call("toolu_1", "look")), m.answer(m.said("\n"), m.said("")), m.answer(m.said("Yes."))]
    one = agent(look)
    await one.send("Weather?", "s")
    assert (await one.send("And?", "s")).text == "Yes."
    assert [(role, [block["type"] for block in blocks]) for role, blocks in contents(server.bodies[2])] == [
        ("user", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result", "text"]),
    ]


def test_case_138_a_blank_prompt_is_refused_before_any_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LOUSHO_STORE", raising=False)
    monkeypatch.setenv("MESSAGES_SERVER", "http://127.0.0.1:1")  # a request would fail with another code
    (tmp_path / "agent.py").write_text(AGENT.replace("THINKING", "disabled"))
    assert main(["run", "agent.py", "   "]) == 2
    assert "LOUSHO_CONFIG_MISSING_INPUT" in capsys.readouterr().err
    assert not (tmp_path / ".lousho").exists()


async def test_case_142_failed_and_rejected_calls_say_so_and_an_empty_result_is_valid(agent: Any, server: MessagesServer) -> None:
    @define_tool
    def fails() -> str:
        """Fails."""
        raise RuntimeError("out of order")

    @define_tool(needs_approval=True)
    def pays() -> str:
        """Pays."""
        return "paid"

    @define_tool
    def says_nothing() -> str:
        """Says nothing."""
        return ""

    server.plays = [
        m.answer(*(m.call(f"toolu_{n}", name) for n, name in enumerate(("fails", "pays", "says_nothing")))),
        m.answer(m.said("Ok.")),
    ]
    one = agent(fails, pays, says_nothing)
    await one.send("Go", "s")
    (waits,) = await one.approvals.list()
    assert (await one.approvals.resolve(waits.id, False)).text == "Ok."
    failed, rejected, empty = mark_free(server.bodies[1]["messages"][2]["content"])
    assert (failed["is_error"], rejected["is_error"]) == (True, True)
    assert "out of order" in failed["content"]
    assert json.loads(rejected["content"])["kind"] == "rejected"
    assert empty == {"type": "tool_result", "tool_use_id": "toolu_2", "content": '""'}
