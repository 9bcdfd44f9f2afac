"""An agent made ready to run: what deciding needs to know of it, and what performing needs to hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from lousho_cli.core.decide import AgentFacts
from lousho_cli.core.effects import MayJoin
from lousho_cli.core.fingerprint import fingerprint
from lousho_cli.core.gate import CutCall, Policy, Replay
from lousho_cli.core.limits import Limits
from lousho_cli.core.permissions import Mode, mode_from, rules_from
from lousho_cli.core.resuming import DriftMode
from lousho_cli.core.retry import RetryDecision
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Agent, agent_from
from lousho_cli.domain.messages import Message
from lousho_cli.domain.plain import plain
from lousho_cli.domain.prices import Rate
from lousho_cli.errors import ConfigurationError, ProviderError, RangeError
from lousho_cli.executor.guardrails import NO_GUARDS, Guards, guards_from
from lousho_cli.executor.hooks import NO_HOOKS, Hooks, hooks_from
from lousho_cli.executor.pricing import Prices, check_money, pricing_of, unpriced
from lousho_cli.executor.registry import ToolRegistry, registry_from
from lousho_cli.executor.sub_agents import SubAgentTool, sub_agent_from
from lousho_cli.ports.credentials import Credentials
from lousho_cli.ports.provider import Provider, ToolSpec
from lousho_cli.ports.tool import Tool, ToolContext

OnModelError = Callable[[ProviderError, int, float], RetryDecision | Literal["retry", "continue"] | int | None]
"""Asked when a model call failed: the error, how often it was retried, and a number from 0 to 1.

Gives how many milliseconds to wait before the next try, ``"retry"`` or ``"continue"`` for the usual waits (see
``RetryDecision``), a ``RetryDecision``, or None to give up. How often a call is retried is its own to decide.
"""

SandboxExecute = Callable[[Tool, Any, ToolContext], Any]
"""Runs a tool somewhere else: the tool, its validated arguments and its context. Async, or sync on the loop's thread."""

InBackground = Callable[[str, str, str], Awaitable[Any]]
"""Has a sub-agent run in the background: the call that asks for it, its name, and its input. Gives what the model is told."""

LONGEST_MS = 1000 * 366 * 86_400_000
"""The longest time a setting may name: a thousand years, so that every date it leads to can be written."""

_MOST = 2**53

Concurrency = int | str | None


ContinueCutOff = bool | tuple[str, ...]
"""Whether an answer that a crash cut is gone on with; the notes that ask for the rest, True for our own."""


class RunSettings(msgspec.Struct, frozen=True):
    """How an agent runs, as a caller may say it; see ``AgentExecutor.execute`` and, for the last two of the cut ones, ``AgentFacts``."""

    max_steps: int = 10
    tool_concurrency: Concurrency = None
    max_tokens: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_cost_usd: float | None = None
    on_exceeded: Literal["stop", "throw"] = "stop"
    prices: Prices = None
    permissions: Sequence[Any] = ()
    permission_mode: Mode = "default"
    hooks: Sequence[Any] = ()
    guardrails: Sequence[Any] = ()
    approval_ttl_ms: int | None = None
    max_duration_ms: int | None = None
    requires_approval: frozenset[str] | bool = frozenset()
    replay: Replay = "safe"
    interrupted: str | None = None
    interrupted_tool_result: str | None = None
    truncated_tool_result: str | Callable[[CutCall], str] | None = None
    continue_cut_off: ContinueCutOff = False
    late_fails: bool = False
    cut_answer_ends: bool = False
    on_agent_drift: DriftMode = "warn"
    on_model_error: OnModelError | None = None
    sandbox_execute: SandboxExecute | None = None
    abort_grace_ms: int | None = None
    subagents: Mapping[str, Any] = {}
    can_join: MayJoin | None = None
    credentials: Credentials | None = None


class RunAgent(msgspec.Struct, frozen=True):
    """An agent with its provider, tools and settings.

    asks: what its requests say beside the transcript, see ``ModelRequest``. ephemeral: messages that the model sees in this
    run, in front of those it began with, and no log does. in_background: has one of its sub-agents run beside it.
    """

    agent: Agent
    provider: Provider
    tools: ToolRegistry
    specs: tuple[ToolSpec, ...]
    facts: AgentFacts
    settings: RunSettings
    hooks: Hooks = NO_HOOKS
    guards: Guards = NO_GUARDS
    price_of: Callable[[str], Rate | None] | None = None
    asks: Mapping[str, Any] = {}
    ephemeral: tuple[Message, ...] = ()
    in_background: InBackground | None = None

    @property
    def model(self) -> str | None:
        return self.agent.model or self.provider.model


def run_agent(agent: Agent, provider: Provider, registry: ToolRegistry, settings: RunSettings, config: Any = None) -> RunAgent:
    """Checks the settings and makes the agent ready. ``config``: what to record with a run it begins, plain JSON.

    Raises:
        ConfigurationError, RangeError: a setting that makes no sense; ``field`` names it.
    """
    check_settings(settings)
    check_provider(provider)
    own = registry.only(agent.tools)
    tools = ToolRegistry((*own.values(), *sub_agent_tools(settings, provider))) if settings.subagents else own
    specs = tools.specs()
    model = agent.model or provider.model
    hooks, guards = hooks_from(settings.hooks), guards_from(settings.guardrails)
    limits = Limits(settings.max_tokens, settings.max_input_tokens, settings.max_output_tokens, settings.max_cost_usd, settings.on_exceeded)
    price_of = pricing_of(settings.prices, model, provider)
    if limits.max_cost_usd is not None and (price_of is None or price_of(model or "") is None):
        raise unpriced(model)
    begin = r.RunStarted(
        input_id="",
        fingerprint=fingerprint(model, {tool.name: tool.schema for tool in own.values()}, agent.prompt),
        offered=tuple(tools),
        model=agent.model,
        replay=settings.replay,
        max_steps=settings.max_steps,
        instructions=agent.prompt or None,
        agent_id=agent.agent_id,
        config=config,
    )
    facts = AgentFacts(
        tools=tools,
        begin=begin,
        policy=_policy(settings, hooks, guards),
        max_steps=settings.max_steps,
        tool_concurrency=settings.tool_concurrency if isinstance(settings.tool_concurrency, int) else None,
        limits=limits if limits.bounded else None,
        approval_ttl_ms=settings.approval_ttl_ms,
        max_duration_ms=settings.max_duration_ms,
        guards_input=bool(guards.input),
        may_join=settings.can_join,
        late_fails=settings.late_fails,
        cut_answer_ends=settings.cut_answer_ends,
    )
    return RunAgent(agent, provider, tools, specs, facts, settings, hooks, guards, price_of)


def sub_agent_tools(settings: RunSettings, provider: Provider) -> Iterator[SubAgentTool]:
    """The sub-agents of a run as tools. What one does not say itself holds for it as for its lead.

    Raises:
        ConfigurationError, RangeError: one makes no sense; ``field`` names it.
    """
    if not isinstance(settings.subagents, Mapping):
        raise ConfigurationError("subagents is no mapping", field="subagents", hint="Name each: {'scout': SubAgent(...)}.")
    for name, value in settings.subagents.items():
        given = sub_agent_from(name, value)
        agent = agent_from(given.agent)
        own = msgspec.structs.replace(
            settings,
            max_steps=given.max_steps,
            max_tokens=settings.max_tokens if given.max_tokens is None else given.max_tokens,
            max_input_tokens=settings.max_input_tokens if given.max_input_tokens is None else given.max_input_tokens,
            max_output_tokens=settings.max_output_tokens if given.max_output_tokens is None else given.max_output_tokens,
            max_cost_usd=settings.max_cost_usd if given.max_cost_usd is None else given.max_cost_usd,
            prices=settings.prices if given.prices is None else given.prices,
            permissions=(*settings.permissions, *given.permissions),
            permission_mode=given.permission_mode or settings.permission_mode,
            max_duration_ms=given.max_duration_ms,
            requires_approval=gated_by(given.requires_approval),
            subagents=given.subagents,
            continue_cut_off=False,
            late_fails=False,
        )
        try:
            ready = run_agent(agent, given.provider or provider, registry_from(given.tools), own)
        except ConfigurationError as error:
            error.field = f"subagents.{name}.{error.field}"
            raise
        described = given.description or f"Hands work to {agent.name}."
        yield SubAgentTool(name, described, ready, given.needs_approval, background=given.background)


def _policy(settings: RunSettings, hooks: Hooks, guards: Guards) -> Policy:
    required = settings.requires_approval
    replay: dict[str | None, Replay | None] = {"rerun": "safe", "report": "never", None: None}
    texts: dict[str, Any] = {
        "interrupted_result": settings.interrupted_tool_result,
        "truncated_result": settings.truncated_tool_result,
    }
    return Policy(
        requires_approval=True if required is True else frozenset(required or ()),
        replay=replay[settings.interrupted],
        rules=rules_from(settings.permissions),
        mode=mode_from(settings.permission_mode),
        consults=bool(hooks.pre_tool or guards.tool),
        reports=bool(hooks.post_tool),
        **{name: text for name, text in texts.items() if text is not None},
    )


def check_settings(settings: RunSettings) -> None:
    """Lets only settings pass that mean something and can be recorded.

    Raises:
        ConfigurationError, RangeError: ``field`` names the one that does not.
    """
    _whole("max_steps", settings.max_steps, 1)
    if settings.tool_concurrency not in (None, "unbounded"):
        _whole("tool_concurrency", settings.tool_concurrency, 1, also=" or 'unbounded'")
    for field in ("max_tokens", "max_input_tokens", "max_output_tokens"):
        if getattr(settings, field) is not None:
            _whole(field, getattr(settings, field), 1)
    check_money(settings.max_cost_usd, settings.prices)
    for field, least in (("approval_ttl_ms", 1), ("max_duration_ms", 1), ("abort_grace_ms", 0)):
        if getattr(settings, field) is not None:
            _whole(field, getattr(settings, field), least, LONGEST_MS)
    _one_of("on_agent_drift", settings.on_agent_drift, ("warn", "error", "ignore"))
    _one_of("replay", settings.replay, ("safe", "never"))
    _one_of("on_exceeded", settings.on_exceeded, ("stop", "throw"))
    rules_from(settings.permissions)
    mode_from(settings.permission_mode)
    hooks_from(settings.hooks)
    guards_from(settings.guardrails)
    _one_of("interrupted", settings.interrupted, (None, "rerun", "report"))
    _text("interrupted_tool_result", settings.interrupted_tool_result)
    if not callable(settings.truncated_tool_result):
        _text("truncated_tool_result", settings.truncated_tool_result, also=", a function of the call,")
    notes_of(settings.continue_cut_off)
    for field in ("on_model_error", "sandbox_execute"):
        if getattr(settings, field) is not None and not callable(getattr(settings, field)):
            raise ConfigurationError(f"{field} is {_shown(getattr(settings, field))}", field=field, hint="Use a function, or None.")


def notes_of(value: object) -> ContinueCutOff:
    """Reads ``continue_cut_off``: whether cut answers are gone on with, or ``{"note": text or texts}``.

    Raises:
        ConfigurationError: it is something else.
    """
    if isinstance(value, bool):
        return value
    given = value.get("note") if isinstance(value, Mapping) and set(value) == {"note"} else value if isinstance(value, tuple) else None
    notes = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if notes and all(isinstance(note, str) and note.strip() and not plain(note)[1] for note in notes):
        return notes
    raise ConfigurationError(
        f"continue_cut_off is {_shown(value)}", field="continue_cut_off", hint='Use True, False, or {"note": …} with a text or several.'
    )


def gated_by(value: Iterable[str] | bool) -> frozenset[str] | bool:
    """Reads ``requires_approval``: names of tools, or whether every tool needs a person.

    Raises:
        ConfigurationError: it is something else.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        names = list(value)
        if all(isinstance(name, str) for name in names):
            return frozenset(names)
    raise ConfigurationError(
        f"requires_approval is {_shown(value)}", field="requires_approval", hint="Use a list of tool names, or True for all."
    )


def check_provider(provider: Provider) -> None:
    """Lets only what can be asked pass.

    Raises:
        ConfigurationError: it has no stream, or its model is no name.
    """
    wrong = "" if callable(getattr(provider, "stream", None)) else "it has no stream"
    model = getattr(provider, "model", None)
    if not isinstance(model, str | None) or plain(model)[1]:
        wrong = f"its model is {_shown(model)}, not a name"
    if wrong:
        raise ConfigurationError(f"this is no provider that can be asked: {wrong}", field="provider")


def _text(field: str, value: object, also: str = "") -> None:
    if not isinstance(value, str | None):
        raise ConfigurationError(f"{field} is {_shown(value)}", field=field, hint=f"Use text{also} or None for ours.")


def _whole(field: str, value: object, least: int, most: int = _MOST, also: str = "") -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        limit = f"from {least} up" if most == _MOST else f"from {least} to {most}"
        raise RangeError(f"{field} is {_shown(value)}", field=field, hint=f"Use a whole number {limit}{also}.")


def _one_of(field: str, value: object, words: tuple[str | None, ...]) -> None:
    if value not in words:
        said = [word for word in words if word is not None]
        raise ConfigurationError(f"{field} is {_shown(value)}", field=field, hint=f"Use {', '.join(said[:-1])} or {said[-1]}.")


def _shown(value: object) -> str:
    """A value as an error names it: short, and never itself an error."""
    return f"{plain(value)[0]!r:.60}"
