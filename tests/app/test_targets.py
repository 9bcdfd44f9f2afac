from __future__ import annotations

import pytest

from lousho_cli.app.agent_spec import ProviderSpec
from lousho_cli.app.agent_tools import build_tools
from lousho_cli.app.targets import is_target, resolve_target
from lousho_cli.errors import ConfigurationError

AGENT = "name: {}\nprompt: y\nprovider: {{ type: scripted, turns: [{{ text: hi }}] }}\n"


@pytest.fixture
def here(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "agent.json").write_text('{"name": "in-folder", "prompt": "", "provider": {"type": "ollama", "model": "m"}}')
    (tmp_path / "empty").mkdir()
    (tmp_path / "own.yaml").write_text(AGENT.format("own"))
    return tmp_path


@pytest.mark.parametrize("text", ["own.yaml", "folder", ".", "missing.yaml", "a/b.yml", "x.json", "x.py", "x.py:agent", "trip", "booking"])
def test_what_names_an_agent(here, text):
    assert is_target(text, here)


@pytest.mark.parametrize("text", ["Plan my trip", "", "a\0b", "x" * 5000, "x.py:", "trips", "What is in own.yaml?"])
def test_what_is_input(here, text):
    assert not is_target(text, here)


def test_files_folders_and_demos(here):
    assert resolve_target("own.yaml", here).agent.name == "own"
    assert resolve_target(str(here / "own.yaml"), here).kind == "file"
    found = resolve_target("folder", here)
    assert (found.agent.name, found.kind, found.agent.folder) == ("in-folder", "folder", here / "folder")
    assert (resolve_target("trip", here).agent.name, resolve_target("booking", here).kind) == ("trip", "demo")


def test_nothing_said_is_the_file_here_else_the_demo_and_says_so(here):
    found = resolve_target(None, here)
    assert (found.agent.name, found.kind) == ("trip", "demo")
    assert "trip" in found.notice
    (here / "agent.yaml").write_text(AGENT.format("local"))
    found = resolve_target(None, here)
    assert (found.agent.name, found.notice) == ("local", "")


def test_a_folder_called_like_a_demo_hides_it_only_when_it_holds_an_agent(here):
    (here / "trip").mkdir()
    assert resolve_target("trip", here).kind == "demo"
    (here / "trip" / "agent.yaml").write_text(AGENT.format("mine"))
    assert resolve_target("trip", here).agent.name == "mine"


MODULE = '''
def weather(city: str) -> str:
    """Forecast."""
    return city

class Provider:
    name = "own"
    model = "m"
    async def stream(self, request): ...

script = {"type": "scripted", "turns": [{"text": "hi"}]}
agent = {"name": "dict", "prompt": "p", "provider": script, "tools": ["current-date", weather, {"name": "shell"}]}
class Object:
    name = "object"
    instructions = "do"
    provider = Provider()
    tools = (weather,)
other = Object()
wrong = {"name": "w", "promt": "p", "provider": script, "tools": [weather, "nope"]}
number = 3
'''


def test_python_modules(here):
    (here / "m.py").write_text(MODULE)
    found = resolve_target("m.py", here)
    assert (found.kind, found.agent.name, found.agent.address) == ("module", "dict", f"{here}/m.py:agent")
    assert [tool.name for tool in build_tools(found.agent)] == ["current-date", "weather", "shell"]
    assert isinstance(found.agent.provider, ProviderSpec)
    other = resolve_target("m.py:other", here).agent
    assert (other.name, other.prompt, other.provider.name) == ("object", "do", "own")
    assert [tool.name for tool in build_tools(other)] == ["weather"]


def test_a_wrong_agent_in_a_module_is_named_by_field(here):
    (here / "m.py").write_text(MODULE)
    with pytest.raises(ConfigurationError, match=r"m\.py:wrong.*promt: did you mean prompt\?.*tools\.1: there is no built-in tool nope"):
        resolve_target("m.py:wrong", here)
    for text, words in (("m.py:number", "is no agent"), ("m.py:othr", "did you mean other"), ("gone.py", "does not exist")):
        with pytest.raises(ConfigurationError, match=words):
            resolve_target(text, here)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("define_harness('desk', ScriptedProvider(['Hi']))", "is a harness, which the program that makes it drives"),
        ("create_agent(ScriptedProvider(['Hi']), name='desk')", "is made by create_agent, and the program that makes it drives it"),
    ],
)
def test_what_a_program_drives_is_told_from_an_agent(here, made, words):
    (here / "h.py").write_text(f"from lousho_cli import ScriptedProvider, create_agent, define_harness\nagent = {made}\n")
    with pytest.raises(ConfigurationError, match=rf"h\.py:agent {words}") as refused:
        resolve_target("h.py", here)
    assert "a dictionary with name, prompt, provider and tools" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "words"), [("nope.yaml", "does not exist"), ("empty", "holds no agent file"), ("tripp", "demo trip"), ("zzz", "booking")]
)
def test_what_is_not_there(here, text, words):
    with pytest.raises(ConfigurationError) as refused:
        resolve_target(text, here)
    assert words in str(refused.value) and refused.value.code == "LOUSHO_SPEC_NOT_FOUND"


@pytest.mark.parametrize(
    ("text", "meant"), [("oders.yaml", "orders.yml"), ("orders.json", "orders.yml"), ("tolls.py", "tools.py"), ("nope.yaml", None)]
)
def test_a_file_that_is_not_there_is_told_with_the_one_that_is(tmp_path, text, meant):
    for name in ("orders.yml", "tools.py", "orders.txt"):
        (tmp_path / name).write_text("")
    with pytest.raises(ConfigurationError) as refused:
        resolve_target(text, tmp_path)
    assert refused.value.detail.endswith(f"/{text} does not exist" + (f"; did you mean {meant}?" if meant else ""))
