"""Eval files: what may stand in them, and how what is wrong is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lousho_cli.app.documents import read_document
from lousho_cli.app.evaluating.files import load_evals
from lousho_cli.app.schemas import schema_of
from lousho_cli.errors import ConfigurationError

WRONG = [
    ({"agnt": "agent.yaml"}, "agnt: did you mean agent?"),
    ({"cases": [{"name": "a", "input": "go", "expct": {}}]}, "cases.0.expct: did you mean expect?"),
    (
        {"cases": [{"name": "a", "input": "go", "expect": {"caled_tool": "weather"}}]},
        "cases.0.expect.caled_tool: did you mean called_tool?",
    ),
    (
        {"cases": [{"name": "a", "input": "go", "expect": {"called_tool": {"name": "weather", "tims": 1}}}]},
        "cases.0.expect.called_tool.0.tims: did you mean times?",
    ),
    ({"cases": [{"name": "a", "input": "go", "expect": {"max_steps": "two"}}]}, "cases.0.expect.max_steps: must be a whole number"),
    (
        {"cases": [{"name": "a", "input": "go", "expect": {"reply": {"matches": "("}}}]},
        "cases.0.expect.reply.0.matches: is no regular expression",
    ),
    ({"cases": [{"name": "a", "input": "go", "expect": {"trajectory": {"calls": [], "mode": "strit"}}}]}, "did you mean strict?"),
    ({"cases": [{"name": "a", "input": ""}]}, "cases.0.input.0: must not be empty"),
    ({"cases": []}, "cases: must not be empty"),
    ({"cases": [{"name": "a\x1b[31m", "input": "go"}]}, "cases.0.name: "),
    ({"cases": [{"name": "a", "input": "go", "tool_results": [{"name": "weather", "reslt": 1}]}]}, "did you mean result?"),
    (
        {"cases": [{"name": "a", "input": "go", "expect": {"judge": "Is it kind?"}}]},
        "cases.0.expect.judge: needs the field judge of the file",
    ),
    ({"judge": {"type": "openai", "modle": "m"}}, "judge.modle: did you mean model?"),
    ({"judge": {"type": "openai", "api_key": "sk-x"}}, "judge.api_key: no credential belongs in an agent file"),
    ({"cases": [{"name": "a b", "input": "go"}, {"name": "A-B", "input": "go"}]}, "the cases a b and A-B would share a cassette"),
    ({"cases": [{"name": "a", "input": "go"}, {"name": "a", "input": "go"}]}, "two cases are called a"),
]


@pytest.mark.parametrize(("change", "told"), WRONG, ids=[told for _, told in WRONG])
def test_every_wrong_field_is_named_by_its_path_with_the_nearest_right_name(evals: Any, change: dict[str, Any], told: str) -> None:
    evals.eval(**change)
    with pytest.raises(ConfigurationError) as caught:
        load_evals(evals.folder / "trip.eval.yaml")
    assert told in caught.value.detail


def test_all_that_is_wrong_is_told_at_once_and_nothing_runs(evals: Any) -> None:
    evals.agent()
    evals.eval(agnt="agent.yaml", cases=[{"name": "a", "input": 1}])
    evals.eval(name="other.eval.yaml")
    evals.write("broken_eval.py", "import lousho_cli\nlousho_cli.define_evil\n")
    ran = evals.lousho("eval")
    assert ran.code == 2
    assert "agnt: did you mean agent?" in ran.err
    assert "cases.0.input.0: must be text" in ran.err
    assert "broken_eval.py line 2: AttributeError" in ran.err
    assert "Traceback" not in ran.err
    assert not ran.out


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("x.eval.yaml", "", "x.eval.yaml is empty"),
        ("x.eval.yaml", "a: [", "x.eval.yaml can not be read: line"),
        ("x.eval.json", "[]", "x.eval.json must hold a mapping"),
        ("x_eval.py", "x = 1", "x_eval.py defines no eval"),
        ("x_eval.py", "from lousho_cli import define_eval\ne = define_eval(agent='agent.yaml')", "x_eval.py defines no case"),
        ("x_eval.py", "def (", "x_eval.py line 1: invalid syntax"),
    ],
)
def test_a_file_that_is_no_eval(evals: Any, name: str, text: str, told: str) -> None:
    evals.write(name, text)
    ran = evals.lousho("eval")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_an_agent_or_a_judge_that_can_not_be_used_is_told_before_anything_runs(evals: Any) -> None:
    evals.eval()
    ran = evals.lousho("eval")
    assert (ran.code, ran.out) == (2, "")
    assert "agent.yaml does not exist [LOUSHO_SPEC_NOT_FOUND]" in ran.err
    evals.agent()
    evals.eval(judge={"type": "openai"})
    ran = evals.lousho("eval")
    assert (ran.code, ran.out) == (2, "")
    assert "provider.model: is required" in ran.err


def test_what_holds_for_every_case_gives_way_to_what_a_case_says(evals: Any) -> None:
    evals.agent()
    evals.eval(
        {"expect": {"max_steps": 2}},
        {"soft": {"max_steps": 1}},
        {"expect": {"completed": True}},
        expect={"max_steps": 1},
        soft={"max_tokens": 1000},
    )
    ran = evals.lousho("eval", "--json")
    assert [case["result"] for case in ran.data["cases"]] == ["passed", "passed", "failed"]
    assert all("max_tokens 1000" in {one["name"] for one in case["assertions"]} for case in ran.data["cases"])


def test_two_files_can_not_share_a_cassette(evals: Any) -> None:
    evals.agent()
    evals.eval({"name": "same"}, name="a.eval.yaml")
    evals.eval({"name": "same"}, name="a.eval.json")
    ran = evals.lousho("eval")
    assert ran.code == 2
    assert "would share the cassette" in ran.err


def test_files_and_results_are_valid_by_their_schemas(evals: Any) -> None:
    evals.lousho("init")
    ran = evals.lousho("eval", "--json")
    jsonschema.validate(ran.data, schema_of("eval"))
    judge = jsonschema.Draft202012Validator(schema_of("eval-file"))
    project = Path(__file__).parent / "project"
    for path in (evals.folder / "trip.eval.yaml", *project.glob("*.eval.yaml")):
        judge.validate(read_document(path))
    for change in ({"called_tool": None}, {"called_tool": []}, {"reply": {"contains": None}}, {"max_steps": None}):
        assert not judge.is_valid({"agent": "a", "cases": [{"name": "a", "input": "go", "expect": change}]})
    for change, _ in WRONG[:5]:
        assert not judge.is_valid({"agent": "a", "cases": [{"name": "a", "input": "go"}]} | change)
