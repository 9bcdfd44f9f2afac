"""The gate of one call: may it run, must a person say so, or is its result known already?

The steps come in this order: arguments are decoded and validated first; then hooks may change
them, so that a person sees and approves exactly what the tool would get; then come the permission rules,
the tool's own word, and last the mode. What a person decided is bound to those arguments by their digest.
Whatever is user code (hooks, guardrails, a tool's ``needs_approval`` function) is asked outside
(``Consult``), and what it said comes back in as a fact (``Consulted``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from lousho_cli.core import tool_errors
from lousho_cli.core.permissions import ASKS_NOBODY, Mode, Rule, by_mode, first_match
from lousho_cli.core.reviews import reviewed
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision, Question, WaitKind, digest_of
from lousho_cli.domain.issues import Issue
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import json_text, plain
from lousho_cli.domain.session import Asked
from lousho_cli.domain.stops import Tripped
from lousho_cli.domain.texts import INTERRUPTED_TOOL_RESULT, NOT_SIGNED_IN_RESULT, TRUNCATED_TOOL_RESULT

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


class CutCall(msgspec.Struct, frozen=True):
    """A call that will not run, as whoever words its result is told of it."""

    tool_call_id: str
    tool_name: str


class Policy(msgspec.Struct, frozen=True):
    """What holds for every call of a run.

    requires_approval: names of tools that need a person whatever they say themselves, or True for all.
    replay: what ``--interrupted`` said, beating the run's default but not a tool's own.
    truncated_result: text, or a function of the call that gives it.
    rules: permission rules, the first that fits decides. mode: speaks last.
    standing: what people allowed for always; one that fits stands in for a person, and for nothing else.
    consults: hooks or guardrails look at every call before it may run. reports: hooks look at every result.
    """

    requires_approval: frozenset[str] | Literal[True] = frozenset()
    replay: Replay | None = None
    interrupted_result: str = INTERRUPTED_TOOL_RESULT
    truncated_result: str | Callable[[CutCall], str] = TRUNCATED_TOOL_RESULT
    rules: tuple[Rule, ...] = ()
    standing: tuple[Rule, ...] = ()
    mode: Mode = "default"
    consults: bool = False
    reports: bool = False


class Run(msgspec.Struct, frozen=True):
    """It may run, with these arguments. ``ruling``: the rule or mode that says so, for the log."""

    args: Any
    ruling: r.PermissionDecided | None = None


class Settle(msgspec.Struct, frozen=True):
    """It does not run: this is its result, the JSON text for the model. ``replaced_by``: the hook that gave it."""

    content: str
    is_error: bool = True
    ruling: r.PermissionDecided | None = None
    replaced_by: str | None = None
    altered: bool = False


class Ask(msgspec.Struct, frozen=True):
    """A person must decide on it.

    hooked: the arguments are not those of the model, hooks made them.
    ttl_ms: how long the person may take, None for the run's own. reason: why a rule has it asked.
    """

    args: Any
    kind: WaitKind = "tool"
    question: Question | None = None
    ruling: r.PermissionDecided | None = None
    hooked: bool = False
    ttl_ms: int | None = None
    reason: str | None = None


class Consult(msgspec.Struct, frozen=True):
    """User code must be asked about it. ``resumed``: a person approved these very arguments."""

    args: Any
    resumed: bool = False


class Block(msgspec.Struct, frozen=True):
    """A guardrail stops the run here."""

    tripped: Tripped


Verdict = Run | Settle | Ask | Consult | Block


class Consulted(msgspec.Struct, frozen=True):
    """What user code said of a call.

    answer, reason: of the tool's ``needs_approval`` function; ``reason`` goes with deny and with an error it raised.
    args: a tuple of the one value where hooks made other arguments. settled: the result that a hook gave in place of a run.
    tripped: the guardrail that blocked.
    """

    answer: Literal["approve", "ask", "deny", "error"] = "approve"
    reason: str = ""
    args: tuple[Any, ...] = ()
    settled: Settle | None = None
    tripped: Tripped | None = None


def judge(
    call: ToolCall,
    tool: GatedTool | None,
    policy: Policy,
    *,
    available: Sequence[str],
    decision: ApprovalDecision | None = None,
    consulted: Consulted | None = None,
    cut: bool = False,
    asked: Asked | None = None,
    truncated: bool = False,
    default_replay: Replay = "safe",
) -> Verdict:
    """The verdict on a call without a result.

    Args:
        cut: it was started by an owner that is gone, and nobody knows how it ended.
        asked: what it needs a person for, as it found when it ran.
        truncated: the answer that asked for it was cut off at the output limit.
        default_replay: that of the run, for tools that say nothing.
    """
    if truncated:
        return Settle(tool_errors.truncated(call, cut_text(call, policy)))
    if decision is not None and not decision.approved:
        return _refused(call, tool, decision)
    if asked is not None:
        return _found_out(call, asked, policy)
    if cut and effective_replay(tool, policy, default_replay) == "never":
        return Settle(reviewed(tool_errors.interrupted(call, policy.interrupted_result), decision, is_error=True))
    if tool is None:
        return Settle(tool_errors.not_found(call, available))
    args, issues = _arguments(call, tool, decision)
    if issues:
        return Settle(tool_errors.validation(call, issues))
    hooked = False
    if policy.consults:
        if consulted is None:
            return Consult(args, resumed=decision is not None)
        if consulted.settled is not None:
            return consulted.settled
        if consulted.args:
            if decision is not None and digest_of(consulted.args[0]) != digest_of(args):
                return Settle(tool_errors.validation(call, (_CHANGED,)))
            args, hooked = consulted.args[0], True
    verdict = _permitted(call, tool, args, policy, consulted, decision)
    return msgspec.structs.replace(verdict, hooked=True) if hooked and type(verdict) is Ask else verdict


_CHANGED = Issue("(root)", "the arguments are no longer those that were approved")


def cut_text(call: ToolCall, policy: Policy) -> str:
    """What the model reads of a call whose answer was cut off; our own words where the caller's function has none."""
    said = policy.truncated_result
    if isinstance(said, str):
        return said
    try:
        words: object = said(CutCall(call.id, call.name))
    except Exception:  # noqa: BLE001 - deciding must not fail on it: the call has to get a result
        return TRUNCATED_TOOL_RESULT
    return plain(words)[0] if isinstance(words, str) else TRUNCATED_TOOL_RESULT


def effective_replay(tool: GatedTool | None, policy: Policy, default: Replay) -> Replay:
    """The tool's own word, else that of ``--interrupted``, else the run's default."""
    return (tool.replay if tool else None) or policy.replay or default


def is_read_only(tool: GatedTool) -> bool:
    """Whether a tool says that it changes nothing."""
    return getattr(tool, "read_only", False) is True


def _edits(tool: GatedTool) -> bool:
    return getattr(tool, "edits", False) is True


def _arguments(call: ToolCall, tool: GatedTool, decision: ApprovalDecision | None) -> tuple[Any, tuple[Issue, ...]]:
    """The arguments a call would run with: those of the model, or those a person approved."""
    if decision is not None and decision.args is not None:
        return validated(decision.args, tool)
    if decision is not None and decision.pinned is not None:
        return decision.pinned, ()
    args, issues = parse_arguments(call.arguments, tool)
    if not issues and decision is not None and decision.digest not in (None, digest_of(args)):
        return None, (_CHANGED,)
    return args, issues


def parse_arguments(text: str, tool: GatedTool) -> tuple[Any, tuple[Issue, ...]]:
    """The validated arguments of a call, or what is wrong with them. Bad JSON is never an empty object."""
    try:
        args = _decoded(text)
    except (ValueError, RecursionError) as error:
        return None, (Issue("(root)", f"the arguments are not valid JSON: {error}"),)
    return _checked(args, tool)


def _decoded(text: str) -> Any:
    """The value of a JSON text; what the fast decoder does not take goes to the other."""
    if "\\u" in text:
        return plain(_decoder.decode(text))[0]  # an escape may stand for half a character
    try:
        return _fast_decoder.decode(text)
    except (ValueError, RecursionError):
        return _decoder.decode(text)


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


_decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
"""Made once: making one costs more than reading the arguments of a call."""

_fast_decoder = msgspec.json.Decoder()
"""Reads what it takes as the other does, in an eighth of the time; what is wrong with a text, the other says."""


def _refused(call: ToolCall, tool: GatedTool | None, decision: ApprovalDecision) -> Settle:
    if decision.expired:
        return Settle(tool_errors.expired(call))
    if decision.kind == "sign-in":
        return Settle(tool_errors.declined(call, decision.note, NOT_SIGNED_IN_RESULT))
    asked = decision.kind != "tool" or (tool is not None and _question_of(call, tool) is not None)
    if asked:
        return Settle(tool_errors.declined(call, decision.note))
    return Settle(tool_errors.rejected(call, decision.note))


def _question_of(call: ToolCall, tool: GatedTool) -> Question | None:
    args, issues = parse_arguments(call.arguments, tool)
    return None if issues else tool.question(args)


def _answer(question: Question, answer: str) -> str:
    value: dict[str, Any] = {"answer": answer}
    if answer in question.options:
        value["option"] = question.options.index(answer)
    return json_text(value)[0]


def _found_out(call: ToolCall, asked: Asked, policy: Policy) -> Ask | Settle:
    """A call that began and needs a person: it runs again with the very arguments it began with."""
    if policy.mode == "dont-ask":
        return _denied(call, "mode", ASKS_NOBODY)
    return Ask(asked.args, asked.kind, asked.question, hooked=True)


def _permitted(
    call: ToolCall, tool: GatedTool, args: Any, policy: Policy, consulted: Consulted | None, decision: ApprovalDecision | None
) -> Verdict:
    """The rules, the guardrails, the tool's own word, and the mode; a person's approval stands in for a pause alone."""
    rule = first_match(policy.rules, call.name, args) if policy.rules else None
    if rule is not None and rule.action == "deny":
        return _denied(call, "rule", rule.reason or f"a rule denies {rule.tool}")
    if consulted is not None and consulted.tripped is not None:
        return Block(consulted.tripped)
    question = tool.question(args)
    if decision is not None:
        asks = False
    elif question is not None:
        asks = True
    else:
        own = _own_word(call, tool, args, policy, consulted)
        if not isinstance(own, bool):
            return own
        asks = own if rule is None else rule.action == "ask"
        always = first_match(policy.standing, call.name, args) if asks and policy.standing else None
        if always is not None:
            rule, asks = always, False
    said = by_mode(policy.mode, asks=asks, read_only=is_read_only(tool), edits=_edits(tool)) if policy.mode != "default" else None
    if said is not None and said.action == "deny":
        return _denied(call, "mode", said.reason)
    if decision is not None:
        said_then = decision.answers[-1] if decision.answers else decision.note or ""
        return Run(args) if question is None else Settle(_answer(question, said_then), is_error=False)
    if question is not None:
        return Ask(args, "secret" if question.secret else "question", question)
    if said is not None:
        return Run(args, r.PermissionDecided(call.id, "allow", "mode", said.reason))
    ruling = r.PermissionDecided(call.id, rule.action, "rule", rule.reason) if rule is not None else None
    if not asks:
        return Run(args, ruling)
    return Ask(args, ruling=ruling, ttl_ms=rule.ttl_ms if rule else None, reason=(rule.reason or None) if rule else None)


def _denied(call: ToolCall, source: r.PermissionSource, reason: str) -> Settle:
    return Settle(tool_errors.denied(call, reason), ruling=r.PermissionDecided(call.id, "deny", source, reason))


def _own_word(call: ToolCall, tool: GatedTool, args: Any, policy: Policy, consulted: Consulted | None) -> bool | Consult | Settle:
    """Whether the tool, or the run for it, wants a person to decide; its own refusal is a result."""
    required = policy.requires_approval is True or call.name in policy.requires_approval
    if not callable(tool.needs_approval):
        return required or tool.needs_approval is True
    if consulted is None:
        return Consult(args)
    if consulted.answer == "deny":
        return Settle(tool_errors.denied(call, consulted.reason))
    if consulted.answer == "error":
        return Settle(tool_errors.execution(call, "ApprovalCheckError", consulted.reason))
    return required or consulted.answer == "ask"


def hook_denied(call: ToolCall, hook: str, reason: str) -> Settle:
    """The result of a call that a hook refused."""
    return _denied(call, "hook", reason or f"{hook} refused it")


def consulted_from(value: Any) -> Consulted:
    """Reads what a ``needs_approval`` function returned; anything unknown asks a person."""
    if isinstance(value, Mapping) and "deny" in value:
        return Consulted("deny", str(value["deny"]))
    if value is False or value is None or value == "approve":
        return Consulted("approve")
    if value == "deny":
        return Consulted("deny", "the tool denied the call")
    return Consulted("ask")
