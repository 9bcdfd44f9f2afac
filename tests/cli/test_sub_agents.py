"""Sub-agents, from the terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from warm_process import run

from lousho_cli.__main__ import main

LEAD = """
name: lead
prompt: You lead.
provider:
  type: scripted
  turns:
    - { text: Two scouts., tool_calls: [{ name: scout, args: { input: a }, id: a }, { name: scout, args: { input: b }, id: b }] }
    - { text: Done. }
subagents: { scout: scout.yaml }
"""
SCOUT = """
name: scout
prompt: You scout.
provider:
  type: scripted
  turns:
    - { text: looking, tool_calls: [{ name: peek, args: { at: 1 }, id: p }] }
    - { text: It is fine. }
tools:
  - name: peek
    description: Look
    command: [cat]
    input: { type: object, properties: { at: { type: integer } }, required: [at] }
    needs_approval: true
"""


def lousho(folder: Path, *words: str) -> Any:
    done = run([sys.executable, "-m", "lousho_cli", *words], cwd=folder, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lead.yaml").write_text(LEAD)
    (tmp_path / "scout.yaml").write_text(SCOUT)
    return tmp_path


def test_what_waits_has_one_name_wherever_it_is_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(["run", "lead.yaml", "go"]) == 4
    for line in (["pending"], ["list"], ["show", "lead"]):
        capsys.readouterr()
        assert main(line) == 0
        assert "scout/peek" in capsys.readouterr().out
    assert main(["approve", "nope"]) == 3
    assert "(scout/peek in lead)" in capsys.readouterr().err


def pending(folder: Path, *store: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(lousho(folder, "pending", "--json", *store).stdout)["data"]
    return found


@pytest.mark.parametrize("store", [(), ("--store", "sqlite:x.db")], ids=["files", "sqlite"])
def test_what_waits_in_sub_agents_is_decided_one_after_the_other(folder: Path, store: tuple[str, ...]) -> None:
    ran = lousho(folder, "run", "lead.yaml", "go", *store)
    assert (ran.returncode, "scout/peek" in ran.stderr) == (4, True)
    (first,) = pending(folder, *store)
    assert (first["path"], first["tool"]) == (["scout"], "peek")

    checked = lousho(folder, "resume", "lead", "--check", *store)
    assert checked.returncode == 4
    assert 'will ask:        scout/peek a/p {"at":1}' in checked.stdout
    assert 'waits behind it: scout/peek b/p {"at":1}' in checked.stdout

    edited = lousho(folder, "approve", first["id"], "--edit", '{"at": 5}', "--note", "higher", *store)
    assert edited.returncode == 4
    (second,) = pending(folder, *store)
    assert lousho(folder, "reject", second["id"], "--reason", "no", *store).returncode == 0

    shown = json.loads(lousho(folder, "show", "lead", "--json", *store).stdout)["data"]
    assert [(one["calls"], one["path"], one["outcome"]) for one in shown["subagents"]] == [
        (["a"], ["scout"], "completed"),
        (["b"], ["scout"], "completed"),
    ]
    assert json.loads(shown["subagents"][0]["messages"][3]["content"])["review"]["arguments"] == {"at": 5}
    assert shown["usage"]["delegated"]["runs"] == 2


def test_what_will_run_is_told_with_the_arguments_a_person_gave(folder: Path) -> None:
    lousho(folder, "run", "lead.yaml", "go")
    (first,) = pending(folder)
    assert lousho(folder, "approve", first["id"], "--edit", '{"at": 5}', "--no-resume").returncode == 0
    checked = lousho(folder, "resume", "lead", "--check")
    assert 'will run:        scout/peek a/p {"at":5}' in checked.stdout


def test_a_session_whose_history_was_kept_is_not_given_to_the_demo(folder: Path) -> None:
    lousho(folder, "run", "lead.yaml", "go")
    assert lousho(folder, "delete", "lead", "--yes", "--keep-history", "--force").returncode == 0
    again = lousho(folder, "run", "-s", "lead", "again")
    assert again.returncode == 4
    assert "demo" not in again.stderr
