"""A harness: an agent, the model it asks, and how its runs live on when a host dies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.core.appending import Project, says_nothing
from lousho_cli.core.background import BackgroundLimits
from lousho_cli.core.resuming import DriftMode
from lousho_cli.domain.heads import Head
from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.executor.agent_options import settings_among
from lousho_cli.executor.dynamic import AgentSource, FixedAgent, agent_source
from lousho_cli.executor.registry import registry_from
from lousho_cli.executor.run_agent import RunAgent, RunSettings, sub_agent_tools
from lousho_cli.executor.sub_agents import SubAgentTool
from lousho_cli.host.joining import CanJoin, joining_rule
from lousho_cli.host.options import mapping_from, option_from
from lousho_cli.ports.provider import Provider
from lousho_cli.ports.tool import Tool

MAX_STEPS = 50

GRACE_MS = 5_000
"""How long the stop of a turn waits for tools that do not stop."""


class Durability(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the runs of a harness live on.

    max_attempts: how often one input may be run, the first time included.
    timeout_ms: from its first run on; a further attempt does not move it. None for no limit.
    recover: asked for each input that a host left, with a ``RecoverInfo``. It gives None for what is done anyway,
        ``{"action": "run", "overrides": …}``, or ``{"action": "settle", "outcome": …, "error": {"message", "code"}}``.
        Where it raises, the input stays as it is and the thread is given back for 30 seconds.
    interrupted_tool_result: what the model reads of a call that a crash cut; None for our own words.
    truncated_tool_result: the same of a call of an answer that the output limit cut: text, or a function of a ``CutCall``.
        With it such an answer is gone on with; None: it ends the turn.
    continue_cut_off: keep what was written of an answer when its host dies, and have the model go on with it. True, or
        ``{"note": …}`` with what asks for the rest, a text or several. Answers that a hook may still change are not kept.
    replay: what becomes of a cut call whose tool says nothing itself.
    """

    max_attempts: int = 10
    timeout_ms: int | None = None
    recover: Callable[..., Any] | None = None
    interrupted_tool_result: str | None = None
    truncated_tool_result: Any = None
    continue_cut_off: bool | Mapping[str, Any] = False
    resume_background_agents: bool = True
    replay: Literal["safe", "never"] = "never"


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """on_model_error: asked when a model call failed, such as ``retry_transient_errors()``; None for no retries."""

    on_model_error: Any = None


class Harness(msgspec.Struct, frozen=True):
    """What ``define_harness`` gives. ``source`` makes the agent for a session; ``agent_path`` is stored with each, to find it again.

    agents: those it may have run in the background; background: how many its model may.
    lead: the thread that has one run under this harness in the background.
    history_limit: how many checkpoints of a session are kept; None for as many as the store was told.
    nameless: what ``execute`` begins says no harness; the name of its agent stands for it, as where no host began it.
    """

    name: str
    source: AgentSource
    durability: Durability = Durability()
    on_agent_drift: DriftMode = "warn"
    agent_path: str | None = None
    commands: Mapping[str, Callable[..., Any]] = {}
    project: Project = says_nothing
    agents: Mapping[str, Harness] = {}
    lead: str | None = None
    history_limit: int | None = None
    nameless: bool = False
    background: BackgroundLimits = BackgroundLimits()

    @property
    def stored_name(self) -> str | None:
        """What a thread that ``execute`` begins says of its harness."""
        return None if self.nameless else self.name

    def serves(self, head: Head) -> bool:
        """Whether a thread is one of this harness: its own name tells, else, where no host began it, its agent's."""
        return (head.harness or head.agent) in ("", self.name)


def define_harness(
    name: str,
    adapter: Provider,
    *,
    instructions: Any = "",
    tools: Mapping[str, Tool] | Iterable[Tool] = (),
    model: Any = None,
    durability: Durability | Mapping[str, Any] | None = None,
    turn: Turn | Mapping[str, Any] | None = None,
    on_agent_drift: DriftMode = "warn",
    commands: Mapping[str, Callable[..., Any]] | None = None,
    project: Project | None = None,
    can_join: CanJoin | None = None,
    agents: Mapping[str, Harness] | None = None,
    background: BackgroundLimits | Mapping[str, Any] | None = None,
    **options: Any,
) -> Harness:
    """An agent that hosts can run.

    Args:
        name: tells the harnesses of a host apart; stored with each thread.
        adapter: the model, any ``Provider``.
        instructions, model: text, or a function of an ``AgentContext``; ``tools`` are its tools.
        commands: by name, functions of a ``CommandContext`` and the arguments, sync or async: what ``run_command`` carries out.
        project: what a record of ``append_records`` says to the model: text, a user message or several, None for nothing. Pure.
        can_join: whether an input may steer the turn that runs, given who sent it, who began the turn, and its messages;
            by default only one from the same sender may.
        agents: by name, harnesses that ``start_agent`` may run beside a thread; its ``subagents`` are among them anyway.
        background: ``max_depth`` (2), ``max_running`` (3) and ``max_started`` (12) of the agents that models start there.
        options: of ``AgentExecutor.execute`` that hold for every run, such as ``max_steps`` (50), ``permissions``, ``hooks``.

    Raises:
        ConfigurationError, RangeError: something makes no sense; ``field`` names it.
    """
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError("a harness has a name", field="name")
    lives_on = option_from("durability", durability, Durability)
    if lives_on.max_attempts < 1:
        raise RangeError(f"durability.max_attempts is {lives_on.max_attempts}", field="durability.max_attempts", hint="Use 1 or more.")
    settings = _settings(lives_on, option_from("turn", turn, Turn), on_agent_drift, options | {"can_join": joining_rule(can_join)})
    agent = {"name": name, "prompt": instructions, **({} if model is None else {"model": model})}
    source = agent_source(agent, adapter, registry_from(tools), settings)
    _functions("commands", mapping_from("commands", commands))
    _functions("", {"project": project or says_nothing})
    beside = {**agents_in(sub_agent_tools(settings, adapter), lives_on, on_agent_drift), **_agents_from(mapping_from("agents", agents))}
    return Harness(
        name,
        source,
        lives_on,
        on_agent_drift,
        commands=dict(commands or {}),
        project=project or says_nothing,
        agents=beside,
        background=_limits(background),
    )


def agents_in(tools: Iterable[Any], durability: Durability, on_agent_drift: DriftMode) -> dict[str, Harness]:
    """The sub-agents among the tools of an agent, each with those of its own, as agents that it may have run in the background."""
    return {
        tool.name: Harness(
            tool.name,
            FixedAgent(tool.ready),
            durability,
            on_agent_drift,
            agents=agents_in(tool.ready.tools.values(), durability, on_agent_drift),
        )
        for tool in tools
        if isinstance(tool, SubAgentTool) and isinstance(tool.ready, RunAgent)
    }


def _limits(given: BackgroundLimits | Mapping[str, Any] | None) -> BackgroundLimits:
    limits = option_from("background", given, BackgroundLimits)
    for name in limits.__struct_fields__:
        if getattr(limits, name) < 0:
            raise RangeError(f"background.{name} is {getattr(limits, name)}", field=f"background.{name}", hint="Use 0 or more.")
    return limits


def _agents_from(given: Mapping[str, Any]) -> dict[str, Harness]:
    for name, agent in given.items():
        if not isinstance(agent, Harness):
            raise ConfigurationError(f"agents.{name} is no harness", field=f"agents.{name}", hint="Make it with define_harness.")
    return dict(given)


def _functions(field: str, given: Mapping[str, Any]) -> None:
    for name, function in given.items():
        if not callable(function):
            path = f"{field}.{name}" if field else name
            raise ConfigurationError(f"{path} is no function", field=path)


def _settings(durability: Durability, turn: Turn, on_agent_drift: DriftMode, options: Mapping[str, Any]) -> RunSettings:
    for name in options:
        if name not in RunSettings.__struct_fields__ or name in _ELSEWHERE:
            said = f"It is {_ELSEWHERE[name]} here." if name in _ELSEWHERE else "It takes the options of AgentExecutor.execute."
            raise ConfigurationError(f"define_harness has no option {name}", field=name, hint=said)
    return settings_among(
        {
            "max_steps": MAX_STEPS,
            "abort_grace_ms": GRACE_MS,
            **options,
            "late_fails": True,
            "cut_answer_ends": durability.truncated_tool_result is None,
            "continue_cut_off": durability.continue_cut_off,
            "max_duration_ms": durability.timeout_ms,
            "replay": durability.replay,
            "interrupted_tool_result": durability.interrupted_tool_result,
            "truncated_tool_result": durability.truncated_tool_result,
            "on_agent_drift": on_agent_drift,
            "on_model_error": turn.on_model_error,
        }
    )


_ELSEWHERE = {
    "max_duration_ms": "durability.timeout_ms",
    "replay": "durability.replay",
    "interrupted_tool_result": "durability.interrupted_tool_result",
    "truncated_tool_result": "durability.truncated_tool_result",
    "on_model_error": "turn.on_model_error",
    "continue_cut_off": "durability.continue_cut_off",
    "late_fails": "what durability.timeout_ms means",
    "cut_answer_ends": "what durability.truncated_tool_result None means",
}
