"""Which folders are looked into, what cases may be called, and what the command line is read as."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from lousho_cli.evals.definition import slug_of


def _found(ran: Any) -> list[str]:
    return [case["file"] for case in ran.data["cases"]]


def test_links_that_lead_in_a_circle_or_to_what_is_there_show_nothing_twice(evals: Any, tmp_path: Path) -> None:
    evals.agent()
    evals.eval(name="sub/trip.eval.yaml", agent="../agent.yaml")
    outside = tmp_path / "outside"
    evals.eval(name=str(outside / "deep" / "more.eval.yaml"), agent=str(evals.folder / "agent.yaml"))
    for link, target in (("self", "."), ("sub/up", ".."), ("again", "sub"), ("shared", outside), ("shared2", outside / "deep")):
        os.symlink(target, evals.folder / link)
    os.symlink(outside, outside / "deep" / "circle")
    ran = evals.lousho("eval", "--json")
    assert (ran.code, _found(ran)) == (0, ["shared/deep/more.eval.yaml", "sub/trip.eval.yaml"])
    assert _found(evals.lousho("eval", "--json", "again")) == ["again/trip.eval.yaml"]


def test_hidden_folders_and_environments_are_left_out(evals: Any) -> None:
    evals.agent()
    evals.write("env/pyvenv.cfg", "")
    for folder in (".hidden", "env/lib", "node_modules/some", "__cassettes__", "nested/deep"):
        evals.eval(name=f"{folder}/trip.eval.yaml", agent=str(evals.folder / "agent.yaml"))
    assert _found(evals.lousho("eval", "--json")) == ["nested/deep/trip.eval.yaml"]


def test_names_of_any_script_have_cassettes_of_their_own(evals: Any) -> None:
    evals.agent()
    evals.eval({"name": "東京へ"}, {"name": "大阪へ"}, {"name": "Café: é"}, name="旅行.eval.yaml")
    assert evals.lousho("eval", "--record").code == 0
    names = sorted(str(path.relative_to(evals.folder)) for path in evals.folder.glob("__cassettes__/*/*"))
    assert names == sorted(f"__cassettes__/旅行/{name}.json" for name in ("東京へ", "大阪へ", "café-é"))
    assert evals.lousho("eval", "--replay", "旅行.eval.yaml::大阪へ").code == 0


@pytest.mark.parametrize(
    ("name", "slug"), [("Looks, at_it", "looks-at-it"), ("e\u0301", "é"), ("💥", "default"), ("x" * 99, "x" * 60), ("𠀀" * 60, "𠀀" * 45)]
)
def test_a_name_as_a_part_of_a_path(name: str, slug: str) -> None:
    assert slug_of(name) == slug


def test_cases_of_one_name_in_several_files_are_told_apart(evals: Any) -> None:
    evals.agent()
    for folder in ("a", "b"):
        evals.eval({"expect": {"max_steps": 1}}, name=f"{folder}/trip.eval.yaml", agent="../agent.yaml")
    evals.eval(name="other.eval.yaml")
    out = evals.lousho("eval").out
    assert "trip (a/trip.eval.yaml)  case 1  FAIL" in out
    assert "trip (b/trip.eval.yaml): case 1" in out
    assert "other (" not in out


def test_a_folder_that_may_not_be_looked_into_keeps_nobody_from_the_others(evals: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    evals.agent()
    evals.eval()
    shut = evals.folder / "shut"
    shut.mkdir(0o000)
    may = os.access
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != shut and may(path, mode))  # root may all the same
    ran = evals.lousho("eval", "--json")
    assert (ran.code, _found(ran)) == (0, ["trip.eval.yaml"])
    assert json.loads(ran.out)["warnings"] == [f"{shut} may not be looked into"]
    named = evals.lousho("eval", "shut")
    assert (named.code, "shut may not be looked into" in named.err) == (2, True)
    shut.chmod(0o700)


@pytest.mark.parametrize("words", [("--json", "add"), ("-q", "add"), ("--store", ".lousho", "add"), ("--case=x", "add")])
def test_add_may_stand_behind_its_options(evals: Any, words: tuple[str, ...]) -> None:
    evals.eval(name="add/trip.eval.yaml", agent="../agent.yaml")
    evals.agent()
    ran = evals.lousho("eval", *words, "nobody")
    assert ran.code == 3
    assert "there is no session nobody" in ran.out + ran.err


def test_add_behind_an_option_of_eval_is_a_folder(evals: Any) -> None:
    evals.agent()
    evals.eval(name="add/trip.eval.yaml", agent="../agent.yaml")
    evals.eval(name="more.eval.yaml")
    assert "2 passed" in evals.lousho("eval", "--strict", "add", "more.eval.yaml").out
    assert "1 passed" in evals.lousho("eval", "--strict", "add").out


@pytest.mark.parametrize("flag", ["--junit", "--html"])
@pytest.mark.parametrize("name", ["-", "", " "])
def test_a_report_without_a_name_is_refused_before_anything_runs(evals: Any, flag: str, name: str) -> None:
    evals.agent()
    evals.eval()
    ran = evals.lousho("eval", flag, name)
    assert (ran.code, ran.out) == (2, "")
    assert flag in ran.err
    assert not Path("-").exists()
    assert not Path(".lousho").exists()


@pytest.mark.parametrize("words", [("--record",), ("--strict",), ("--resume",), ("--tag", "a"), ("trip.eval.yaml",), ("--drift-usage",)])
def test_the_last_run_is_shown_alone(evals: Any, words: tuple[str, ...]) -> None:
    evals.agent()
    evals.eval()
    evals.lousho("eval")
    ran = evals.lousho("eval", "--last", *words)
    assert (ran.code, ran.out) == (2, "")
    assert f"--last runs nothing, so it does not go with {words[0]}" in ran.err
