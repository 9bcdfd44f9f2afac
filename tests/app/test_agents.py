"""Finding the agent of a stored session again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lousho_cli.app.agent_files import load_agent_file
from lousho_cli.app.agents import AgentChoice, find_agent, stored_path
from lousho_cli.app.demos import demo
from lousho_cli.errors import ConfigurationError


def write(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"name": name, "prompt": "p", "provider": {"type": "scripted", "turns": ["hi"]}}))
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("LOUSHO_STORE", "LOUSHO_AGENTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_stored_path_leads_from_the_store_and_survives_a_move(here: Path) -> None:
    file = load_agent_file(write(here / "old" / "agents" / "a.json", "a"))
    path = stored_path(file, str(here / "old" / ".lousho"))
    assert path == "agents/a.json"
    (here / "old").rename(here / "new")
    found = find_agent("s", "a", path, AgentChoice(store=str(here / "new" / ".lousho")))
    assert found.path == here / "new" / "agents" / "a.json"


def test_a_demo_and_a_store_that_is_no_folder_store_no_path(here: Path) -> None:
    assert stored_path(demo("trip", here), None) is None
    assert stored_path(load_agent_file(write(here / "a.json", "a")), "memory:") is None


def test_a_demo_is_found_by_its_name_but_not_in_place_of_a_file(here: Path) -> None:
    assert find_agent("s", "trip", None, AgentChoice()).path is None
    write(here / "trip.json", "trip")
    assert find_agent("s", "trip", "trip.json", AgentChoice()).path == here / "trip.json"


def test_what_a_person_names_comes_first(here: Path) -> None:
    write(here / "stored.json", "a")
    other = write(here / "other.json", "b")
    assert find_agent("s", "a", "stored.json", AgentChoice(agent="other.json")).path == other
    named = write(here / "agents" / "x" / "agent.json", "a")
    (here / "agents" / "broken.json").write_text("{")
    assert find_agent("s", "a", "stored.json", AgentChoice(agents=("agents",))).path == named


def test_the_configured_places_are_looked_through(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = write(here / "agents" / "a.json", "a")
    monkeypatch.setenv("LOUSHO_AGENTS", str(here / "agents"))
    assert find_agent("s", "a", None, AgentChoice()).path == named


def test_an_agent_that_is_nowhere_is_named_with_what_to_do(here: Path) -> None:
    (here / "broken.json").write_text("{")
    with pytest.raises(ConfigurationError) as caught:
        find_agent("s", "a", "gone.yaml", AgentChoice(agents=("broken.json",)))
    assert caught.value.code == "LOUSHO_AGENT_NOT_FOUND"
    assert "gone.yaml" in caught.value.detail
    assert "broken.json" in caught.value.detail
    assert "--agent" in caught.value.hint


def test_an_agent_in_a_module_is_found_by_file_and_name(here: Path) -> None:
    (here / "agents.py").write_text("mine = {'name': 'm', 'prompt': 'p', 'provider': {'type': 'scripted', 'turns': ['hi']}}\n")
    file = find_agent("s", "m", "agents.py:mine", AgentChoice())
    assert (file.name, stored_path(file, None)) == ("m", "agents.py:mine")
