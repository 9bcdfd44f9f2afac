"""``lousho eval``: what it finds, who answers, what it says, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
import warm_process
from junitparser import JUnitXml

PROVIDER = '''
from lousho_cli import ScriptedProvider
import pathlib

class Real:
    """A provider that lousho takes for a real model: what it says is in turns.json, who asked it in asked.txt."""
    name, model = "real", "m-1"
    async def stream(self, request):
        import json
        here = pathlib.Path(__file__).parent
        with (here / "asked.txt").open("a") as file:
            file.write(request.messages[0].content[:20] + "\\n")
        script = ScriptedProvider(json.loads((here / "turns.json").read_text()))
        async for event in script.stream(request):
            yield event

def weather(city: str = "", at: str = "") -> dict:
    return {"forecast": "sun"}

agent = {"name": "agent", "prompt": "Be brief.", "provider": Real(), "tools": [weather]}
'''
LOOK = {"tool_calls": [{"name": "weather", "args": {"city": "Lisbon"}, "id": "call_1"}], "usage": {"input_tokens": 40, "output_tokens": 10}}
SUNNY = {"text": "Sunny.", "usage": {"input_tokens": 60, "output_tokens": 3}}


class Real:
    """An agent whose model has to be asked."""

    def __init__(self, evals: Any) -> None:
        self.evals = evals
        evals.write("model.py", PROVIDER)
        self.says(LOOK, SUNNY)

    def says(self, *turns: Any) -> None:
        self.evals.write("turns.json", json.dumps(turns))

    def eval(self, *cases: Any, **more: Any) -> None:
        self.evals.eval(*cases, **{"agent": "model.py:agent"} | more)

    @property
    def asked(self) -> int:
        """How often the model was."""
        file = self.evals.folder / "asked.txt"
        return len(file.read_text().splitlines()) if file.exists() else 0

    @property
    def cassettes(self) -> list[str]:
        return sorted(path.name for path in self.evals.folder.rglob("__cassettes__/*/*"))


@pytest.fixture
def real(evals: Any) -> Real:
    return Real(evals)


def _sources(ran: Any) -> list[str]:
    return [case.get("source", "model") for case in ran.data["cases"]]


# Who answers


def test_the_first_run_records_and_the_next_replays(real: Real) -> None:
    real.eval()
    assert _sources(real.evals.lousho("eval", "--json")) == ["recorded"]
    assert (real.asked, real.cassettes) == (2, ["case-1.json"])
    real.says({"text": "Something else."})
    again = real.evals.lousho("eval", "--json")
    assert _sources(again) == ["replayed"]
    assert again.data["cases"][0]["reply"] == "Sunny."
    assert real.asked == 2


def test_in_ci_a_case_without_a_cassette_fails_naming_the_command_that_records_it(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    real.eval({"name": "who is there"})
    ran = real.evals.lousho("eval")
    assert ran.code == 10
    where = "__cassettes__/trip/who-is-there.json"
    assert f"gate   cassette: there is none at {where}. Record it: lousho eval --record 'trip.eval.yaml::who is there'" in ran.out
    assert real.asked == 0
    assert _sources(real.evals.lousho("eval", "--live", "--json")) == ["model"]
    assert (real.asked, real.cassettes) == (2, [])
    assert real.evals.lousho("eval", "--record", "trip.eval.yaml::who is there").code == 0
    assert _sources(real.evals.lousho("eval", "--live", "--json")) == ["replayed"]


def test_replay_never_asks(real: Real) -> None:
    real.eval()
    assert real.evals.lousho("eval", "--replay").code == 10
    assert real.asked == 0


def test_a_run_that_failed_leaves_the_cassette_that_was_there(real: Real) -> None:
    real.eval()
    real.evals.lousho("eval", "--record")
    [kept] = real.evals.folder.rglob("__cassettes__/*/*")
    before = kept.read_bytes()
    real.says({"error": {"status": 401, "message": "no"}})
    ran = real.evals.lousho("eval", "--record")
    assert ran.code == 10
    assert "error  " in ran.out
    assert kept.read_bytes() == before


def test_a_first_recording_that_failed_leaves_nothing(real: Real) -> None:
    real.says({"error": {"status": 401, "message": "no"}})
    real.eval()
    ran = real.evals.lousho("eval")
    assert ran.code == 10
    assert "recorded" not in ran.out
    assert not (real.evals.folder / "__cassettes__").exists()


def test_a_plain_assert_that_does_not_hold_keeps_what_the_model_said(real: Real) -> None:
    text = "from lousho_cli import define_eval\ne = define_eval(agent='model.py:agent')\n@e.case\nasync def one(t):\n"
    real.evals.write("trip_eval.py", text + "    await t.send('go')\n    assert t.reply == 'Rain.'\n")
    assert real.evals.lousho("eval").code == 10
    assert real.cassettes == ["one.json"]
    assert _sources(real.evals.lousho("eval", "--json")) == ["replayed"]


def test_a_scripted_agent_needs_no_cassette_even_in_ci(evals: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    evals.agent()
    evals.eval()
    for flags in ((), ("--replay",), ("--drift",)):
        assert evals.lousho("eval", *flags).code == 0
    assert not list(evals.folder.rglob("__cassettes__"))


# Drift


def test_de_116_tokens_drift_only_where_that_is_asked(real: Real) -> None:
    real.eval()
    real.evals.lousho("eval", "--record")
    real.says(LOOK, SUNNY | {"usage": {"input_tokens": 60, "output_tokens": 4}})
    assert real.evals.lousho("eval", "--drift", "--json").data["cases"][0]["drift"] == []
    [row] = real.evals.lousho("eval", "--drift-usage", "--json").data["cases"][0]["drift"]
    assert row == {"field": "tokens", "committed": "113", "current": "114"}


def test_de_117_drift_is_soft_but_under_strict_and_bad_flags_can_not_run(real: Real) -> None:
    real.eval()
    real.evals.lousho("eval", "--record")
    assert "Drift:\nnone" in real.evals.lousho("eval", "--drift").out
    real.says(SUNNY)
    soft = real.evals.lousho("eval", "--drift")
    assert soft.code == 0
    assert "PASS (soft fail)" in soft.out
    assert real.evals.lousho("eval", "--drift", "--strict").code == 10
    for flags in (("--drift", "--record"), ("--replay", "--drift-usage"), ("--record", "--replay"), ("--replay", "--live"), ("--nope",)):
        ran = real.evals.lousho("eval", *flags)
        assert (ran.code, ran.out) == (2, "")


def test_de_179_the_drift_is_that_of_a_comparison_entry_for_entry(real: Real) -> None:
    from lousho_cli import compare_trajectories

    real.eval()
    real.evals.lousho("eval", "--record")
    real.says({"tool_calls": [{"name": "weather", "args": {"city": "Porto"}, "id": "call_1"}]}, LOOK, SUNNY)
    found = real.evals.lousho("eval", "--drift", "--json").data["cases"][0]["drift"]
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "weather", "arguments": '{"city":"Lisbon"}'}]}
    other = call | {"tool_calls": [{"id": "1", "name": "weather", "arguments": '{"city":"Porto"}'}]}
    answer = {"role": "assistant", "content": "Sunny."}
    told = {"role": "tool", "content": "{}", "tool_call_id": "1"}
    compared = compare_trajectories([call, told, answer], [other, told, call, told, answer])
    assert found == [{"field": row.field, "committed": row.committed, "current": row.current} for row in compared.drift]
    assert [row["field"] for row in found] == ["tools", "steps"]


def test_a_case_that_was_never_recorded_is_one_row(real: Real) -> None:
    real.eval()
    ran = real.evals.lousho("eval", "--drift", "--json")
    assert ran.data["cases"][0]["drift"] == [{"field": "cassette", "committed": "missing", "current": "recorded"}]
    assert real.cassettes == []


def test_case_086_an_argument_that_is_ignored_does_not_drift(real: Real) -> None:
    def look(at: str) -> Any:
        return {"tool_calls": [{"name": "weather", "args": {"city": "Lisbon", "at": at}, "id": "call_1"}]}

    real.says(look("10:00"), SUNNY)
    real.eval({"ignore": ["weather:at"]})
    real.evals.lousho("eval", "--record")
    real.says(look("10:01"), SUNNY)
    assert real.evals.lousho("eval", "--drift", "--strict").code == 0
    real.eval()
    ran = real.evals.lousho("eval", "--drift", "--strict")
    assert ran.code == 10
    assert '"at":"10:01"' in ran.out


# A judge

JUDGE = """
class Judge:
    name, model = "judge", "j-1"
    async def stream(self, request):
        from lousho_cli import Answer, Message
        with (pathlib.Path(__file__).parent / "judged.txt").open("a") as file:
            file.write(request.messages[1].content)
        yield Answer(Message("assistant", '{"pass": false, "score": 0.25, "reason": "It is too short."}'))
"""


def test_a_model_grades_only_when_asked_and_its_verdict_is_replayed(real: Real) -> None:
    real.evals.write("model.py", PROVIDER + JUDGE)
    real.evals.write(
        "trip_eval.py",
        "import pathlib, sys\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\nfrom lousho_cli import define_eval\n"
        "from lousho_cli.app.python_targets import load_module\nmodel = load_module(pathlib.Path(__file__).parent / 'model.py', 'x')\n"
        "trip = define_eval(agent='model.py:agent', judge=model.Judge())\n"
        "@trip.case\nasync def one(t):\n    await t.send('go')\n    t.soft(await t.judge('It is kind.'))\n",
    )
    judged = real.evals.folder / "judged.txt"
    ran = real.evals.lousho("eval", "--record")
    assert "judge It is kind.: not graded: lousho eval --judge asks the model that grades" in ran.out
    assert not judged.exists()
    real.evals.lousho("eval", "--record", "--judge")
    assert '"rubric": "It is kind."' in judged.read_text()
    assert '"content": "Sunny."' in judged.read_text()
    judged.unlink()
    played = real.evals.lousho("eval", "--replay", "--json").data["cases"][0]
    [verdict] = played["assertions"]
    assert verdict == {"name": "judge It is kind.", "passed": False, "score": 0.25, "soft": True, "detail": "It is too short."}
    assert real.evals.lousho("eval", "--drift", "--json").data["cases"][0]["drift"] == [], "what the judge said is no step of the agent"
    assert not judged.exists()


# What it finds, and what it says


def test_it_finds_evals_below_here_by_path_case_and_tag(evals: Any) -> None:
    evals.agent()
    evals.eval({"name": "one", "tags": ["quick"]}, {"name": "two"}, tags=["all"])
    evals.eval({"name": "three"}, name="deep/down/other.eval.yaml", agent="../../agent.yaml")
    evals.write("deep/__init__.py", "raise SystemExit('a package of the project is not imported')")
    evals.write("test_of_the_project.py", "raise SystemExit('a test of the project is not run')")
    evals.write("pytest.ini", "[pytest]\naddopts = --no-such-option\n")

    def cases(*args: str) -> list[str]:
        ran = evals.lousho("eval", "--json", *args)
        assert ran.code == 0, ran
        return [case["case"] for case in ran.data["cases"]]

    assert sorted(cases()) == ["one", "three", "two"]
    assert cases("deep") == ["three"]
    assert cases("trip.eval.yaml::two", "deep") == ["three", "two"] or cases("trip.eval.yaml::two", "deep") == ["two", "three"]
    assert cases("--tag", "quick") == ["one"]
    assert cases("--tag", "all", "--tag", "quick") == ["one", "two"]
    for args, told in (
        (("nowhere",), "nowhere is not there"),
        (("agent.yaml",), "agent.yaml is no eval file"),
        (("trip.eval.yaml::tow",), "did you mean two?"),
        (("--tag", "slow"), "no case has the tag slow"),
    ):
        ran = evals.lousho("eval", *args)
        assert (ran.code, ran.out) == (2, "")
        assert told in ran.err


def test_nothing_to_run_can_not_run(evals: Any) -> None:
    ran = evals.lousho("eval")
    assert (ran.code, ran.out) == (2, "")
    assert "there is no eval here [LOUSHO_EVALS_NOT_FOUND]" in ran.err


def test_without_pytest_the_line_that_installs_it(evals: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    there = importlib.util.find_spec
    monkeypatch.setattr("lousho_cli.app.evaluating.evaluate.find_spec", lambda name: None if name == "pytest" else there(name))
    ran = evals.lousho("eval", "--json")
    assert ran.code == 2
    error = json.loads(ran.out)["error"]
    assert error["code"] == "LOUSHO_EVALS_RUNNER_MISSING"
    assert error["hint"] == 'Install it: pip install "lousho[eval]"'


def test_a_new_project_passes_at_once(evals: Any) -> None:
    assert evals.lousho("init").code == 0
    ran = evals.lousho("eval")
    assert ran.code == 0
    assert ran.out.splitlines()[0].split() == ["EVAL", "CASE", "RESULT", "SCORE", "DURATION"]
    assert "1 passed, 0 failed" in ran.out
    assert evals.lousho("eval", "-q", "--html", "out.html").out.startswith("1 passed, 0 failed in ")
    assert "looks at the forecast first" in (evals.folder / "out.html").read_text()


def test_what_a_tool_prints_is_not_on_stdout(evals: Any) -> None:
    evals.agent()
    evals.write("tools.py", 'def weather(city: str = "") -> dict:\n    """Forecast."""\n    print("noise")\n    return {}\n')
    evals.eval()
    ran = evals.lousho("eval", "--json")
    assert ran.data["passed"] == 1
    assert "noise" in ran.err


def test_hostile_text_of_a_model_is_text(evals: Any) -> None:
    evals.agent({"text": "\x1b[31mred\x1b[0m [bold]x[/bold] ]]>\x00"})
    evals.eval({"expect": {"reply": "blue"}})
    ran = evals.lousho("eval", "--junit", "out.xml")
    assert "\x1b" not in ran.out
    assert "\\u001b[31mred" in ran.out
    [suite] = JUnitXml.fromfile("out.xml")
    [case] = suite
    assert "]]>" in case.result[0].text


def test_junit_tells_failures_errors_and_soft_misses_apart(evals: Any) -> None:
    evals.agent()
    evals.eval({"name": "fails", "expect": {"max_steps": 1}}, {"name": "soft", "soft": {"max_steps": 1}})
    evals.write(
        "other_eval.py",
        "from lousho_cli import define_eval\ne = define_eval(agent='agent.yaml')\n@e.case\nasync def throws(t):\n    await t.send('')\n",
    )
    assert evals.lousho("eval", "--junit", "sub/out.xml").code == 10
    suites = {suite.name: suite for suite in JUnitXml.fromfile("sub/out.xml")}
    assert {name: (one.tests, one.failures, one.errors) for name, one in suites.items()} == {"trip": (2, 1, 0), "other": (1, 0, 1)}
    assert [(case.name, case.system_out) for case in suites["trip"]] == [("fails", None), ("soft", "soft: max_steps 1: 2 steps")]


def test_case_082_a_report_that_can_not_be_written_takes_nothing_away(evals: Any) -> None:
    evals.agent()
    evals.eval()
    (evals.folder / "taken").mkdir()
    ran = evals.lousho("eval", "--json", "--junit", "taken")
    assert ran.code == 1
    assert ran.data["passed"] == 1
    assert "taken can not be written" in ran.err
    again = evals.lousho("eval", "--last", "--json")
    assert (again.code, again.data["passed"]) == (0, 1)


def test_results_that_can_not_be_kept_spoil_no_run(evals: Any) -> None:
    evals.agent()
    evals.eval()
    evals.write(".lousho", "a file")
    ran = evals.lousho("eval")
    assert ran.code == 0
    assert "can not be gone on with" in ran.err


# A run that is cut

SLOW = """
import os, pathlib
from lousho_cli import define_eval
trip = define_eval(agent="agent.yaml", cases={f"case {n}": None for n in ()})
HERE = pathlib.Path(__file__).parent

def make(number):
    async def test(t):
        await t.send("go")
        with (HERE / "ran.txt").open("a") as file:
            file.write(f"{number}\\n")
        if number == 4 and (HERE / "hold").exists():
            import asyncio
            (HERE / "held").touch()
            await asyncio.sleep(60)
    return test

for number in range(1, 11):
    trip.case(f"case {number}")(make(number))
"""


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_case_084_a_killed_run_loses_no_case_that_ended_and_is_gone_on_with(evals: Any, sig: signal.Signals) -> None:
    evals.agent({"text": "Done."})
    evals.write("trip_eval.py", SLOW)
    (evals.folder / "hold").touch()
    pipe = subprocess.PIPE
    running = warm_process.Popen(
        [sys.executable, "-m", "lousho_cli", "eval", "--json"], cwd=evals.folder, stdout=pipe, stderr=pipe, text=True
    )
    end = time.monotonic() + 60
    while not (evals.folder / "held").exists():
        assert time.monotonic() < end
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(sig)
    out, err = running.communicate(timeout=60)
    assert running.returncode == {signal.SIGKILL: -sig, signal.SIGINT: 130, signal.SIGTERM: 143}[sig], err
    if sig is not signal.SIGKILL:
        assert "go on from here: lousho eval --resume" in err
        told = json.loads(out)["data"]
        assert (told["complete"], len(told["cases"]), told["selected"]) == (False, 3, 10)
    last = evals.lousho("eval", "--last", "--json").data
    assert (last["complete"], len(last["cases"]), last["passed"], last["selected"]) == (False, 3, 3, 10)
    assert "incomplete: 3 of 10 cases" in evals.lousho("eval", "--last").out
    (evals.folder / "hold").unlink()
    (evals.folder / "ran.txt").unlink()
    assert len(evals.lousho("eval", "--resume", "--json").data["cases"]) == 10
    assert len((evals.folder / "ran.txt").read_text().splitlines()) == 7
    whole = evals.lousho("eval", "--last", "--json").data
    assert ("complete" not in whole, whole["passed"]) == (True, 10)


def test_a_case_whose_file_changed_is_run_again(evals: Any) -> None:
    from lousho_cli.app.evaluating.journal import kept, read_last

    evals.agent()
    evals.eval({}, {})
    evals.lousho("eval")
    journal = evals.folder / ".lousho" / "evals" / "last.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]) + b'{"type":"ca')
    last = read_last(journal)
    assert last is not None
    assert len(kept(last, ())) == 2
    assert kept(last, ("--replay",)) == {}
    assert kept(last, ("--strict",)) == {}, "what passed with a soft miss may not pass here"
    os.utime(evals.folder / "trip.eval.yaml", (1, 1))
    assert kept(last, ()) == {}


def test_a_bar_on_a_terminal_tells_how_far_it_is(evals: Any) -> None:
    evals.agent()
    evals.eval({}, {})
    ours, theirs = os.openpty()
    words = [sys.executable, "-m", "lousho_cli", "eval", "--json"]
    environ = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    running = warm_process.Popen(words, cwd=evals.folder, stdout=subprocess.PIPE, stderr=theirs, env=environ, text=True)
    os.close(theirs)
    out, _ = running.communicate(timeout=60)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert json.loads(out)["data"]["passed"] == 2
    assert b"2/2" in said


def test_add_is_a_command_and_may_be_a_folder(evals: Any) -> None:
    evals.agent()
    evals.eval(name="add/trip.eval.yaml", agent="../agent.yaml")
    assert "1 passed" in evals.lousho("eval", "add").out
    assert "1 passed" in evals.lousho("eval", "./add").out
    ran = evals.lousho("eval", "add", "nobody")
    assert ran.code == 3
    assert "nobody" in ran.err
    assert "lousho eval add" in evals.lousho("eval", "add", "--help").out
    assert Path(evals.folder / "add").is_dir()


def test_the_evals_of_the_readme_pass_in_a_new_project(evals: Any) -> None:
    chapter = (Path(__file__).parents[2] / "README.md").read_text().partition("\n## Evals\n")[2].partition("\n## ")[0]
    data = chapter.partition("    agent: agent.yaml")[2].partition("\n\n")[0]
    code = chapter.partition("```python\n")[2].partition("```")[0]
    assert evals.lousho("init").code == 0
    evals.write("trip.eval.yaml", textwrap.dedent(f"    agent: agent.yaml{data}\n"))
    evals.write("plans_eval.py", code)
    ran = evals.lousho("eval", "--strict", "--tag", "trips")
    assert ran.code == 0, ran
    assert "2 passed, 0 failed" in ran.out
