"""An agent made ready to run: what deciding needs to know of it, and what performing needs to hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from lousho_cli.core.decide import AgentFacts
from lousho_cli.core.fingerprint import fingerprint
from lousho_cli.core.gate import Policy, Replay
from lousho_cli.core.resuming import DriftMode
from lousho_cli.domain import records as r
from lousho_cli.domain.agent import Agent
from lousho_cli.errors import ConfigurationError, ProviderError, RangeError
from lousho_cli.executor.registry import ToolRegistry
from lousho_cli.ports.provider import Provider, ToolSpec
from lousho_cli.ports.tool import Tool, ToolContext

OnModelError = Callable[[ProviderError, int, float], int | None]
"""Asked when a model call failed: the error, how often it was retried, and a number from 0 to 1.

Gives how many milliseconds to wait before the next try, or None to give up.
"""

SandboxExecute = Callable[[Tool, Any, ToolContext], Awaitable[Any]]
"""Runs a tool somewhere else: the tool, its validated arguments and its context."""

Concurrency = int | str | None


class RunSettings(msgspec.Struct, frozen=True):
    """How an agent runs, as a caller may say it; see ``AgentExecutor.execute``."""

    max_steps: int = 10
    tool_concurrency: Concurrency = None
    max_tokens: int | None = None
    approval_ttl_ms: int | None = None
    max_duration_ms: int | None = None
    requires_approval: frozenset[str] | bool = frozenset()
    replay: Replay = "safe"
    interrupted: str | None = None
    interrupted_tool_result: str | None = None
    truncated_tool_result: str | None = None
    on_agent_drift: DriftMode = "warn"
    on_model_error: Any = None
    sandbox_execute: SandboxExecute | None = None
    abort_grace_ms: int | None = None
    config: Any = None


class RunAgent(msgspec.Struct, frozen=True):
    """An agent with its provider, tools and settings."""

    agent: Agent
    provider: Provider
    tools: ToolRegistry
    specs: tuple[ToolSpec, ...]
    facts: AgentFacts
    settings: RunSettings

    @property
    def model(self) -> str | None:
        return self.agent.model or self.provider.model


def run_agent(agent: Agent, provider: Provider, registry: ToolRegistry, settings: RunSettings) -> RunAgent:
    """Checks the settings and makes the agent ready.

    Raises:
        ConfigurationError, RangeError: a setting that makes no sense; ``field`` names it.
    """
    check_settings(settings)
    tools = registry.only(agent.tools)
    specs = tools.specs()
    model = agent.model or provider.model
    begin = r.RunStarted(
        input_id="",
        fingerprint=fingerprint(model, {tool.name: tool.schema for tool in tools.values()}, agent.prompt),
        offered=tuple(tools),
        model=agent.model,
        replay=settings.replay,
        max_steps=settings.max_steps,
        instructions=agent.prompt or None,
        agent_id=agent.agent_id,
        config=settings.config,
    )
    facts = AgentFacts(
        tools=tools,
        begin=begin,
        policy=_policy(settings),
        max_steps=settings.max_steps,
        tool_concurrency=settings.tool_concurrency if isinstance(settings.tool_concurrency, int) else None,
        max_tokens=settings.max_tokens,
        approval_ttl_ms=settings.approval_ttl_ms,
        max_duration_ms=settings.max_duration_ms,
    )
    return RunAgent(agent, provider, tools, specs, facts, settings)


def _policy(settings: RunSettings) -> Policy:
    required = settings.requires_approval
    replay: dict[str | None, Replay | None] = {"rerun": "safe", "report": "never", None: None}
    texts = {
        "interrupted_result": settings.interrupted_tool_result,
        "truncated_result": settings.truncated_tool_result,
    }
    return Policy(
        requires_approval=True if required is True else frozenset(required or ()),
        replay=replay[settings.interrupted],
        **{name: text for name, text in texts.items() if text is not None},
    )


def check_settings(settings: RunSettings) -> None:
    """Raises for a setting out of its range."""
    _whole("max_steps", settings.max_steps, 1)
    if settings.tool_concurrency not in (None, "unbounded"):
        _whole("tool_concurrency", settings.tool_concurrency, 1, " or 'unbounded'")
    if settings.on_agent_drift not in ("warn", "error", "ignore"):
        raise ConfigurationError(
            f"on_agent_drift is {settings.on_agent_drift!r}", field="on_agent_drift", hint="Use warn, error or ignore."
        )
    if settings.interrupted not in (None, "rerun", "report"):
        raise ConfigurationError(f"interrupted is {settings.interrupted!r}", field="interrupted", hint="Use rerun or report.")


def _whole(field: str, value: object, least: int, also: str = "") -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise RangeError(f"{field} is {value!r}", field=field, hint=f"Use a whole number from {least} up{also}.")
