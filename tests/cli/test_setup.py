"""init, doctor and config: a project that is there, an installation that is looked at, settings with their source."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from warm_process import run

from lousho_cli.app.doctor import PACKAGES

ROOT = Path(__file__).parents[2]


def test_init_writes_a_project_and_never_over_what_is_there(lousho: Any, folder: Path) -> None:
    written = lousho("init", "new", "--json").data
    assert "new/agent.yaml" in written
    assert all((folder / path).is_file() for path in written)
    before = (folder / "new" / "agent.yaml").read_bytes()
    again = lousho("init", "new")
    assert again.code == 2
    assert "agent.yaml" in again.err
    assert (folder / "new" / "agent.yaml").read_bytes() == before


def test_an_init_that_failed_in_the_middle_can_be_tried_again(lousho: Any, folder: Path) -> None:
    (folder / "new").mkdir()
    (folder / "new" / "tools").write_text("in the way")
    assert lousho("init", "new").code == 1
    assert [path.name for path in (folder / "new").iterdir()] == ["tools"]
    (folder / "new" / "tools").unlink()
    assert lousho("init", "new").code == 0


def test_doctor_looks_for_the_packages_that_are_needed_and_no_others(lousho: Any) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [re.match(r"[\w-]+", text).group() for text in project["dependencies"]]
    checks = {check["name"]: check["state"] for check in lousho("doctor", "--json").data}
    assert {name: checks.get(name) for name in needed} == dict.fromkeys(needed, "ok")
    assert set(PACKAGES) == set(needed)


def test_doctor_tells_keys_by_name_only(lousho: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-to-be-shown")
    ran = lousho("doctor", "--json")
    states = {check["name"]: check for check in ran.data}
    assert ran.code == 0
    assert states["OPENAI_API_KEY"]["detail"] == "set"
    assert states["ANTHROPIC_API_KEY"]["detail"] == "not set"
    assert "sk-not" not in ran.out
    assert "not there yet" in states["store"]["detail"]


def test_doctor_tells_whom_the_agent_here_asks_and_whether_its_keys_are_there(
    lousho: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = "{ type: gemini, model: m-9, headers_env: { x-team: TEAM_KEY } }"
    (folder / "agent.yaml").write_text(f"name: garden\nprompt: p\nprovider: {provider}\n")
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "TEAM_KEY"):
        monkeypatch.delenv(name, raising=False)
    ran = lousho("doctor", "--json")
    told = [check["detail"] for check in ran.data if check["state"] == "fail"]
    assert told == ["the agent here needs GEMINI_API_KEY or GOOGLE_API_KEY: not set", "the agent here needs TEAM_KEY: not set"]
    assert ran.code == 1
    monkeypatch.setenv("GOOGLE_API_KEY", "not-to-be-shown")
    monkeypatch.setenv("TEAM_KEY", "not-to-be-shown")
    ran = lousho("doctor", "--json")
    details = {check["name"]: check["detail"] for check in ran.data}
    assert (ran.code, details["agent"], details["GOOGLE_API_KEY"], details["TEAM_KEY"]) == (0, "garden", "set", "set")
    assert details["provider"] == "gemini at https://generativelanguage.googleapis.com/v1beta/openai/chat/completions, model m-9"
    assert "not-to-be" not in ran.out
    (folder / "agent.yaml").write_text("name: garden\nprompt: p\nprovider: { type: gemni, model: m }\n")
    assert "did you mean gemini?" in next(check["detail"] for check in lousho("doctor", "--json").data if check["name"] == "agent")


def test_doctor_fails_for_a_store_or_a_setting_that_can_not_work(lousho: Any, folder: Path) -> None:
    (folder / "file").write_text("")
    assert lousho("doctor", "--store", "file").code == 1
    assert lousho("doctor", "--store", "mysql://h/db").code == 1
    (folder / "lousho.toml").write_text("store = 3\n")
    ran = lousho("doctor", "-q")
    assert ran.code == 1
    assert "store" in ran.out


def test_doctor_and_config_create_nothing(lousho: Any, folder: Path) -> None:
    for command in ("doctor", "config", "schema"):
        assert lousho(command).code == 0
    assert list(folder.iterdir()) == []


def test_config_says_where_each_setting_came_from(lousho: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "lousho.toml").write_text('model = "openai/small"\nmax_steps = 7\nagents = ["agents"]\n')
    monkeypatch.setenv("LOUSHO_MAX_STEPS", "9")
    rows = {row["name"]: row for row in lousho("config", "--json").data}
    assert (rows["model"]["value"], rows["model"]["source"]) == ("openai/small", "project file")
    assert (rows["max_steps"]["value"], rows["max_steps"]["source"], rows["max_steps"]["where"]) == (9, "environment", "LOUSHO_MAX_STEPS")
    assert rows["agents"]["value"] == [str(folder / "agents")]
    assert rows["on_drift"]["source"] == "default"
    monkeypatch.setenv("LOUSHO_MAX_STEPS", "many")
    assert lousho("config").code == 2


@pytest.mark.parametrize(("answer", "code", "left"), [(b"n\n", 1, ["trip"]), (b"y\n", 0, [])])
def test_a_person_is_asked_before_a_session_is_deleted(
    lousho: Any, store: Any, trip: Any, folder: Path, answer: bytes, code: int, left: list[str]
) -> None:
    store("trip", trip())
    main, side = pty.openpty()
    os.write(main, answer)
    command = [sys.executable, "-m", "lousho_cli", "delete", "trip"]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = run(command, cwd=folder, env=environ, stdin=side, capture_output=True, timeout=30)
    os.close(main)
    os.close(side)
    assert ran.returncode == code
    assert b"Delete session trip" in ran.stderr
    assert [session["id"] for session in json.loads(lousho("list", "--json").out)["data"]] == left
