"""A signal ends a run of evals tidily: what has ended stands, the rest is gone on with, and no case may keep it from ending."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

HEAD = "import asyncio, os\nfrom lousho_cli import define_eval\ntrip = define_eval(agent='agent.yaml')\n"
FIRST = "@trip.case\nasync def first(t): await t.send('go')\n"
STOPS = "@trip.case\nasync def second(t):\n    os.kill(os.getpid(), {:d})\n    await asyncio.sleep(60)\n"
CATCHES = """
@trip.case
async def second(t):
    await t.send("go")
    try:
        os.kill(os.getpid(), {:d})
        await asyncio.sleep(60)
    except BaseException:
        pass
@trip.case
async def third(t): await t.send("go")
"""
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]


@pytest.mark.parametrize(("sig", "code"), SIGNALS)
@pytest.mark.parametrize("second", [STOPS, CATCHES], ids=["stops", "catches"])
def test_a_signal_ends_the_run_with_what_it_has_and_says_how_to_go_on(evals: Any, sig: signal.Signals, code: int, second: str) -> None:
    evals.agent()
    evals.write("trip_eval.py", HEAD + FIRST + second.format(sig))
    before = signal.getsignal(sig)
    ran = evals.lousho("eval", "--json", "--strict", ".", "--junit", "out.xml")
    assert (ran.code, [case["case"] for case in ran.data["cases"]], ran.data["complete"]) == (code, ["first"], False)
    assert ran.data["signal"] == sig
    assert "go on from here: lousho eval . --strict --resume" in ran.err
    assert 'name="incomplete"' in (evals.folder / "out.xml").read_text()
    assert signal.getsignal(sig) is before
    last = evals.lousho("eval", "--last", "--json")
    assert [case["case"] for case in last.data["cases"]] == ["first"]


@pytest.mark.parametrize(("sig", "code"), SIGNALS)
def test_a_signal_before_any_case_has_ended(evals: Any, sig: signal.Signals, code: int) -> None:
    evals.agent()
    evals.write("trip_eval.py", HEAD + STOPS.format(sig))
    ran = evals.lousho("eval")
    assert (ran.code, ran.out) == (code, "")


def test_going_on_otherwise_than_before_runs_every_case_and_says_so(evals: Any) -> None:
    evals.agent()
    evals.write("trip_eval.py", HEAD + FIRST + STOPS.format(signal.SIGTERM))
    assert evals.lousho("eval", "--strict").code == 143
    evals.write("other_eval.py", (HEAD + FIRST).replace("trip", "other"))
    ran = evals.lousho("eval", "other_eval.py", "--resume", "--json")
    assert ran.code == 0
    [said] = json.loads(ran.out)["warnings"]
    assert said.startswith("the run that was cut was lousho eval --strict")


COUNTS = """
@trip.case
async def first(t):
    with open("ran.txt", "a") as file:
        file.write("x")
    await t.send("go")
@trip.case
async def second(t):
    os.kill(os.getpid(), {:d})
    await asyncio.sleep(60)
"""


def test_a_case_whose_agent_changed_is_run_again(evals: Any) -> None:
    look = {"name": "look", "description": "Looks.", "command": ["sh", "look.sh"]}
    helper = {"name": "helper", "prompt": "Help.", "provider": {"type": "scripted", "turns_file": "turns.json"}, "tools": [look]}
    evals.write("helper.yaml", json.dumps(helper))
    evals.write("turns.json", json.dumps([{"text": "yes"}]))
    evals.write("look.sh", "echo here\n")
    evals.agent(subagents={"helper": {"agent": "helper.yaml"}})
    evals.write("beside_the_stopped.py", "ONE = 1\n")
    evals.write("trip_eval.py", "import beside_the_stopped\n" + HEAD + COUNTS.format(signal.SIGTERM))
    evals.eval(name="other.eval.yaml")
    ran = 0
    changes = (
        "agent.yaml",
        "tools.py",
        "helper.yaml",
        "beside_the_stopped.py",
        "trip_eval.py",
        "turns.json",
        "look.sh",
        None,
        "other.eval.yaml",
        "notes.txt",
    )
    for changed in changes:
        assert evals.lousho("eval", "trip_eval.py", *(["--resume"] if ran else [])).code == 143
        ran += 1
        assert len((evals.folder / "ran.txt").read_text()) == min(ran, 8), changed
        if changed is not None:
            with open(evals.folder / changed, "a") as file:
                file.write("\n" if not changed.endswith(".txt") else "more")
