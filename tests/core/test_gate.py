"""The gate of one call: each verdict, and which comes first."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lousho_cli.core import gate
from lousho_cli.domain import texts
from lousho_cli.domain.approvals import ApprovalDecision, Question, digest_of
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import plain

CALL = ToolCall("c1", "pay", '{"n": 5}')
APPROVED = ApprovalDecision("a", approved=True, digest=digest_of({"n": 5}))


def judge(tool: Any, call: ToolCall = CALL, **options: Any) -> Any:
    return gate.judge(call, tool, options.pop("policy", gate.Policy()), available=["pay", "book"], **options)


def said(verdict: Any) -> dict[str, Any]:
    assert isinstance(verdict, gate.Settle)
    return json.loads(verdict.content)


@pytest.fixture
def free(gated_tool: Any) -> Any:
    return gated_tool("pay")


@pytest.fixture
def gated(gated_tool: Any) -> Any:
    return gated_tool("pay", needs_approval=True)


class Asking:
    """A tool that is a question."""

    name, replay, needs_approval = "ask", None, False

    def __init__(self, secret: bool = False) -> None:
        self.secret = secret

    def validate(self, args: Any) -> Any:
        return args, ()

    def question(self, args: Any) -> Question:
        return Question("Which?", ("red", "blue"), secret=self.secret)


def test_a_free_call_runs_with_its_arguments(free: Any) -> None:
    assert judge(free) == gate.Run({"n": 5})


def test_a_gated_call_asks_with_the_validated_arguments(gated: Any) -> None:
    assert judge(gated) == gate.Ask({"n": 5})


@pytest.mark.parametrize("policy", [gate.Policy(requires_approval=True), gate.Policy(requires_approval=frozenset(["pay"]))])
def test_a_policy_gates_what_the_tool_would_let_through(free: Any, policy: Any) -> None:
    assert judge(free, policy=policy) == gate.Ask({"n": 5})


def test_de_058_a_name_that_is_no_tool(free: Any) -> None:
    assert said(judge(None))["kind"] == "not-found"


@pytest.mark.parametrize("text", ["", "{", "NaN", '{"n": Infinity}', "[" * 100_000])
def test_de_059_what_is_no_json_is_a_validation_error_at_the_root(free: Any, text: str) -> None:
    error = said(judge(free, ToolCall("c1", "pay", text)))
    assert (error["kind"], error["issues"][0]["path"]) == ("validation", "(root)")


def test_de_049_arguments_that_do_not_fit_are_not_asked_about(gated: Any) -> None:
    error = said(judge(gated, ToolCall("c1", "pay", '{"n": "x"}')))
    assert (error["kind"], error["issues"]) == ("validation", [{"path": "n", "message": "not a number"}])


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [(False, gate.Run), (None, gate.Run), ("approve", gate.Run), (True, gate.Ask), ("ask", gate.Ask), ("maybe", gate.Ask), (5, gate.Ask)],
)
def test_what_an_approval_function_may_say(gated_tool: Any, answer: Any, verdict: Any) -> None:
    """Anything unknown asks a person."""
    tool = gated_tool("pay", needs_approval=lambda args: answer)
    assert judge(tool) == gate.Consult({"n": 5})
    assert type(judge(tool, consulted=gate.consulted_from(answer))) is verdict


@pytest.mark.parametrize(("answer", "reason"), [("deny", "the tool denied the call"), ({"deny": "too dear"}, "too dear")])
def test_a_denial_is_a_result(gated_tool: Any, answer: Any, reason: str) -> None:
    error = said(judge(gated_tool("pay", needs_approval=print), consulted=gate.consulted_from(answer)))
    assert (error["kind"], error["reason"]) == ("denied", reason)


def test_an_approval_function_that_fails_lets_nothing_through(gated_tool: Any) -> None:
    error = said(judge(gated_tool("pay", needs_approval=print), consulted=gate.Consulted("error", "KeyError: 'x'")))
    assert (error["kind"], "KeyError" in error["message"]) == ("execution", True)


def test_an_approved_call_runs(gated: Any) -> None:
    assert judge(gated, decision=APPROVED) == gate.Run({"n": 5})


def test_de_062_an_approval_of_other_arguments_runs_nothing(gated: Any) -> None:
    """The digest binds the decision to what was shown; here it stands for whatever changed them since."""
    error = said(judge(gated, ToolCall("c1", "pay", '{"n": 6}'), decision=APPROVED))
    assert (error["kind"], error["issues"][0]["path"]) == ("validation", "(root)")


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": {"c": 2, "d": 3}}) == digest_of({"b": {"d": 3, "c": 2}, "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})
    assert len(digest_of({})) == 16


def test_an_edit_runs_with_the_edited_arguments(gated: Any) -> None:
    assert judge(gated, decision=ApprovalDecision("a", approved=True, args={"n": 1})) == gate.Run({"n": 1})


def test_de_047_a_rejection_is_a_result_with_its_note(gated: Any) -> None:
    error = said(judge(gated, decision=ApprovalDecision("a", approved=False, note="no")))
    assert (error["kind"], error["error"], error["note"]) == ("rejected", "ToolRejectedError", "no")
    assert "note" not in said(judge(gated, decision=ApprovalDecision("a", approved=False)))


def test_de_126_a_rejected_call_needs_no_tool() -> None:
    assert said(judge(None, decision=ApprovalDecision("a", approved=False)))["kind"] == "rejected"


def test_de_071_a_decision_that_came_too_late_denies(gated: Any) -> None:
    error = said(judge(gated, decision=ApprovalDecision("a", approved=False, expired=True)))
    assert (error["kind"], error["message"]) == ("denied", texts.EXPIRED_TOOL_RESULT)


@pytest.mark.parametrize(("secret", "kind"), [(False, "question"), (True, "secret")])
def test_de_073_a_question_asks(secret: bool, kind: str) -> None:
    verdict = judge(Asking(secret), ToolCall("c1", "ask", "{}"))
    assert (verdict.kind, verdict.question.text) == (kind, "Which?")


@pytest.mark.parametrize(("note", "answer"), [("blue", {"answer": "blue", "option": 1}), ("x", {"answer": "x"}), (None, {"answer": ""})])
def test_de_073_the_note_is_the_answer(note: Any, answer: Any) -> None:
    verdict = judge(Asking(), ToolCall("c1", "ask", "{}"), decision=ApprovalDecision("a", approved=True, note=note))
    assert (json.loads(verdict.content), verdict.is_error) == (answer, False)


def test_de_073_declining_is_not_rejecting() -> None:
    verdict = judge(Asking(), ToolCall("c1", "ask", "{}"), decision=ApprovalDecision("a", approved=False))
    assert said(verdict)["message"] == texts.DECLINED_ANSWER_RESULT


# A call that was cut (DESIGN 6.1)


@pytest.mark.parametrize(
    ("own", "said_now", "default", "runs"),
    [
        (None, None, "safe", True),
        (None, None, "never", False),
        (None, "never", "safe", False),
        (None, "safe", "never", True),
        ("safe", "never", "never", True),
        ("never", "safe", "safe", False),
    ],
)
def test_the_tools_own_word_then_the_callers_then_the_runs(gated_tool: Any, own: Any, said_now: Any, default: Any, runs: bool) -> None:
    tool, policy = gated_tool("pay", replay=own), gate.Policy(replay=said_now)
    verdict = judge(tool, policy=policy, cut=True, default_replay=default)
    if runs:
        assert verdict == gate.Run({"n": 5})
    else:
        assert said(verdict)["message"] == texts.INTERRUPTED_TOOL_RESULT
    assert judge(tool, policy=policy, cut=False, default_replay=default) == gate.Run({"n": 5})


def test_an_approved_call_that_was_cut_is_reported_too(gated_tool: Any) -> None:
    tool = gated_tool("pay", replay="never", needs_approval=True)
    assert said(judge(tool, decision=APPROVED, cut=True))["error"] == "ToolInterruptedError"


def test_case_135_a_call_of_a_cut_off_answer_never_runs(free: Any) -> None:
    """Before anything else: its arguments can not be trusted, not even to ask about."""
    for options in ({}, {"decision": APPROVED}, {"cut": True}):
        assert said(judge(free, truncated=True, **options))["message"] == texts.TRUNCATED_TOOL_RESULT


def test_the_texts_are_settable(gated_tool: Any) -> None:
    policy = gate.Policy(interrupted_result="who knows", truncated_result="too long")
    assert said(judge(gated_tool("pay", replay="never"), policy=policy, cut=True))["message"] == "who knows"
    assert said(judge(gated_tool("pay"), policy=policy, truncated=True))["message"] == "too long"


# What user code said


def consulted(**said: Any) -> Any:
    return gate.Consulted(**said)


def test_where_hooks_look_on_every_call_is_shown_to_them_first(free: Any, gated: Any) -> None:
    policy = gate.Policy(consults=True)
    assert judge(free, policy=policy) == gate.Consult({"n": 5})
    assert judge(gated, policy=policy, decision=APPROVED) == gate.Consult({"n": 5}, resumed=True)
    assert judge(free, policy=policy, consulted=consulted()) == gate.Run({"n": 5})


def test_what_hooks_made_is_asked_about_and_marked(gated: Any) -> None:
    assert judge(gated, policy=gate.Policy(consults=True), consulted=consulted(args=({"n": 6},))) == gate.Ask({"n": 6}, hooked=True)


def test_what_was_shown_runs_whatever_the_models_arguments_are(gated: Any) -> None:
    pinned = ApprovalDecision("a", approved=True, digest=digest_of({"n": 6}), pinned={"n": 6})
    assert judge(gated, decision=pinned) == gate.Run({"n": 6})
    policy = gate.Policy(consults=True)
    assert judge(gated, policy=policy, decision=pinned, consulted=consulted(args=({"n": 6},))) == gate.Run({"n": 6})
    assert said(judge(gated, policy=policy, decision=pinned, consulted=consulted(args=({"n": 7},))))["kind"] == "validation"


def test_a_guardrail_stops_where_it_stands_unless_a_rule_denies_the_call(free: Any) -> None:
    from lousho_cli.core.permissions import Rule
    from lousho_cli.domain.stops import Tripped

    tripped = Tripped("g", "tool", "no", "pay")
    policy = gate.Policy(consults=True)
    assert judge(free, policy=policy, consulted=consulted(tripped=tripped)) == gate.Block(tripped)
    denying = gate.Policy(consults=True, rules=(Rule("pay", "deny"),))
    assert said(judge(free, policy=denying, consulted=consulted(tripped=tripped)))["kind"] == "denied"


# A call that began and needs a person


def asked(kind: Any = "question") -> Any:
    from lousho_cli.domain.session import Asked

    return Asked(kind, Question("Which?"), {"n": 6})


def test_it_waits_with_the_arguments_it_began_with(free: Any) -> None:
    assert judge(free, asked=asked()) == gate.Ask({"n": 6}, "question", Question("Which?"), hooked=True)


def test_it_was_not_cut_even_where_it_may_not_run_again(gated_tool: Any) -> None:
    assert type(judge(gated_tool("pay", replay="never"), asked=asked(), cut=True)) is gate.Ask


def test_nobody_is_asked_where_nobody_is(free: Any) -> None:
    assert said(judge(free, policy=gate.Policy(mode="dont-ask"), asked=asked()))["kind"] == "denied"


@pytest.mark.parametrize(
    ("kind", "text"),
    [("question", texts.DECLINED_ANSWER_RESULT), ("sign-in", texts.NOT_SIGNED_IN_RESULT), ("tool", texts.REJECTED_TOOL_RESULT)],
)
def test_what_declining_means_depends_on_what_was_asked(free: Any, kind: Any, text: str) -> None:
    assert said(judge(free, decision=ApprovalDecision("a", approved=False, kind=kind)))["message"] == text


def as_read(decode: Any, text: str) -> Any:
    """What a decoder makes of a text, told apart to the kinds of its numbers and the order of its keys; or what it says is wrong."""
    try:
        return repr(decode(text))
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("begin", ["", "{", "[1, ", '"'], ids=["value", "object", "list", "text"])
@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": [null, true, -0, -0.0, 1e5, 1E-7, 1e23], "a": 2}',
        "12345678901234567890123456789012",
        "1" * 5000,
        "0.1234567890123456789e-300",
        "1e400",
        "NaN",
        "-Infinity",
        "[1,]",
        "[" * 100_000,
        "01",
        " \t\r\n1 \x0c",
        "1 2",
        '"\\ud83d\\ude00 \\ud800 \\/ \x7f \u2028 é😀"',
        '"\ud800"',
        '"\t"',
        "\ufeff1",
        "",
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_arguments_are_read_as_the_strict_decoder_reads_them(text: str, begin: str) -> None:
    def strictly(given: str) -> Any:
        value = gate._decoder.decode(given)
        return plain(value)[0] if "\\u" in given else value

    assert as_read(gate._decoded, begin + text) == as_read(strictly, begin + text)
