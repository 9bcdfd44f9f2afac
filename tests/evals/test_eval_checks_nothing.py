"""No case passes without having looked at anything, and none takes the others with it, whatever its author forgot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import define_eval
from lousho_cli.app.evaluating.files import load_evals
from lousho_cli.errors import ConfigurationError

HEAD = "import asyncio, sys\nimport pytest\nfrom lousho_cli import define_eval\ntrip = define_eval(agent='agent.yaml')\n"


def _cases(evals: Any, *functions: str) -> Any:
    """What becomes of these functions as cases, in their order."""
    evals.write("trip_eval.py", HEAD + "".join(f"@trip.case('{n}')\n{function}\n" for n, function in enumerate(functions)))
    return evals.lousho("eval", "--json").data["cases"]


NOTHING = [
    ("async def f(t): pass", "it says nothing to its agent and looks at nothing"),
    ("def f(t): t.send('go')", "t.send was not awaited"),
    ("async def f(t):\n    await t.send('go')\n    t.judge('Is it kind?')", "t.judge was not awaited"),
    ("async def f(t):\n    await t.send('go')\n    yield", "its function has a yield"),
    ("async def f(t):\n    await t.send('go')\n    async def fine(x): return False\n    t.check('a', 1, fine)", "fine is async"),
    (
        "async def f(t):\n    await t.send('go')\n    async def fine(x): return False\n    t.called_tool('weather', {'city': fine})",
        "fine is async",
    ),
    ("async def f(t):\n    await t.send('go')\n    t.tool_order()", "tool_order names no tool"),
]


def test_a_case_in_python_that_looks_at_nothing_is_an_error(evals: Any) -> None:
    evals.agent()
    cases = _cases(evals, *(function for function, _ in NOTHING))
    assert [case["result"] for case in cases] == ["error"] * len(NOTHING)
    for case, (_, told) in zip(cases, NOTHING, strict=True):
        assert told in case["error"]


def test_a_case_that_asks_for_nothing_to_hold_must_have_come_to_an_answer(evals: Any) -> None:
    evals.agent(policy={"requires_approval": ["weather"]})
    sends = "async def f(t):\n    await t.send('go'{})"
    waits, answers = _cases(evals, sends.format(""), sends.format(", approve=True"))
    assert (waits["result"], waits["assertions"][0]["detail"]) == ("failed", "it waits for a person to decide on weather")
    assert (answers["result"], [one["name"] for one in answers["assertions"]]) == ("passed", ["completed"])


def test_a_run_whose_failure_the_case_catches_has_not_completed(evals: Any) -> None:
    evals.agent({"text": "One."}, {"error": {"status": 400, "message": "no"}})
    caught = "async def f(t):\n    await t.send('go')\n    try: await t.send('on')\n    except Exception: pass{}"
    fails, meant = _cases(evals, caught.format(""), caught.format("\n    t.completed(False)"))
    assert (fails["result"], meant["result"]) == ("failed", "passed")
    assert fails["assertions"][0]["detail"].startswith("its run failed: ")


def test_an_answer_that_no_cassette_has_fails_whatever_the_case_catches(evals: Any) -> None:
    evals.write(
        "live.yaml", '{"name": "a", "prompt": "b", "provider": {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}}'
    )
    caught = "    try: await t.send('go')\n    except Exception: pass\n    t.check('one', 1, 1)\n"
    evals.write("trip_eval.py", HEAD.replace("agent.yaml", "live.yaml") + f"@trip.case('a')\nasync def f(t):\n{caught}")
    [case] = evals.lousho("eval", "--json", "--replay").data["cases"]
    assert (case["result"], case["assertions"][1]["name"]) == ("failed", "cassette")
    assert "Record it: lousho eval --record trip_eval.py::a" in case["assertions"][1]["detail"]


def test_a_case_that_asks_no_model_needs_no_cassette(evals: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    evals.write(
        "live.yaml", '{"name": "a", "prompt": "b", "provider": {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}}'
    )
    evals.write("trip_eval.py", HEAD.replace("agent.yaml", "live.yaml") + "@trip.case('a')\ndef f(t): t.check('sum', 1 + 1, 2)\n")
    for flags in ((), ("--replay",)):
        assert evals.lousho("eval", *flags).code == 0


def test_what_ends_a_process_ends_its_case_alone(evals: Any) -> None:
    evals.agent()
    cases = _cases(
        evals,
        "async def f(t): sys.exit(0)",
        "async def f(t): raise asyncio.CancelledError",
        "async def f(t): pytest.skip('not today')",
        "async def f(t): pytest.fail('it was late')",
        "async def f(t):\n    await t.send('go')\n    t.completed()",
    )
    assert [case["result"] for case in cases] == ["error", "error", "skipped", "failed", "passed"]
    assert "SystemExit: 0" in cases[0]["error"]
    assert cases[2]["hint"] == "not today"
    assert cases[3]["assertions"][0]["detail"].endswith("it was late")
    ran = evals.lousho("eval")
    assert ran.code == 10
    assert "1 passed, 3 failed, 1 skipped" in ran.out


def test_values_are_equal_through_all_of_their_parts(evals: Any) -> None:
    evals.agent()
    checks = [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, False),
        ([{"a": 1, "b": 2}], [{"a": 1}], False),
        ({"a": 1}, {"a": True}, False),
        ({"a": (1, 2)}, {"a": [1.0, 2]}, True),
    ]
    lines = "\n".join(f"    t.check('{n}', {value!r}, {check!r})" for n, (value, check, _) in enumerate(checks))
    [case] = _cases(evals, f"async def f(t):\n{lines}")
    assert [one["passed"] for one in case["assertions"]] == [holds for _, _, holds in checks]


@pytest.mark.parametrize(
    ("expect", "told"),
    [
        ({"called_tool": None}, "cases.0.expect.called_tool: says nothing"),
        ({"max_steps": None}, "cases.0.expect.max_steps: says nothing"),
        ({"called_tool": []}, "cases.0.expect.called_tool: must not be empty"),
        ({"reply": []}, "cases.0.expect.reply: must not be empty"),
        ({"reply": {}}, "cases.0.expect.reply.0: says nothing; write equals"),
        ({"reply": {"contains": None}}, "cases.0.expect.reply.0.contains: says nothing"),
        ({"called_tool": {"name": "weather", "args": None}}, "cases.0.expect.called_tool.0.args: says nothing"),
    ],
)
def test_an_expectation_that_says_nothing_is_refused(evals: Any, expect: Any, told: str) -> None:
    evals.eval({"expect": expect})
    with pytest.raises(ConfigurationError) as caught:
        load_evals(evals.folder / "trip.eval.yaml")
    assert told in caught.value.detail


def test_a_result_for_a_tool_that_is_not_there_is_refused_before_the_real_one_runs(evals: Any) -> None:
    evals.agent()
    evals.write("tools.py", "def weather(city: str = '') -> dict:\n    open('ran', 'w')\n    return {}\n")
    evals.eval({"tool_results": [{"name": "wether", "result": 1}]})
    [case] = evals.lousho("eval", "--json").data["cases"]
    assert "tool_results names wether, and its agent has no such tool; did you mean weather?" in case["error"]
    assert not Path("ran").exists()


# Results that stand in a case


@pytest.mark.parametrize("failed", [False, True])
def test_a_case_in_python_takes_results_and_an_end_as_one_in_yaml_does(evals: Any, failed: bool) -> None:
    evals.agent()
    evals.write("tools.py", "def weather(city: str = '') -> dict:\n    open('ran', 'w')\n    return {}\n")
    given = [{"name": "weather", "args": {"city": "Lisbon"}, "result": {"error": "closed"}, "is_error": failed}]
    expect = {"called_tool": "weather", "completed": False, "max_steps": 1}
    evals.eval({"tool_results": given, "stop_after": 1, "expect": expect})
    body = (
        "async def f(t):\n    await t.send('go')\n    t.completed(False)\n    assert len(t.steps) == 1\n"
        '    assert t.tool_calls[0].result == \'{"error":"closed"}\'\n'
    )
    evals.write("other_eval.py", HEAD + f"@trip.case('a', tool_results={given!r}, stop_after=1)\n{body}")
    ran = evals.lousho("eval", "--json", "--record")
    assert [case["result"] for case in ran.data["cases"]] == ["passed", "passed"]
    assert not Path("ran").exists()


def test_a_result_that_is_an_error_reaches_the_model_as_one(evals: Any) -> None:
    evals.agent()
    evals.eval(
        {"tool_results": [{"name": "weather", "result": {"error": "down"}, "is_error": True}]},
        {"tool_results": [{"name": "weather", "result": 1}]},
    )
    assert evals.lousho("eval", "--record").code == 0
    recorded = [json.loads(path.read_text()) for path in sorted(evals.folder.glob("__cassettes__/trip/*.json"))]
    assert [one["entries"][1]["request"]["messages"][-1].get("isError", False) for one in recorded] == [True, False]


def test_a_case_whose_results_do_not_fit_the_call_does_not_pass(evals: Any) -> None:
    """What it is about did not happen: the call was refused, and the model made something of that."""
    evals.agent()
    evals.write("tools.py", "def weather(city: str = '') -> dict:\n    open('ran', 'w')\n    return {}\n")
    evals.eval({"tool_results": [{"name": "weather", "args": {"city": "Porto"}, "result": 1}], "expect": {"called_tool": "weather"}})
    miss = 'tool_results weather: called with {"city": "Lisbon"}; results are for {"city": "Porto"}'
    for flags in (("--record",), ("--replay",), ("--drift", "--strict")):
        ran = evals.lousho("eval", *flags)
        assert ran.code == 10
        assert miss in ran.out
    drifted = evals.lousho("eval", "--drift")
    assert (drifted.code, miss in drifted.out) == (0, True)
    assert not Path("ran").exists()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"tool_results": {"weather": 1}}, "tool_results"),
        ({"tool_results": [{"name": "weather"}]}, "tool_results.0"),
        ({"tool_results": [{"name": "weather", "reslt": 1}]}, "tool_results.0"),
        ({"stop_after": 0}, "stop_after"),
        ({"stop_after": True}, "stop_after"),
    ],
)
def test_results_and_ends_that_make_no_sense(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        define_eval(agent="agent.yaml").case("a", **given)
    assert caught.value.field == field
