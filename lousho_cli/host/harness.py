"""A harness: an agent, the model it asks, and how its runs live on when a host dies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from lousho_cli.core.resuming import DriftMode
from lousho_cli.errors import ConfigurationError, RangeError
from lousho_cli.executor.agent_options import settings_among
from lousho_cli.executor.dynamic import AgentSource, agent_source
from lousho_cli.executor.registry import registry_from
from lousho_cli.executor.run_agent import RunSettings
from lousho_cli.host.options import option_from
from lousho_cli.ports.provider import Provider
from lousho_cli.ports.tool import Tool

MAX_STEPS = 50


class Durability(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the runs of a harness live on.

    max_attempts: how often one input may be run, the first time included.
    timeout_ms: from its first run on; a further attempt does not move it. None for no limit.
    recover: asked for each input that a host left; see ``HarnessHost``.
    interrupted_tool_result, truncated_tool_result: what the model reads of a call that was cut; None for our own words.
    replay: what becomes of a cut call whose tool says nothing itself.
    """

    max_attempts: int = 10
    timeout_ms: int | None = None
    recover: Callable[..., Any] | None = None
    interrupted_tool_result: str | None = None
    truncated_tool_result: str | None = None
    continue_cut_off: bool | Mapping[str, Any] = False
    resume_background_agents: bool = True
    replay: Literal["safe", "never"] = "never"


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """on_model_error: asked when a model call failed, such as ``retry_transient_errors()``; None for no retries."""

    on_model_error: Any = None


class Harness(msgspec.Struct, frozen=True):
    """What ``define_harness`` gives. ``source`` makes the agent for a session."""

    name: str
    source: AgentSource
    durability: Durability = Durability()
    on_agent_drift: DriftMode = "warn"


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
    **options: Any,
) -> Harness:
    """An agent that hosts can run.

    Args:
        name: tells the harnesses of a host apart; stored with each thread.
        adapter: the model, any ``Provider``.
        instructions, model: text, or a function of an ``AgentContext``; ``tools`` are its tools.
        options: of ``AgentExecutor.execute`` that hold for every run, such as ``max_steps`` (50), ``permissions``, ``hooks``.

    Raises:
        ConfigurationError, RangeError: something makes no sense; ``field`` names it.
    """
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError("a harness has a name", field="name")
    lives_on = option_from("durability", durability, Durability)
    if lives_on.max_attempts < 1:
        raise RangeError(f"durability.max_attempts is {lives_on.max_attempts}", field="durability.max_attempts", hint="Use 1 or more.")
    settings = _settings(lives_on, option_from("turn", turn, Turn), on_agent_drift, options)
    agent = {"name": name, "prompt": instructions, **({} if model is None else {"model": model})}
    return Harness(name, agent_source(agent, adapter, registry_from(tools), settings), lives_on, on_agent_drift)


def _settings(durability: Durability, turn: Turn, on_agent_drift: DriftMode, options: Mapping[str, Any]) -> RunSettings:
    for name in options:
        if name not in RunSettings.__struct_fields__ or name in _ELSEWHERE:
            said = f"It is {_ELSEWHERE[name]} here." if name in _ELSEWHERE else "It takes the options of AgentExecutor.execute."
            raise ConfigurationError(f"define_harness has no option {name}", field=name, hint=said)
    return settings_among(
        {
            "max_steps": MAX_STEPS,
            **options,
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
}
