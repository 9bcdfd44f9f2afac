"""Sub-agents as a caller names them, and as their lead's model sees them: tools that take an input and give an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from lousho_cli.core.decide import AgentFacts
from lousho_cli.core.permissions import Mode
from lousho_cli.core.sub_agents import in_background
from lousho_cli.domain.agent import Agent
from lousho_cli.domain.approvals import Question
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.pricing import Prices
from lousho_cli.ports.provider import Provider
from lousho_cli.ports.tool import Issue, ToolContext

INPUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "What it should do, with all it needs to know."}},
    "required": ["input"],
}
"""The arguments of a call that starts a sub-agent."""

BACKGROUND_SCHEMA: Mapping[str, Any] = {
    **INPUT_SCHEMA,
    "properties": {
        **INPUT_SCHEMA["properties"],
        "background": {"type": "boolean", "description": "Go on at once; you are told when it has ended."},
    },
}
"""Those where it may also run in the background."""


class SubAgent(msgspec.Struct, frozen=True):
    """An agent that another may hand work to, as a tool of its name.

    agent: as for ``AgentExecutor.execute``; it is given as it is, not as a function.
    description: what the lead's model is told of it.
    provider: None takes the lead's. tools: those of its own, by name or as a list.
    max_steps, max_tokens, max_duration_ms, requires_approval: limits of each of its runs; what is not
        named here holds for it as for its lead.
    needs_approval: whether a person must agree before it starts; as for any tool.
    subagents: those it may hand work to itself.
    max_input_tokens, max_output_tokens, max_cost_usd: limits of each of its runs; None takes the lead's.
    permissions: rules that are tried behind the lead's. permission_mode: None takes the lead's.
    prices: what its model costs where it asks; None takes the lead's.
    background: whether the model may have it run beside the thread instead of waiting for it; where a host looks after threads.
    """

    agent: Agent | Mapping[str, Any]
    description: str = ""
    provider: Provider | None = None
    tools: Any = None
    max_steps: int = 10
    max_tokens: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_cost_usd: float | None = None
    max_duration_ms: int | None = None
    requires_approval: Iterable[str] | bool = ()
    needs_approval: Any = False
    subagents: Mapping[str, Any] = {}
    permissions: Sequence[Any] = ()
    permission_mode: Mode | None = None
    prices: Prices = None
    background: bool = False


class Ready(Protocol):
    """An agent made ready to run (see ``run_agent.RunAgent``)."""

    @property
    def facts(self) -> AgentFacts: ...


class SubAgentTool:
    """A sub-agent as its lead sees it: a tool that takes an input and gives an answer."""

    replay: Literal["safe", "never"] | None = None

    def __init__(self, name: str, description: str, ready: Ready, needs_approval: Any = False, *, background: bool = False) -> None:
        self.name, self.description, self.ready = name, description, ready
        self.needs_approval, self.background = needs_approval, background

    @property
    def schema(self) -> Mapping[str, Any]:
        return BACKGROUND_SCHEMA if self.background else INPUT_SCHEMA

    @property
    def facts(self) -> AgentFacts:
        """What deciding needs to know of the agent behind it."""
        return self.ready.facts

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        if not isinstance(args, Mapping) or not isinstance(args.get("input"), str):
            return args, (Issue("input", "is required, as text"),)
        known = ("input", "background") if self.background else ("input",)
        wrong = [Issue(str(name), "is not an argument of this tool") for name in args if name not in known]
        if self.background and not isinstance(args.get("background", False), bool):
            wrong.append(Issue("background", "is true or false"))
        return args, tuple(wrong)

    def question(self, args: Any) -> Question | None:
        return None

    async def call(self, args: Any, context: ToolContext) -> Any:
        """Has it run in the background. Else never asked: a driver drives what is behind it."""
        if not in_background(args):
            raise ConfigurationError(f"{self.name} is a sub-agent and runs only inside a run", field="tools")
        if context.in_background is None:
            raise ConfigurationError(f"{self.name} can not run in the background here", field="background", hint="Leave background out.")
        return await context.in_background(self.name, args["input"])

    async def reap(self, pid: int, started: str) -> bool:
        return False


def sub_agent_from(name: str, value: Any) -> SubAgent:
    """Reads what a caller may name as a sub-agent: a ``SubAgent``, a dictionary with its fields, or an ``Agent``.

    Raises:
        ConfigurationError: it is none of these; ``field`` names it.
    """
    if isinstance(value, SubAgent):
        return value
    if isinstance(value, Agent):
        return SubAgent(value)
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - set(SubAgent.__struct_fields__))
        if not unknown and "agent" in value:
            return SubAgent(**value)
        wrong = f"it has no {unknown[0]}" if unknown else "it names no agent"
        raise ConfigurationError(f"the sub-agent {name} is not valid: {wrong}", field=f"subagents.{name}")
    raise ConfigurationError(f"the sub-agent {name} is a {type(value).__name__}", field=f"subagents.{name}", hint="Use a SubAgent.")
