"""An agent made ready: which setting wins, which model is asked, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from lousho_cli.app.agent_files import agent_from
from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.preparing import RunFlags, prepare
from lousho_cli.app.providers import build_provider
from lousho_cli.domain.session import Run, Session
from lousho_cli.errors import ConfigurationError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("LOUSHO_MAX_STEPS", "LOUSHO_ON_DRIFT", "LOUSHO_MODEL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def agent(here: Path, **fields: Any) -> AgentFile:
    value = {"name": "a", "prompt": "p", "provider": {"type": "scripted", "turns": ["hi"]}} | fields
    return agent_from(value, folder=here, path=here / "a.json")


def test_the_flag_then_the_run_then_the_configuration_then_the_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = agent(here, policy={"limits": {"max_steps": 7}})
    unfinished = Session(run=Run(number=1, input_id="i", max_steps=4))
    finished = msgspec.structs.replace(unfinished, status="finished")

    def steps(flags: RunFlags = RunFlags(), session: Session | None = None) -> Any:
        return prepare(file, flags, session).settings["max_steps"]

    assert steps() == 7
    monkeypatch.setenv("LOUSHO_MAX_STEPS", "6")
    assert steps() == 6
    assert steps(session=finished) == 6
    assert steps(session=unfinished) == 4
    assert steps(RunFlags(max_steps=3), unfinished) == 3


def test_retries_are_on_unless_the_file_turns_them_off(here: Path) -> None:
    assert prepare(agent(here), RunFlags()).settings["on_model_error"] is not None
    off = agent(here, durability={"retry": False})
    assert prepare(off, RunFlags()).settings["on_model_error"] is None


def test_a_limit_that_is_not_kept_is_refused(here: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        prepare(agent(here, policy={"limits": {"max_cost_usd": 1}}), RunFlags())
    assert caught.value.field == "policy.limits.max_cost_usd"


def test_the_shorter_of_two_times_holds(here: Path) -> None:
    timed = agent(here, policy={"limits": {"max_duration": "1m"}}, durability={"timeout": "30m"})
    assert prepare(timed, RunFlags()).settings["max_duration_ms"] == 60_000
    assert prepare(agent(here, durability={"timeout": "30m"}), RunFlags()).settings["max_duration_ms"] == 1_800_000
    assert prepare(agent(here), RunFlags()).settings["max_duration_ms"] is None


def test_an_answer_that_a_crash_cut_is_gone_on_with_where_the_file_says_so(here: Path) -> None:
    assert prepare(agent(here, durability={"continue_cut_off": True}), RunFlags()).settings["continue_cut_off"] is True
    assert prepare(agent(here), RunFlags()).settings["continue_cut_off"] is False


def test_a_model_of_another_provider(here: Path) -> None:
    openai = agent(here, provider={"type": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"})
    assert build_provider(openai).model == "m"
    same = build_provider(openai, "openai/other/name")
    assert same.model == "other/name"
    assert same._settings.where.startswith("http://127.0.0.1:1/v1")  # type: ignore[attr-defined]
    other = build_provider(openai, "ollama/llama")
    assert other._settings.where.startswith("http://127.0.0.1:11434/v1")  # type: ignore[attr-defined]
    assert build_provider(openai, "bare").model == "bare"


@pytest.mark.parametrize("model", ["opnai/x", "scripted/", "openai/"])
def test_a_model_that_can_not_be_asked(here: Path, model: str) -> None:
    with pytest.raises(ConfigurationError):
        build_provider(agent(here), model)


def test_a_scripted_model_needs_its_script(here: Path) -> None:
    openai = agent(here, provider={"type": "openai", "model": "m"})
    with pytest.raises(ConfigurationError, match="turns"):
        build_provider(openai, "scripted/x")
