"""Permission rules and modes: which rule decides, and what a mode makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lousho_cli.core import gate
from lousho_cli.core.permissions import Rule, by_mode, first_match, mode_from, rules_from
from lousho_cli.domain.approvals import ApprovalDecision, Question, digest_of
from lousho_cli.domain.messages import ToolCall
from lousho_cli.errors import ConfigurationError

CALL = ToolCall("c1", "pay", '{"n": 5}')
APPROVED = ApprovalDecision("a", approved=True, digest=digest_of({"n": 5}))


def judge(tool: Any, *rules: Rule, mode: Any = "default", **options: Any) -> Any:
    policy = gate.Policy(rules=rules, mode=mode, **options.pop("policy", {}))
    return gate.judge(CALL, tool, policy, available=["pay"], **options)


def said(verdict: Any) -> dict[str, Any]:
    assert isinstance(verdict, gate.Settle)
    return json.loads(verdict.content)


class Reading:
    """A tool that changes nothing, or only files."""

    name, replay = "pay", None

    def __init__(self, *, needs_approval: Any = False, read_only: bool = False, edits: bool = False) -> None:
        self.needs_approval, self.read_only, self.edits = needs_approval, read_only, edits

    def validate(self, args: Any) -> Any:
        return args, ()

    def question(self, args: Any) -> None:
        return None


class Asking(Reading):
    def question(self, args: Any) -> Any:
        return Question("Which?")


def test_the_first_rule_that_fits_decides() -> None:
    rules = (Rule("pay", "ask", when={"n": "^9"}), Rule("p*", "allow"), Rule("*", "deny"))
    assert first_match(rules, "pay", {"n": 95}) is rules[0]
    assert first_match(rules, "pay", {"n": 5}) is rules[1]
    assert first_match(rules, "book", {}) is rules[2]
    assert first_match(rules[:1], "book", {}) is None


@pytest.mark.parametrize(
    ("when", "fits"),
    [
        ({"path": "^/etc"}, True),
        ({"path": "etc", "mode": "rw"}, False),
        ({"deep.list.1": "^b$"}, True),
        ({"deep.list.7": "."}, False),
        pytest.param({f"deep.list.{'9' * 5000}": "."}, False, id="a place no list has"),
        ({"deep": '"list":'}, True),
        ({"a.b": "dotted"}, True),
        ({"flag": "true"}, True),
        ({"none": "null"}, True),
        ({"gone": ""}, False),
        ({"path.x": "."}, False),
    ],
)
def test_when_looks_for_each_expression_in_its_argument(when: dict[str, str], fits: bool) -> None:
    args = {"path": "/etc/hosts", "deep": {"list": ["a", "b"]}, "a.b": "dotted", "flag": True, "none": None}
    assert Rule("t", "deny", when=when).fits("t", args) is fits


@pytest.mark.parametrize("args", [None, "text", ["list"], 5])
def test_a_rule_with_when_fits_no_arguments_that_are_no_object(args: Any) -> None:
    assert Rule("t", "deny", when={"a": "."}).fits("t", args) is False


def test_a_rule_that_denies_is_a_result_with_its_reason() -> None:
    error = said(judge(Reading(), Rule("pay", "deny", reason="not on Sundays")))
    assert (error["kind"], error["error"], error["reason"]) == ("denied", "ToolDeniedError", "not on Sundays")


def test_a_rule_that_allows_replaces_the_tools_ask() -> None:
    verdict = judge(Reading(needs_approval=True), Rule("pay", "allow"))
    assert (type(verdict), verdict.ruling.action) == (gate.Run, "allow")


def test_a_rule_that_allows_replaces_what_the_run_requires() -> None:
    assert type(judge(Reading(), Rule("pay", "allow"), policy={"requires_approval": True})) is gate.Run


def test_a_rule_that_asks_asks_with_its_reason_and_its_time() -> None:
    verdict = judge(Reading(), Rule("pay", "ask", reason="large", ttl_ms=60))
    assert (type(verdict), verdict.reason, verdict.ttl_ms) == (gate.Ask, "large", 60)


@pytest.mark.parametrize("action", ["allow", "ask"])
def test_a_rule_never_replaces_the_tools_own_refusal(action: Any) -> None:
    """So the tool is asked although a rule has spoken."""
    tool = Reading(needs_approval=lambda args: "deny")
    assert type(judge(tool, Rule("pay", action))) is gate.Consult
    assert said(judge(tool, Rule("pay", action), consulted=gate.Consulted("deny", "own reason")))["reason"] == "own reason"


def test_a_rule_that_denies_needs_to_ask_nobody() -> None:
    assert said(judge(Reading(needs_approval=lambda args: True), Rule("pay", "deny")))["kind"] == "denied"


def test_a_rule_made_meanwhile_denies_what_a_person_approved() -> None:
    assert said(judge(Reading(), Rule("pay", "deny"), decision=APPROVED))["kind"] == "denied"
    assert type(judge(Reading(), Rule("pay", "ask"), decision=APPROVED)) is gate.Run


@pytest.mark.parametrize(
    ("mode", "facts", "action"),
    [
        ("default", {"asks": True, "read_only": False, "edits": True}, None),
        ("plan", {"asks": False, "read_only": False, "edits": True}, "deny"),
        ("plan", {"asks": True, "read_only": True, "edits": False}, None),
        ("dont-ask", {"asks": True, "read_only": True, "edits": True}, "deny"),
        ("dont-ask", {"asks": False, "read_only": False, "edits": False}, None),
        ("accept-edits", {"asks": True, "read_only": False, "edits": True}, "allow"),
        ("accept-edits", {"asks": True, "read_only": False, "edits": False}, None),
        ("accept-edits", {"asks": False, "read_only": False, "edits": True}, None),
    ],
)
def test_each_mode(mode: Any, facts: dict[str, bool], action: str | None) -> None:
    said_by_mode = by_mode(mode, **facts)
    assert (said_by_mode.action if said_by_mode else None) == action


def test_plan_mode_switched_on_meanwhile_denies_an_approved_call() -> None:
    assert said(judge(Reading(), mode="plan", decision=APPROVED))["kind"] == "denied"
    assert type(judge(Reading(read_only=True), mode="plan", decision=APPROVED)) is gate.Run


@pytest.mark.parametrize("mode", ["plan", "dont-ask", "accept-edits"])
def test_no_mode_allows_what_was_refused(mode: Any) -> None:
    tool = Reading(needs_approval=lambda args: "deny", read_only=True, edits=True)
    assert said(judge(tool, mode=mode, consulted=gate.Consulted("deny", "no")))["reason"] == "no"
    assert said(judge(tool, Rule("pay", "deny", reason="rule"), mode=mode))["reason"] == "rule"


def test_the_mode_speaks_after_a_rule() -> None:
    assert said(judge(Reading(), Rule("pay", "allow"), mode="plan"))["kind"] == "denied"
    assert said(judge(Reading(), Rule("pay", "ask"), mode="dont-ask"))["kind"] == "denied"
    assert type(judge(Reading(edits=True), Rule("pay", "ask"), mode="accept-edits")) is gate.Run


def test_a_question_is_asked_in_plan_mode_and_never_where_nobody_is() -> None:
    assert judge(Asking(read_only=True), mode="plan").kind == "question"
    assert said(judge(Asking(read_only=True), mode="dont-ask"))["kind"] == "denied"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ("allow", "permissions"),
        ([5], "permissions.0"),
        ([{"tool": "t"}], "permissions.0"),
        ([{"tool": "t", "action": "maybe"}], "permissions.0"),
        ([{"tool": "t", "action": "deny"}, {"tool": "", "action": "deny"}], "permissions.1.tool"),
        ([{"tool": "t", "action": "deny", "when": {"a": "("}}], "permissions.0.when.a"),
        ([{"tool": "t", "action": "deny", "ttl_ms": 5}], "permissions.0.ttl_ms"),
        ([{"tool": "t", "action": "ask", "ttl_ms": 0}], "permissions.0.ttl_ms"),
        ([{"tool": "t", "action": "ask", "why": "x"}], "permissions.0.why"),
        ([Rule(5, "ask")], "permissions.0"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_rule_is_named_by_its_path(given: Any, field: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        rules_from(given)
    assert raised.value.field == field


def test_rules_are_read_from_dictionaries_and_values() -> None:
    assert rules_from([{"tool": "t", "action": "ask", "ttl_ms": 5}, Rule("u", "deny")]) == (
        Rule("t", "ask", ttl_ms=5),
        Rule("u", "deny"),
    )
    assert rules_from(()) == ()


@pytest.mark.parametrize("given", ["Plan", None, 5, ""])
def test_a_mode_there_is_not_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError):
        mode_from(given)
