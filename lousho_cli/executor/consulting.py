"""What user code says of one call, as one fact for the gate. Decides nothing.

In this order: hooks, each of which may change the arguments, refuse the call or give its result; guardrails; the
tool's own ``needs_approval``. Who comes first and has the last word keeps the others from being asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any

from lousho_cli.core import tool_errors
from lousho_cli.core.decide import ConsultTool
from lousho_cli.core.gate import Consulted, Settle, consulted_from, hook_denied, validated
from lousho_cli.core.permissions import first_match
from lousho_cli.domain.plain import json_text, text_of
from lousho_cli.executor.guardrails import guard_call
from lousho_cli.executor.hooks import HookCall, ask, said
from lousho_cli.executor.interrupts import ESCAPES
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.ports.tool import ToolContext, takes_context


async def consult_all(agent: RunAgent, effect: ConsultTool, context: ToolContext) -> Consulted:
    """Asks hooks, guardrails and the tool about a call.

    Raises:
        HookError: a hook or a guardrail failed. GuardrailTrippedError: one that throws blocked.
    """
    call, tool = effect.call, agent.tools[effect.call.name]
    asked = HookCall(call.name, effect.args, call.id, context.session_id, effect.resumed)
    changed = await _hooked(agent, effect, asked)
    if isinstance(changed, Consulted):
        return changed
    args, known = (changed[0] if changed else effect.args), Consulted(args=changed)
    policy = agent.facts.policy
    rule = first_match(policy.rules, call.name, args) if policy.rules else None
    if rule is not None and rule.action == "deny":
        return known  # it is refused whatever the others say
    tripped = await guard_call(agent.guards, HookCall(call.name, args, call.id, context.session_id, effect.resumed))
    if tripped is not None:
        return Consulted(args=changed, tripped=tripped)
    if effect.resumed or not callable(tool.needs_approval) or tool.question(args) is not None:
        return known
    own = consult(agent, ConsultTool(call, args), context)
    answer = own if isinstance(own, Consulted) else await own
    return Consulted(answer.answer, answer.reason, args=changed)


async def _hooked(agent: RunAgent, effect: ConsultTool, asked: HookCall) -> tuple[Any, ...] | Consulted:
    """The arguments that hooks made, as a tuple of the one value, empty where they stayed; or what one of them decided."""
    call, tool = effect.call, agent.tools[effect.call.name]
    before = as_text = json_text(effect.args)[0]
    args: Any = effect.args
    for name, hook in agent.hooks.pre_tool:
        args = _own_copy(args)
        answer = said(name, await ask(name, hook, _with(asked, args)), "deny", "result", "error", "input")
        if answer is not None and answer[0] == "deny":
            return Consulted(settled=hook_denied(call, name, text_of(answer[1])))
        if answer is not None and answer[0] != "input":
            content, altered = json_text(answer[1])
            return Consulted(settled=Settle(content, is_error=answer[0] == "error", replaced_by=name, altered=altered))
        args = args if answer is None else answer[1]
        if json_text(args)[0] == as_text:
            continue
        args, issues = validated(args, tool)
        if issues:
            return Consulted(settled=Settle(tool_errors.validation(call, issues)))
        as_text = json_text(args)[0]
    return () if as_text == before else (args,)


def _own_copy(args: Any) -> Any:
    """Arguments that a hook may change in place: what it was not given stays as it is."""
    import copy

    return copy.deepcopy(args)


def _with(asked: HookCall, args: Any) -> HookCall:
    return HookCall(asked.tool_name, args, asked.tool_call_id, asked.session_id, asked.resumed)


def consult(agent: RunAgent, effect: ConsultTool, context: ToolContext) -> Consulted | Awaitable[Consulted]:
    """Asks the tool's own approval function: the answer, or what to await for it. What it raises is an answer too."""
    check = agent.tools[effect.call.name].needs_approval
    try:
        given = (effect.args, context) if callable(check) and takes_context(check) else (effect.args,)
        value = check(*given) if callable(check) else check
    except (Exception, *ESCAPES) as error:  # noqa: BLE001 - a check that fails must not let the call through
        return _check_failed(error)
    return _awaited(value) if inspect.isawaitable(value) else consulted_from(value)


async def _awaited(answer: Awaitable[Any]) -> Consulted:
    try:
        return consulted_from(await answer)
    except (Exception, *ESCAPES) as error:  # noqa: BLE001 - as above
        return _check_failed(error)


def _check_failed(error: BaseException) -> Consulted:
    return Consulted("error", f"{type(error).__name__}: {error}")
