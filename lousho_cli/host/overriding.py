"""What one turn wants otherwise than its harness: another model, another provider, other tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lousho_cli.core.sub_agents import facts_of
from lousho_cli.domain.plain import text_of
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.registry import ToolRegistry, registry_from
from lousho_cli.executor.run_agent import RunAgent, run_agent


def with_overrides(agent: RunAgent, overrides: Mapping[str, Any]) -> RunAgent:
    """The agent as ``overrides`` want it.

    ``model`` is a name, ``adapter`` a provider, ``tools`` a list or mapping; ``model_options``, ``reasoning`` and
    ``prompt_cache`` go to the provider as they are (``ModelRequest``). Others say nothing to it.

    Raises:
        ConfigurationError: one of them can not be used; ``field`` names it.
    """
    asks = {name: overrides[name] for name in ("model_options", "reasoning", "prompt_cache") if overrides.get(name) is not None}
    if asks:
        agent = msgspec.structs.replace(agent, asks={**agent.asks, **asks})
    wanted = {name: overrides[name] for name in ("model", "adapter", "tools") if overrides.get(name) is not None}
    if not wanted:
        return agent
    own = agent.agent
    if "model" in wanted:
        if not isinstance(wanted["model"], str):
            raise ConfigurationError("the model of an override is a name", field="overrides.model")
        own = msgspec.structs.replace(own, model=text_of(wanted["model"]))
    tools = registry_from(wanted["tools"]) if "tools" in wanted else ToolRegistry(t for t in agent.tools.values() if facts_of(t) is None)
    own = msgspec.structs.replace(own, tools=None)  # those of the registry, which were picked already
    made = run_agent(own, wanted.get("adapter") or agent.provider, tools, agent.settings, agent.facts.begin.config)
    policy = msgspec.structs.replace(made.facts.policy, standing=agent.facts.policy.standing)
    facts = msgspec.structs.replace(made.facts, policy=policy)
    return msgspec.structs.replace(made, facts=facts, asks=agent.asks, ephemeral=agent.ephemeral)
