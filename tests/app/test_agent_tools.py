from __future__ import annotations

import asyncio
import sys

import pytest

from lousho_cli.app.agent_files import load_agent_file
from lousho_cli.app.agent_tools import build_tools
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import ToolContext

HEAD = "name: x\nprompt: y\nprovider: { type: scripted, turns: [{ text: hi }] }\n"

TOOLS = '''
from __future__ import annotations
import neighbour
from dataclasses import dataclass
from lousho_cli import function_tool

count = 0

def book_table(name: str, guests: int = 2) -> str:
    """Books a table."""
    global count
    count += 1
    return f"{neighbour.GREETING} {name}, {guests}, {count}"

async def look(city: str) -> str:
    """Looks."""
    return city

made = function_tool(look, name="made", needs_approval=lambda args: "deny" if args["city"] == "x" else False)
parts = {
    "name": "parts", "description": "Parts", "replay": "never",
    "input": {"properties": {"n": {"type": "integer"}}}, "execute": lambda args: args["n"] + 1}
nothing = 3
'''


class Never:
    aborted = False
    reason = None

    async def wait(self) -> None:
        await asyncio.Event().wait()


CONTEXT = ToolContext("call_1", "t", "s", "k", Never())


@pytest.fixture
def build(tmp_path):
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "neighbour.py").write_text("GREETING = 'hello'\n")
    (tmp_path / "weather.py").write_text("import json, sys\nprint(json.dumps({'for': json.load(sys.stdin)['city']}))\n")

    def made(text):
        (tmp_path / "agent.yaml").write_text(HEAD + text)
        return {tool.name: tool for tool in build_tools(load_agent_file(tmp_path / "agent.yaml"))}

    yield made
    sys.modules.pop("neighbour", None)
    sys.path[:] = [entry for entry in sys.path if entry != str(tmp_path)]


async def test_every_kind_of_tool(build):
    tools = build("""
tools:
  - current-date
  - name: weather
    command: [python, weather.py]
    input: { properties: { city: { type: string } }, required: [city] }
    replay: safe
  - python: tools.py:book_table
    needs_approval: true
  - python: tools.py:look
    name: look-around
    description: Other words
    replay: never
  - python: tools.py:made
  - python: tools.py:parts
""")
    assert list(tools) == ["current-date", "weather", "book_table", "look-around", "made", "parts"]
    assert [tool.replay for tool in tools.values()] == ["safe", "safe", None, "never", None, "never"]
    assert tools["look-around"].description == "Other words"
    assert tools["book_table"].needs_approval is True
    assert await tools["weather"].call({"city": "Lisbon"}, CONTEXT) == {"for": "Lisbon"}
    assert await tools["book_table"].call({"name": "Ada", "guests": 3}, CONTEXT) == "hello Ada, 3, 1"
    assert await tools["look-around"].call({"city": "x"}, CONTEXT) == "x"
    assert await tools["parts"].call({"n": 1}, CONTEXT) == 2


async def test_a_file_is_loaded_once(build):
    first, second = build("tools: [{ python: tools.py:book_table }]"), build("tools: [{ python: tools.py:book_table }]")
    assert await first["book_table"].call({"name": "a"}, CONTEXT) == "hello a, 2, 1"
    assert await second["book_table"].call({"name": "a"}, CONTEXT) == "hello a, 2, 2"


def test_approval_of_the_built_in_ones_unless_the_file_says_otherwise(build):
    tools = build("tools: [shell, http, write-file, read-file]")
    assert [tool.needs_approval for tool in tools.values()] == [True, True, True, False]
    tools = build("tools: [{ name: shell, needs_approval: false }, { name: read-file, needs_approval: true }]")
    assert [tool.needs_approval for tool in tools.values()] == [False, True]


async def test_a_policy_gates_by_name_or_all_and_never_lifts_a_refusal(build):
    tools = build("tools: [current-date, read-file, { python: tools.py:made }]\npolicy: { requires_approval: [read-file, made] }")
    assert [tools["current-date"].needs_approval, tools["read-file"].needs_approval] == [False, True]
    assert await tools["made"].needs_approval({"city": "x"}) == "deny"
    assert await tools["made"].needs_approval({"city": "y"}) is True
    assert await tools["made"].call({"city": "y"}, CONTEXT) == "y"
    everything = build("tools: [current-date, ask-question]\npolicy: { requires_approval: true }")
    assert everything["current-date"].needs_approval is True
    assert everything["ask-question"].needs_approval is False  # asking whether to ask helps nobody
    assert everything["ask-question"].question({"question": "?", "options": [], "allow_free_text": True, "secret": False})


async def test_a_shell_command_sees_no_model_key(build, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OWN_KEY", "sk-2")
    told = await build("tools: [shell]")["shell"].call({"command": "echo $OPENAI_API_KEY $OWN_KEY"}, CONTEXT)
    assert told["stdout"] == "sk-2\n"


@pytest.mark.parametrize(
    ("file", "target", "words"),
    [
        ("x = 1\ny = 1/0\n", "bad.py:f", "bad.py line 2: ZeroDivisionError: division by zero"),
        ("x = (\n", "bad.py:f", r"bad.py line 1: '\(' was never closed"),
        ("import no_such_module_here\n", "bad.py:f", "bad.py line 1: ModuleNotFoundError"),
        ("import sys\nsys.exit(3)\n", "bad.py:f", "bad.py line 2: SystemExit: 3"),
        ("def functoin(a: int): ...\n", "bad.py:function", "bad.py has no function; did you mean functoin?"),
        ("f = 3\n", "bad.py:f", "no function and no tool"),
        ("def f(*a): ...\n", "bad.py:f", r"takes \*args"),
        ("", "gone.py:f", "gone.py does not exist"),
    ],
)
def test_a_wrong_python_tool_is_named_with_field_and_line(build, tmp_path, file, target, words):
    (tmp_path / "bad.py").write_text(file)
    with pytest.raises(ConfigurationError, match=words) as refused:
        build(f"tools:\n  - current-date\n  - python: {target}\n")
    assert refused.value.field.startswith("tools.1.python")
    assert refused.value.code.startswith("LOUSHO_SPEC_")


def test_a_wrong_schema_is_named_by_its_path(build):
    with pytest.raises(ConfigurationError, match=r"tools\.0\.input\.properties\.a\.type: this is no JSON Schema") as refused:
        build("tools: [{ name: c, command: [x], input: { properties: { a: { type: strin } } } }]")
    assert refused.value.field == "tools.0.input.properties.a.type"


def test_a_policy_names_a_tool_by_the_name_it_turns_out_to_have(build):
    tools = build("tools: [{ python: tools.py:parts }, { python: tools.py:look }]\npolicy: { requires_approval: [look, shell] }")
    assert [tool.needs_approval for tool in tools.values()] == [False, True]
    with pytest.raises(ConfigurationError, match=r"policy\.requires_approval\.0: there is no tool loook; did you mean look\?"):
        build("tools: [{ python: tools.py:look }]\npolicy: { requires_approval: [loook] }")


def test_two_tools_of_one_name_are_refused(build):
    with pytest.raises(ConfigurationError, match=r"tools\.1: another tool is called look"):
        build("tools: [{ python: tools.py:look }, { python: tools.py:book_table, name: look }]")


def test_every_tool_that_can_not_be_made_is_named(build) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build("tools: [{ python: 'tools.py:nothing_there' }, { python: 'gone.py:tool' }, { python: 'tools.py:look' }]\n")
    assert "tools.0.python: tools.py has no nothing_there" in caught.value.detail
    assert "tools.1.python:" in caught.value.detail
    assert caught.value.field == "tools.0.python"
