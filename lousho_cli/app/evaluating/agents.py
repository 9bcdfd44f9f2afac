"""The agents that evals are about, made ready once and used by many cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lousho_cli.app.agent_files import agent_from
from lousho_cli.app.agent_spec import AgentFile
from lousho_cli.app.preparing import Prepared, RunFlags, prepare, preparing
from lousho_cli.app.providers import build_provider
from lousho_cli.app.targets import resolve_target
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.sub_agents import SubAgent
from lousho_cli.ports.provider import Provider
from lousho_cli.providers.scripted import ScriptedProvider

if TYPE_CHECKING:
    from lousho_cli.evals.tape import Tape


class EvalAgents:
    """Agents by where they are named and how. Each is read once."""

    def __init__(self) -> None:
        self._files: dict[tuple[Path, Any], AgentFile] = {}
        self._prepared: dict[int, Prepared] = {}
        self._judges: dict[tuple[Path, str], Provider] = {}

    def file_of(self, given: Any, path: Path) -> AgentFile:
        """The agent of an eval.

        Args:
            given: as ``define_eval`` takes it. path: the file of the eval.

        Raises:
            ConfigurationError: there is none, or it is not valid.
        """
        key = (path.parent, given if isinstance(given, str) else id(given))
        if key not in self._files:
            self._files[key] = self._read(given, path)
        return self._files[key]

    @staticmethod
    def _read(given: Any, path: Path) -> AgentFile:
        if isinstance(given, AgentFile):
            return given
        if isinstance(given, Mapping):
            return agent_from(given, folder=path.parent, path=path, attribute="agent")
        try:
            return resolve_target(str(given), path.parent).agent
        except ConfigurationError as error:
            raise ConfigurationError(f"{path.name}: {error.detail}", field="agent", code=error.code, hint=error.hint) from error

    @asynccontextmanager
    async def ready(self, file: AgentFile) -> AsyncIterator[Prepared]:
        """An agent ready to run. One that uses MCP servers gets fresh ones for the block.

        Raises:
            ConfigurationError: something in it can not be used.
            McpServerError: a server can not be started or reached.
        """
        if _uses_servers(file):
            async with preparing(file, RunFlags()) as prepared:
                yield prepared
            return
        if id(file) not in self._prepared:
            self._prepared[id(file)] = prepare(file, RunFlags())
        yield self._prepared[id(file)]

    def judge_of(self, given: Any, path: Path) -> Provider:
        """The model that grades.

        Raises:
            ConfigurationError: its provider can not be configured so.
        """
        if hasattr(given, "stream"):
            provider: Provider = given
            return provider
        key = (path, repr(given))
        if key not in self._judges:
            raw = {"name": "judge", "prompt": "Grade.", "provider": given}
            self._judges[key] = build_provider(agent_from(raw, folder=path.parent, path=path, attribute="judge"))
        return self._judges[key]

    async def close(self) -> None:
        """Closes the connections of every model that was asked."""
        providers = [*self._judges.values(), *(provider for one in self._prepared.values() for provider in _providers(one))]
        for provider in {id(provider): provider for provider in providers}.values():
            leave = getattr(provider, "aclose", None)
            if leave is not None:
                await leave()


def _uses_servers(file: AgentFile) -> bool:
    return bool(file.mcp_servers) or any(_uses_servers(entry.file) for entry in file.subagents)


def _providers(prepared: Prepared) -> list[Provider]:
    return [prepared.provider, *_of_subagents(prepared.settings["subagents"])]


def _of_subagents(subagents: Mapping[str, SubAgent]) -> list[Provider]:
    found: list[Provider] = []
    for one in subagents.values():
        found += [*([one.provider] if one.provider is not None else []), *_of_subagents(one.subagents)]
    return found


def asks_nobody(prepared: Prepared) -> bool:
    """Whether its answers are written down, those of its sub-agents too, so that no model is asked."""
    return all(isinstance(provider, ScriptedProvider) for provider in _providers(prepared))


def on_tape(prepared: Prepared, tape: Tape) -> Prepared:
    """The same agent with its model calls on a cassette, those of its sub-agents too."""
    from lousho_cli.evals.cassette import CassetteProvider

    settings = prepared.settings
    if settings["subagents"]:
        settings = {**settings, "subagents": _taped(settings["subagents"], tape)}
    return msgspec.structs.replace(prepared, provider=CassetteProvider(prepared.provider, tape), settings=settings, tape=tape)


def _taped(subagents: Mapping[str, SubAgent], tape: Tape) -> dict[str, SubAgent]:
    from lousho_cli.evals.cassette import CassetteProvider

    return {
        name: msgspec.structs.replace(
            one,
            provider=CassetteProvider(one.provider, tape) if one.provider is not None else None,
            subagents=_taped(one.subagents, tape),
        )
        for name, one in subagents.items()
    }
