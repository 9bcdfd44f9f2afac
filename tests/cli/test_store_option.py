"""Which store is meant: --store, LOUSHO_STORE, a file, the nearest .lousho; and what is none."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pg_server
import pytest

from lousho_cli.stores.postgres import database


def test_case_205_only_the_named_store_is_read(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("here", trip())
    store("there", trip(), path="other")
    for args in (
        ["list", "-q"],
        ["history", "there", "-q"],
        ["show", "there", "-q"],
        ["diff", "there", "there"],
        ["delete", "there", "--dry-run"],
    ):
        assert lousho(*args, "--store", "other").code == 0
    assert lousho("list", "-q", "--store", "other").out == "there\n"
    assert lousho("show", "there").code == 3
    assert lousho("show", "here", "--store", "other").code == 3


def test_the_folder_of_a_project_is_told_from_its_store(lousho: Any, store: Any, trip: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    store("trip", trip())
    said = "warning: . holds no sessions, and is no store yet; one is at .lousho\n"
    assert lousho("list", "--store", ".").err.startswith(said)
    assert lousho("show", "trip", "--store", ".", "--json").code == 3
    assert "warning" not in lousho("list", "--store", ".lousho").err
    monkeypatch.setenv("LOUSHO_STORE", ".")
    assert lousho("list").err.startswith(said)


def test_the_order_of_flag_environment_file_and_default(
    lousho: Any, store: Any, trip: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("flag", "environment", "project", "user"):
        store(name, trip(), path=name)
    store("default", trip())
    user_file = Path(os.environ["HOME"]) / ".config" / "lousho" / "config.toml"
    listed = lambda *args: lousho("list", "-q", *args).out.strip()  # noqa: E731
    assert listed() == "default"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user_file.parents[1]))
    user_file.parent.mkdir(parents=True)
    user_file.write_text(f'store = "{folder / "user"}"\n')
    assert listed() == "user"
    (folder / "lousho.toml").write_text('store = "project"\n')
    assert listed() == "project"
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    assert listed() == "project"
    monkeypatch.setenv("LOUSHO_STORE", "../environment")
    assert listed() == "environment"
    assert listed("--store", "../flag") == "flag"
    sources = {row["name"]: row["source"] for row in lousho("config", "--json", "--store", "../flag").data}
    assert sources["store"] == "flag"
    assert {row["name"]: row["source"] for row in lousho("config", "--json").data}["store"] == "environment"


def test_a_copied_or_moved_store_works(lousho: Any, store: Any, trip: Any, folder: Path) -> None:
    store("trip", trip())
    shutil.move(folder / ".lousho", folder / "moved")
    shutil.copytree(folder / "moved", folder / "copied")
    for path in ("moved", "copied"):
        assert lousho("show", "trip", "-q", "--store", path).out == "trip\n"


def test_a_server_that_is_not_there_is_one_clear_line(lousho: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BRIEFLY_S", 0.0)
    ran = lousho("list", "--store", "postgresql://anna:pass-word@127.0.0.1:1/db")
    assert ran.code == 1
    assert ran.err.startswith("error: postgresql://anna:[secret]@127.0.0.1:1/db: ")
    assert "pass-word" not in lousho("list", "-vv", "--store", "postgresql://anna:pass-word@127.0.0.1:1/db").err


def test_another_word_is_refused(lousho: Any) -> None:
    assert lousho("list", "--store", "mysql://h/db").code == 2


def test_a_path_that_is_no_store_is_7(lousho: Any, folder: Path) -> None:
    (folder / "file").write_text("")
    (folder / "odd").mkdir()
    (folder / "odd" / "sessions").write_text("")
    for path in ("file", "odd", "file/below"):
        ran = lousho("list", "--store", path)
        assert ran.code == 7
        assert "[LOUSHO_NOT_A_STORE]" in ran.err


def test_an_empty_or_missing_folder_is_an_empty_store(lousho: Any, folder: Path) -> None:
    (folder / "empty").mkdir()
    for path in ("empty", "missing"):
        assert lousho("list", "--json", "--store", path).data == []
    assert not (folder / "missing").exists()


def test_a_wrong_setting_is_named_with_the_nearest_right_one(lousho: Any, folder: Path) -> None:
    (folder / "lousho.toml").write_text("max_step = 3\n")
    ran = lousho("config")
    assert ran.code == 2
    assert "Did you mean max_steps?" in ran.err
    (folder / "lousho.toml").write_text("max_steps = 0\n")
    assert "max_steps" in lousho("config").err
    (folder / "lousho.toml").write_text("store = [\n")
    ran = lousho("list")
    assert ran.code == 2
    assert "lousho.toml" in ran.err


def test_v_says_which_store_is_read_and_why(lousho: Any, store: Any, trip: Any) -> None:
    store("trip", trip(), path="other")
    ran = lousho("list", "-v", "--store", "other")
    assert "store: other (flag, --store)" in ran.err
    assert ran.out == lousho("list", "--store", "other").out


def test_an_empty_store_url_is_refused(lousho: Any) -> None:
    assert lousho("list", "--store", "").code == 2


def test_on_a_server_the_line_that_goes_on_names_the_agent_as_the_store_can_not(
    lousho: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOUSHO_STORE", pg_server.place_url(tmp_path))
    turns = "[{tool_calls: [{name: pay, args: {}, id: p}]}, Paid.]"
    tools = "[{name: pay, command: [cat], needs_approval: true}]"
    (folder / "my shop.yaml").write_text(f"name: shop\nprompt: You pay.\nprovider: {{type: scripted, turns: {turns}}}\ntools: {tools}\n")
    command = lousho("run", "my shop.yaml", "Go", "-s", "s").err.splitlines()[-1]
    assert command.endswith(" --agent 'my shop.yaml'")
    assert lousho(*shlex.split(command)[1:]).out == "Paid.\n"
    (folder / "lousho.toml").write_text('agents = ["."]\n')  # now it is found by its name
    assert "--agent" not in lousho("run", "my shop.yaml", "Go", "-s", "t").err
