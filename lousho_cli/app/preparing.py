"""An agent file made ready to run: its provider, its tools, and every setting in force.

A setting is the flag's, else the one the unfinished run was recorded with, else that of the
configuration, else the agent file's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from lousho_cli.app.agent_mcp import NOTHING, Offered, servers_of
from lousho_cli.app.agent_spec import AgentFile, Durability, ProviderSpec, SubAgentEntry
from lousho_cli.app.agent_tools import build_tools
from lousho_cli.app.cassettes import open_tape, taped, what_it_does
from lousho_cli.app.config import load_settings
from lousho_cli.app.document_lines import telling_where
from lousho_cli.app.own_credentials import OwnCredentials
from lousho_cli.app.providers import build_provider
from lousho_cli.core.decide import AgentFacts
from lousho_cli.core.retry import RetryPolicy
from lousho_cli.domain.agent import Agent
from lousho_cli.domain.prices import Price
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.pricing import PRICE_UNKNOWN, Prices, pricing_of
from lousho_cli.executor.registry import registry_from
from lousho_cli.executor.run_agent import RunSettings, run_agent
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.ports.provider import Provider
from lousho_cli.ports.tool import Tool
from lousho_cli.providers.known_prices import INSTALL, KnownPrices, prices_installed

if TYPE_CHECKING:
    from lousho_cli.evals.tape import Tape

GRACE_MS = 5_000
"""How long an aborted or stopped run waits for the tools that are running."""


class RunFlags(msgspec.Struct, frozen=True):
    """What a person said on the command line about how to run; None is nothing.

    yes: approve every call as it comes. by: who says so, and who sends the input.
    cassette: the file that the model's answers are recorded to or played from.
    """

    max_steps: int | None = None
    model: str | None = None
    on_drift: str | None = None
    interrupted: str | None = None
    yes: bool = False
    by: str | None = None
    cassette: str | None = None


class Prepared(msgspec.Struct, frozen=True):
    """An agent ready to run. ``settings`` are run settings as ``AgentExecutor.execute`` takes them; ``tape`` is its provider's."""

    file: AgentFile
    agent: Agent
    provider: Provider
    tools: tuple[Tool, ...]
    settings: dict[str, Any]
    warnings: tuple[str, ...] = ()
    tape: Tape | None = None

    @property
    def facts(self) -> AgentFacts:
        """What deciding needs to know of it: to look ahead without running anything."""
        return run_agent(self.agent, self.provider, registry_from(self.tools), RunSettings(**self.settings)).facts


@asynccontextmanager
async def preparing(file: AgentFile, flags: RunFlags, session: Session | None = None) -> AsyncIterator[Prepared]:
    """An agent made ready for a block, with the MCP servers it uses started before and closed behind it.

    Takes and raises what ``prepare`` does.

    Raises:
        McpServerError: a server can not be started or reached.
    """
    async with servers_of(file) as offered:
        yield prepare(file, flags, session, offered)


def prepare(file: AgentFile, flags: RunFlags, session: Session | None = None, offered: Offered = NOTHING) -> Prepared:
    """Makes an agent ready. Loads its Python files; asks no model.

    Args:
        offered: the tools of its MCP servers and of its sub-agents'.
        session: the session it is going to go on with; an unfinished run keeps its own step limit.

    Raises:
        ConfigurationError: something in the file, the configuration or the flags can not be used.
        CassetteError: nor can the cassette.
    """
    settings = load_settings()
    model = settings.model if flags.model is None else _named(flags.model)
    unfinished = session is not None and session.exists and not session.ended
    recorded = session.run.max_steps if session is not None and unfinished else None
    tape = open_tape(flags.cassette, session)
    provider, tools = _parts(file, model, tape, offered)
    prices = prices_of(file, provider)
    refuse_unwatched(file, provider, prices)
    limits, durability = file.policy.limits, file.durability
    return Prepared(
        file=file,
        agent=Agent(name=file.name, prompt=file.prompt),
        provider=provider,
        tools=tools,
        settings={
            "max_steps": flags.max_steps or recorded or settings.max_steps or limits.max_steps,
            "tool_concurrency": file.policy.tool_concurrency,
            "max_tokens": limits.max_tokens,
            "max_input_tokens": limits.max_input_tokens,
            "max_output_tokens": limits.max_output_tokens,
            "max_cost_usd": limits.max_cost_usd,
            "on_exceeded": limits.on_exceeded,
            "prices": prices,
            "permissions": file.policy.permissions,
            "permission_mode": file.policy.mode,
            "max_duration_ms": min((ms for ms in (limits.max_duration_ms, durability.timeout_ms) if ms is not None), default=None),
            "approval_ttl_ms": file.policy.approval_ttl_ms,
            "replay": durability.replay,
            "interrupted": flags.interrupted or settings.interrupted,
            "interrupted_tool_result": durability.interrupted_tool_result,
            "truncated_tool_result": durability.truncated_tool_result,
            "continue_cut_off": durability.continue_cut_off,
            "on_agent_drift": flags.on_drift or settings.on_drift or file.policy.on_agent_drift,
            "on_model_error": _retries(durability),
            "abort_grace_ms": GRACE_MS,
            "subagents": _subagents(file, tape, offered),
            "credentials": OwnCredentials(),
        },
        warnings=what_it_does(tape),
        tape=tape,
    )


def _parts(file: AgentFile, model: str | None, tape: Tape | None, offered: Offered) -> tuple[Provider, tuple[Tool, ...]]:
    """The provider and the tools of a file. What is wrong with them is told with its line, as what is wrong with the file itself."""
    with telling_where(file.path if file.attribute is None else None):
        return taped(build_provider(file, model), tape), tuple(build_tools(file, offered.tools))


def _retries(durability: Durability) -> RetryPolicy | None:
    """Whoever has a crash leave what was written of an answer has a lost connection do so, too."""
    policy = durability.retry
    return None if policy is None else msgspec.structs.replace(policy, continue_partial=durability.continue_cut_off)


def _subagents(file: AgentFile, tape: Tape | None, offered: Offered) -> dict[str, SubAgent]:
    gated = file.policy.requires_approval
    return {
        entry.name: _subagent(entry, gated if isinstance(gated, bool) else entry.name in gated, tape, offered.of(entry.name))
        for entry in file.subagents
    }


def _subagent(entry: SubAgentEntry, gated: bool, tape: Tape | None, offered: Offered) -> SubAgent:
    """A sub-agent as its own file says; how long approvals last, retries and what a cut call means are its lead's.

    ``gated``: the policy of its lead wants a person to approve each of its calls.
    """
    file = entry.file
    provider, tools = _parts(file, None, tape, offered)
    prices = prices_of(file, provider)
    refuse_unwatched(file, provider, prices)
    limits, policy = file.policy.limits, file.policy
    return SubAgent(
        Agent(name=file.name, prompt=file.prompt),
        description=entry.description or f"Hands work to the agent {file.name}: {file.prompt.strip().partition(chr(10))[0]:.200}",
        provider=provider,
        tools=tools,
        max_steps=limits.max_steps,
        max_tokens=limits.max_tokens,
        max_input_tokens=limits.max_input_tokens,
        max_output_tokens=limits.max_output_tokens,
        max_cost_usd=limits.max_cost_usd,
        prices=prices,
        permissions=policy.permissions,
        permission_mode=None if policy.mode == "default" else policy.mode,
        max_duration_ms=limits.max_duration_ms,
        needs_approval=entry.needs_approval or gated,
        subagents=_subagents(file, tape, offered),
        background=entry.background,
    )


def _named(model: str) -> str:
    """What ``--model`` said, where it names a provider too: a bare name would be taken by whichever provider there is."""
    if "/" in model:
        return model
    hint = "Write it as provider/model, such as openai/gpt-5-mini."
    raise ConfigurationError(f"--model {model!r} names no provider", field="model", code="LOUSHO_USAGE", hint=hint)


def prices_of(file: AgentFile, provider: Provider) -> Prices:
    """What the model of a file costs: as the file says, else as is known where the extra ``prices`` is installed.

    The file speaks for its own model at its own service alone, not for one that ``--model`` put in its place.
    """
    spec = file.provider
    said: dict[str, Price] = {}
    if isinstance(spec, ProviderSpec) and spec.price is not None and (provider.name, provider.model) == (spec.type, spec.model):
        said[spec.model] = spec.price
    return [said, KnownPrices()] if prices_installed() else said


def refuse_unwatched(file: AgentFile, provider: Provider, prices: Prices) -> None:
    """Refuses a limit in money where nobody knows what the model costs: a limit nobody watches is worse than none.

    Raises:
        ConfigurationError: ``field`` names it by its path in the file.
    """
    if file.policy.limits.max_cost_usd is None:
        return
    price_of = pricing_of(prices, provider.model, provider)
    if price_of is None or price_of(provider.model or "") is None:
        known = "" if prices_installed() else f" install the known prices ({INSTALL}),"
        raise ConfigurationError(
            f"policy.limits.max_cost_usd can not be kept: the price of {provider.model or 'the model'} is not known",
            field="policy.limits.max_cost_usd",
            code=PRICE_UNKNOWN,
            hint=f"Say it in provider.price: {{ input: …, output: … }}, US dollars for a million tokens,{known} or limit max_tokens.",
        )
