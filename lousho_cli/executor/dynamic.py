"""Agents whose instructions, tools or model are functions: asked once a run's input is known, and again when the run goes on.

What they are asked with and the model they chose are recorded where the run begins. Whoever goes on with
an unfinished run, in whatever process, asks them with the same again and keeps the model, so that a run does not
change its agent because it was cut. The next message of a finished session is a new run and asks afresh.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

import msgspec

from lousho_cli.domain.agent import Agent, agent_fields, agent_from
from lousho_cli.domain.messages import Message, messages_from
from lousho_cli.domain.plain import plain, text_of
from lousho_cli.domain.session import Session
from lousho_cli.errors import AbortedError, ConfigurationError, SDKError
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.interrupts import ESCAPES, INTERRUPTED, is_cancelled, unless_aborted
from lousho_cli.executor.registry import ToolRegistry
from lousho_cli.executor.run_agent import RunAgent, RunSettings, check_provider, check_settings, run_agent
from lousho_cli.ports.provider import Provider

FAILED = "LOUSHO_CONFIG_RESOLVER_FAILED"


class AgentContext(msgspec.Struct, frozen=True):
    """What the functions of an agent are asked with; it is kept with the run.

    input: the new messages the run began with. metadata: what the caller gave as ``metadata``, plain JSON.
    session_id: None for a run that nobody can find again.
    """

    input: tuple[Message, ...] = ()
    metadata: dict[str, Any] = {}
    session_id: str | None = None


class AgentSource(Protocol):
    """Where a run gets its agent from once the session it is for is known."""

    async def agent_for(self, session: Session, new: Sequence[Message], session_id: str | None, signal: AbortSignal) -> RunAgent:
        """The agent that goes on with ``session``, or begins its next run with the messages ``new``.

        Raises:
            ConfigurationError: a function of the agent failed, or gave what can not be used.
            AbortedError: the signal fired while one was waited for.
        """


class FixedAgent:
    """An agent that is always the same."""

    def __init__(self, agent: RunAgent) -> None:
        self._agent = agent

    async def agent_for(self, session: Session, new: Sequence[Message], session_id: str | None, signal: AbortSignal) -> RunAgent:
        return self._agent


class DynamicAgent:
    """An agent of which at least one part is a function.

    Args:
        fixed: what is no function. resolvers: the functions, by the field of ``Agent`` they give.
        metadata: the caller's, for a run that begins.
    """

    def __init__(
        self,
        fixed: Agent,
        resolvers: Mapping[str, Callable[[AgentContext], Any]],
        provider: Provider,
        registry: ToolRegistry,
        settings: RunSettings,
        metadata: Mapping[str, Any],
    ) -> None:
        self._fixed, self._resolvers = fixed, resolvers
        self._provider, self._registry, self._settings = provider, registry, settings
        self._metadata = metadata

    async def agent_for(self, session: Session, new: Sequence[Message], session_id: str | None, signal: AbortSignal) -> RunAgent:
        saved = _saved(session.run.config) if session.exists and not session.ended else None
        if saved is not None:
            return await self._resolved(saved, session_id, signal)
        begins = session.ended or not session.exists
        if begins and not new:
            return self._made(msgspec.structs.replace(self._fixed, tools=()), ToolRegistry(), None)  # it will run nothing
        return await self._resolved({"ctx": {"input": new, "metadata": self._metadata}}, session_id, signal, keep=begins)

    async def _resolved(self, config: Mapping[str, Any], session_id: str | None, signal: AbortSignal, *, keep: bool = True) -> RunAgent:
        """The agent that the functions give for ``config``; a model in it is taken as it is. ``keep``: a run records it."""
        saved = plain(config)[0]
        agent, registry = self._fixed, self._registry
        for field, resolver in self._resolvers.items():
            if field == "model" and "model" in saved:
                continue
            given = await self._ask(field, resolver, _context(saved["ctx"], session_id), signal)
            if field == "tools":
                registry, names = _tools_from(given, registry)
                agent = msgspec.structs.replace(agent, tools=names)
            else:
                agent = msgspec.structs.replace(agent, **{field: _text_from(field, given)})
        if "model" in saved:
            agent = msgspec.structs.replace(agent, model=saved["model"])
        return self._made(agent, registry, {"ctx": saved["ctx"], "model": agent.model} if keep else None)

    def _made(self, agent: Agent, registry: ToolRegistry, config: Any) -> RunAgent:
        return run_agent(agent, self._provider, registry, self._settings, config)

    async def _ask(self, field: str, resolver: Callable[[AgentContext], Any], context: AgentContext, signal: AbortSignal) -> Any:
        try:
            value = resolver(context)
            if inspect.isawaitable(value):
                value = await unless_aborted(signal, value)
            # What comes out piece by piece is the function's own code too.
            value = list(value) if isinstance(value, Iterator) else value
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            raise _failed(field, "was cancelled from inside") from error
        except (Exception, *ESCAPES) as error:
            said = error.detail if isinstance(error, SDKError) else text_of(error)
            raise _failed(field, f"failed: {type(error).__name__}: {said[:300]}".rstrip(": ")) from error
        if value is INTERRUPTED and signal.aborted:
            raise AbortedError("the run was aborted before its agent was known", hint="Nothing was written; run it again.")
        return value


def agent_source(
    agent: Agent | Mapping[str, Any],
    provider: Provider,
    registry: ToolRegistry,
    settings: RunSettings,
    metadata: Mapping[str, Any] | None = None,
) -> AgentSource:
    """Reads an agent whose ``prompt`` (or ``instructions``), ``tools`` and ``model`` may each be a function of an ``AgentContext``.

    A function is sync or async. One for the tools gives names of the registry, tools, or both.

    Raises:
        ConfigurationError, RangeError: what is no function, a setting, or the metadata makes no sense.
    """
    kept = _metadata_from(metadata)
    fixed, resolvers = any_agent_from(agent)
    if not resolvers:
        return FixedAgent(run_agent(fixed, provider, registry, settings))
    check_settings(settings)
    check_provider(provider)
    return DynamicAgent(fixed, resolvers, provider, registry, settings, kept)


def any_agent_from(agent: Agent | Mapping[str, Any]) -> tuple[Agent, dict[str, Callable[[AgentContext], Any]]]:
    """The parts of an agent that are fixed, and those that are functions, by field.

    Raises:
        ConfigurationError: it is no agent.
    """
    fields = agent_fields(agent)
    resolvers = {name: fields.pop(name) for name in ("prompt", "tools", "model") if callable(fields.get(name))}
    return agent_from(fields), resolvers


def _metadata_from(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    kept, altered = plain(dict(value)) if isinstance(value, Mapping) else ({}, True)
    if altered:
        raise ConfigurationError(
            "the metadata holds what JSON does not, so it could not be kept with the run",
            field="metadata",
            hint="Use a dictionary of text, finite numbers, True, False, None, lists and dictionaries.",
        )
    return cast("dict[str, Any]", kept)


def _saved(config: Any) -> Mapping[str, Any] | None:
    """What a run was begun with, None where it was not kept: by a fixed agent, or before this was."""
    if not isinstance(config, Mapping) or not isinstance(config.get("ctx"), Mapping):
        return None
    chosen = isinstance(config.get("model", ""), str | None) and "model" in config
    return {"ctx": config["ctx"]} | ({"model": config["model"]} if chosen else {})


def _context(ctx: Mapping[str, Any], session_id: str | None) -> AgentContext:
    """A context of its own for each function, so that none can change what another sees, or what is kept."""
    return AgentContext(messages_from(ctx.get("input") or []), plain(ctx.get("metadata") or {})[0], session_id)


def _text_from(field: str, given: Any) -> str | None:
    if given is None:
        return "" if field == "prompt" else None
    if not isinstance(given, str):
        raise _failed(field, f"gave a {type(given).__name__}, not text")
    return text_of(given)


def _tools_from(given: Any, registry: ToolRegistry) -> tuple[ToolRegistry, tuple[str, ...]]:
    """The tools a function gave, and their names; a name of none is passed over, as in a fixed agent. None leaves all there are."""
    if given is None:
        return registry, tuple(registry)
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _failed("tools", f"gave a {type(given).__name__}, not a list of names or tools")
    items = given.values() if isinstance(given, Mapping) else given
    there = [item for item in items if not isinstance(item, str) or item in registry]
    try:
        chosen = ToolRegistry(registry[item] if isinstance(item, str) else item for item in there)
    except ConfigurationError as error:
        raise _failed("tools", f"gave what can not be used: {error.detail}") from error
    return chosen, tuple(chosen)


_WORDS = {"prompt": "instructions"}


def _failed(field: str, why: str) -> ConfigurationError:
    name = _WORDS.get(field, field)
    return ConfigurationError(
        f"the {name} function of the agent {why}",
        field=f"agent.{name}",
        code=FAILED,
        hint="Nothing was written. Mend it and run again.",
    )
