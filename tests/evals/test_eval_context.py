"""``t`` in Python: what may be said of a case, and how a miss is told."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lousho_cli import define_eval
from lousho_cli.errors import ConfigurationError

HEAD = """
import re
from lousho_cli import define_eval
trip = define_eval(agent="agent.yaml")
"""


def _cases(evals: Any, *bodies: tuple[str, ...]) -> Any:
    """What becomes of cases made of these lines; in each ``go`` was said first."""
    evals.agent()
    texts = [
        f"@trip.case\nasync def case_{number}(t):\n" + "".join(f"    {line}\n" for line in ("await t.send('go')", *lines))
        for number, lines in enumerate(bodies)
    ]
    evals.write("trip_eval.py", HEAD + "\n".join(texts))
    return evals.lousho("eval", "--json").data["cases"]


def _case(evals: Any, *lines: str) -> Any:
    [case] = _cases(evals, lines)
    return case


HOLDS = [
    "t.completed()",
    "t.called_tool('weather')",
    "t.called_tool('weather', {'city': 'Lisbon'}, times=1)",
    "t.called_tool('weather', {'city': lambda city: city.startswith('L')})",
    "t.called_tool('book', times=0)",
    "t.not_called_tool('book')",
    "t.tool_order('weather')",
    "t.trajectory([{'name': 'weather', 'args': {'city': 'Lisbon'}}])",
    "t.trajectory([{'name': 'weather', 'args': {'city': 'Lisbon'}}, {'name': 'book'}], mode='subset')",
    "t.max_steps(2)",
    "t.max_tokens(10_000)",
    "t.check('reply', t.reply, 'Sunny.')",
    "t.check('reply', t.reply, re.compile('^S'))",
    "t.check('forecast', t.tool_calls[0].result, lambda text: 'sun' in text)",
    "t.check('half', 1, lambda given: 0.5)",
    "assert t.tool_calls[0].args == {'city': 'Lisbon'}",
]

MISSES = [
    ("t.completed(False)", "not completed", "it ended with an answer"),
    ("t.called_tool('book')", "called_tool book", "book was not called; called: weather"),
    ("t.called_tool('weather', {'city': 'Porto'})", 'called_tool weather {"city": "Porto"}', 'weather was called once: {"city": "Lisbon"}'),
    ("t.called_tool('weather', times=2)", "called_tool weather twice", 'weather was called once: {"city": "Lisbon"}'),
    ("t.not_called_tool('weather')", "not_called_tool weather", 'weather was called: {"city": "Lisbon"}'),
    ("t.tool_order(['weather', 'book'])", "tool_order weather > book", "called: weather"),
    ("t.trajectory([], 'strict')", "trajectory strict", 'called: weather {"city":"Lisbon"}'),
    ("t.max_steps(1)", "max_steps 1", "2 steps"),
    ("t.max_cost_usd(1)", "max_cost_usd 1", "the price of its model is not known"),
    ("t.check('reply', t.reply, 'Rain.')", "reply", '"Sunny." is not "Rain."'),
    ("t.check('reply', t.reply, re.compile('Rain'))", "reply", '"Sunny." does not match Rain'),
    ("t.check('low', 1, lambda given: 0.4)", "low", "score 0.4 of 1"),
    (
        "assert t.reply == 'Rain.', 'it said something else'",
        "assert t.reply == 'Rain.', 'it said something else'",
        "it said something else",
    ),
]


def test_what_holds(evals: Any) -> None:
    case = _case(evals, *HOLDS)
    assert case["result"] == "passed", case
    assert [one["passed"] for one in case["assertions"]] == [True] * (len(HOLDS) - 1)


def test_what_does_not_hold_is_told_in_a_line(evals: Any) -> None:
    cases = _cases(evals, *((line,) for line, _, _ in MISSES))
    assert {case["result"] for case in cases} == {"failed"}
    for case, (_, name, detail) in zip(cases, MISSES, strict=True):
        [miss] = [one for one in case["assertions"] if not one["passed"]]
        assert miss["name"] == name
        assert detail in miss["detail"]


def test_a_miss_stops_nothing_and_a_soft_one_fails_nothing(evals: Any) -> None:
    case = _case(evals, "t.soft(t.max_steps(1))", "t.soft(t.called_tool('book'))", "t.completed()")
    assert case["result"] == "passed"
    assert [(one["passed"], one.get("soft", False)) for one in case["assertions"]] == [(False, True), (False, True), (True, False)]
    assert evals.lousho("eval", "--strict").code == 10


def test_what_a_case_does_wrong_itself_is_its_error_with_the_line(evals: Any) -> None:
    case = _case(evals, "t.completed()", "t.no_such_thing()")
    assert case["result"] == "error"
    assert case["error"].startswith("trip_eval.py line 9: AttributeError")
    assert case["assertions"][0]["passed"]


def test_several_inputs_are_one_conversation(evals: Any) -> None:
    evals.agent({"text": "One."}, {"text": "Two."})
    evals.eval({"input": ["a", "b"], "expect": {"reply": {"equals": "Two."}, "max_steps": 2}})
    assert evals.lousho("eval").code == 0


def test_a_run_that_waits_for_a_person_has_not_completed(evals: Any) -> None:
    evals.agent(policy={"requires_approval": ["weather"]})
    evals.eval({"name": "waits"}, {"name": "meant", "expect": {"completed": False}})
    ran = evals.lousho("eval")
    assert ran.code == 10
    assert "gate   completed: it waits for a person to decide on weather" in ran.out
    assert "1 passed, 1 failed" in ran.out


def test_a_call_that_needs_a_person_may_be_approved_by_the_case(evals: Any) -> None:
    evals.agent(policy={"requires_approval": ["weather"]})
    evals.eval({"approve": True, "expect": {"called_tool": {"name": "weather", "times": 1}, "reply": "Sunny", "max_steps": 2}})
    for flags in ((), ("--record",), ("--replay",)):
        ran = evals.lousho("eval", "--json", *flags)
        assert ran.code == 0, ran
        assert ran.data["cases"][0]["usage"]["model_calls"] == 2


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"cases": {"a b": lambda t: None, "a-b": lambda t: None}}, "would share a cassette"),
        ({"tags": [1]}, "tags must be words"),
        ({"cases": {" ": lambda t: None}}, "a case needs a name"),
    ],
)
def test_a_definition_that_makes_no_sense(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(told)):
        define_eval(agent="agent.yaml", **given)
