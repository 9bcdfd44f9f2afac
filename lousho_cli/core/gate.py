"""The gate of one call: may it run, must a person say so, or is its result known already?

The steps come in the seed's order: arguments are decoded and validated first, so that a
person sees and approves exactly what the tool would get; what a person decided is bound to
those arguments by their digest. Only a tool's own ``needs_approval`` function is user code;
it is asked outside (``Consult``) and its answer comes back in as a fact.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from lousho_cli.core import tool_errors
from lousho_cli.domain.approvals import ApprovalDecision, Question, digest_of
from lousho_cli.domain.issues import Issue
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import json_text, plain
from lousho_cli.domain.texts import INTERRUPTED_TOOL_RESULT, TRUNCATED_TOOL_RESULT

Replay = Literal["safe", "never"]


class GatedTool(Protocol):
    """What the gate needs to know of a tool (see ``ports.tool.Tool``)."""

    @property
    def name(self) -> str: ...
    @property
    def replay(self) -> Replay | None: ...
    @property
    def needs_approval(self) -> bool | Callable[..., Any]: ...
    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]: ...
    def question(self, args: Any) -> Question | None: ...


class Policy(msgspec.Struct, frozen=True):
    """What holds for every call of a run.

    requires_approval: names of tools that need a person whatever they say themselves, or True for all.
    replay: what ``--interrupted`` said, beating the run's default but not a tool's own.
    """

    requires_approval: frozenset[str] | Literal[True] = frozenset()
    replay: Replay | None = None
    interrupted_result: str = INTERRUPTED_TOOL_RESULT
    truncated_result: str = TRUNCATED_TOOL_RESULT


class Run(msgspec.Struct, frozen=True):
    """It may run, with these arguments."""

    args: Any


class Settle(msgspec.Struct, frozen=True):
    """It does not run: this is its result, the JSON text for the model."""

    content: str
    is_error: bool = True


class Ask(msgspec.Struct, frozen=True):
    """A person must decide on it."""

    args: Any
    kind: Literal["tool", "question", "secret"] = "tool"
    question: Question | None = None


class Consult(msgspec.Struct, frozen=True):
    """The tool's own ``needs_approval`` function must be asked."""

    args: Any


Verdict = Run | Settle | Ask | Consult


class Consulted(msgspec.Struct, frozen=True):
    """What a ``needs_approval`` function said. ``reason`` goes with deny and with an error it raised."""

    answer: Literal["approve", "ask", "deny", "error"]
    reason: str = ""


def judge(
    call: ToolCall,
    tool: GatedTool | None,
    policy: Policy,
    *,
    available: Sequence[str],
    decision: ApprovalDecision | None = None,
    consulted: Consulted | None = None,
    cut: bool = False,
    truncated: bool = False,
    default_replay: Replay = "safe",
) -> Verdict:
    """The verdict on a call without a result.

    Args:
        cut: it was started by an owner that is gone, and nobody knows how it ended.
        truncated: the answer that asked for it was cut off at the output limit.
        default_replay: that of the run, for tools that say nothing.
    """
    if truncated:
        return Settle(tool_errors.truncated(call, policy.truncated_result))
    if decision is not None and not decision.approved:
        return _refused(call, tool, decision)
    if cut and effective_replay(tool, policy, default_replay) == "never":
        return Settle(tool_errors.interrupted(call, policy.interrupted_result))
    if tool is None:
        return Settle(tool_errors.not_found(call, available))
    args, issues = parse_arguments(call.arguments, tool)
    if issues:
        return Settle(tool_errors.validation(call, issues))
    if decision is not None:
        return _approved(call, tool, args, decision)
    question = tool.question(args)
    if question is not None:
        return Ask(args, "secret" if question.secret else "question", question)
    return _by_approval(call, tool, args, policy, consulted)


def effective_replay(tool: GatedTool | None, policy: Policy, default: Replay) -> Replay:
    """The tool's own word, else that of ``--interrupted``, else the run's default."""
    return (tool.replay if tool else None) or policy.replay or default


def parse_arguments(text: str, tool: GatedTool) -> tuple[Any, tuple[Issue, ...]]:
    """The validated arguments of a call, or what is wrong with them. Bad JSON is never an empty object."""
    try:
        args = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        return None, (Issue("(root)", f"the arguments are not valid JSON: {error}"),)
    if "\\u" in text:
        args = plain(args)[0]  # an escape may stand for half a character
    return _checked(args, tool)


def validated(args: Any, tool: GatedTool) -> tuple[Any, tuple[Issue, ...]]:
    """Arguments from outside as the tool takes them, or what is wrong with them."""
    return _checked(plain(args)[0], tool)


def _checked(args: Any, tool: GatedTool) -> tuple[Any, tuple[Issue, ...]]:
    """A check that fails lets nothing through."""
    try:
        return tool.validate(args)
    except Exception as error:  # noqa: BLE001 - a tool's own check may raise anything; deciding must not
        return None, (Issue("(root)", f"the arguments could not be checked: {type(error).__name__}: {error}"),)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _refused(call: ToolCall, tool: GatedTool | None, decision: ApprovalDecision) -> Settle:
    if decision.expired:
        return Settle(tool_errors.expired(call))
    asked = tool is not None and _question_of(call, tool) is not None
    if asked:
        return Settle(tool_errors.declined(call, decision.note))
    return Settle(tool_errors.rejected(call, decision.note))


def _question_of(call: ToolCall, tool: GatedTool) -> Question | None:
    args, issues = parse_arguments(call.arguments, tool)
    return None if issues else tool.question(args)


def _approved(call: ToolCall, tool: GatedTool, args: Any, decision: ApprovalDecision) -> Verdict:
    question = tool.question(args)
    if question is not None:
        return Settle(_answer(question, decision.note or ""), is_error=False)
    if decision.args is not None:
        edited, issues = validated(decision.args, tool)
        return Settle(tool_errors.validation(call, issues)) if issues else Run(edited)
    if decision.digest is not None and decision.digest != digest_of(args):
        changed = (Issue("(root)", "the arguments are no longer those that were approved"),)
        return Settle(tool_errors.validation(call, changed))
    return Run(args)


def _answer(question: Question, answer: str) -> str:
    value: dict[str, Any] = {"answer": answer}
    if answer in question.options:
        value["option"] = question.options.index(answer)
    return json_text(value)[0]


def _by_approval(call: ToolCall, tool: GatedTool, args: Any, policy: Policy, consulted: Consulted | None) -> Verdict:
    required = policy.requires_approval is True or call.name in policy.requires_approval
    if required or tool.needs_approval is True:
        return Ask(args)
    if not callable(tool.needs_approval):
        return Run(args)
    if consulted is None:
        return Consult(args)
    if consulted.answer == "approve":
        return Run(args)
    if consulted.answer == "ask":
        return Ask(args)
    if consulted.answer == "deny":
        return Settle(tool_errors.denied(call, consulted.reason))
    return Settle(tool_errors.execution(call, "ApprovalCheckError", consulted.reason))


def consulted_from(value: Any) -> Consulted:
    """Reads what a ``needs_approval`` function returned; anything unknown asks a person."""
    if isinstance(value, Mapping) and "deny" in value:
        return Consulted("deny", str(value["deny"]))
    if value is False or value is None or value == "approve":
        return Consulted("approve")
    if value == "deny":
        return Consulted("deny", "the tool denied the call")
    return Consulted("ask")
