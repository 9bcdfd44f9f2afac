"""The tools of an agent file, ready to be called."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lousho_cli.app.agent_spec import AgentFile, ProviderSpec, ToolEntry
from lousho_cli.app.documents import INVALID
from lousho_cli.app.provider_types import key_variables
from lousho_cli.app.python_targets import load_attribute
from lousho_cli.domain.approvals import Question
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.tool import Issue, Tool, ToolContext, takes_context


def build_tools(agent: AgentFile, offered: Sequence[Tool] = ()) -> list[Tool]:
    """The tools of an agent file, in its order, with its approvals applied. Loads the Python files it names.

    Args:
        offered: the tools of its MCP servers, which come last.

    Raises:
        ConfigurationError: tools can not be made; the detail names them all, ``field`` is the path of the first in the file.
    """
    tools: list[Tool] = []
    wrong: list[ConfigurationError] = []
    for entry in agent.tools:
        try:
            tool = _built(entry, agent)
        except ConfigurationError as error:
            wrong.append(error)
            continue
        if any(tool.name == other.name for other in tools):
            where = entry.field
            wrong.append(ConfigurationError(f"{where}: another tool is called {tool.name} already", field=where, code=INVALID))
        tools.append(tool)
    if len(wrong) > 1:
        raise ConfigurationError("; ".join(one.detail for one in wrong), field=wrong[0].field, code=INVALID, hint=wrong[0].hint)
    if wrong:
        raise wrong[0]
    taken = {tool.name for tool in (*tools, *offered)}
    if len(taken) < len(tools) + len(offered):
        name = next(tool.name for tool in offered if any(tool.name == own.name for own in tools))
        field = f"mcp_servers.{name.partition('__')[0]}"
        raise ConfigurationError(f"{field}: another tool is called {name} already", field=field, code=INVALID)
    tools += offered
    _must_be_known(agent, tools)
    gated = agent.policy.requires_approval
    names = [tool.name for tool in tools] if isinstance(gated, bool) else gated
    return [Gated(tool) if gated and tool.name in names and not _only_asks(tool) else tool for tool in tools]


def _must_be_known(agent: AgentFile, tools: Sequence[Tool]) -> None:
    """The names in a policy. A built-in that this agent does not have may stand among them, a slip may not."""
    from lousho_cli.app.policy_issues import policy_issues
    from lousho_cli.tools.builtin import BUILTINS

    policy = agent.policy
    gated = [] if isinstance(policy.requires_approval, bool) else list(policy.requires_approval)
    named = {"requires_approval": gated, "permissions": [{"tool": rule.tool} for rule in policy.permissions]}
    known = {*BUILTINS, *(tool.name for tool in tools), *(entry.name for entry in agent.subagents)}
    for field, why in policy_issues(named, known):
        raise ConfigurationError(f"{field}: {why}", field=field, code=INVALID)


def _only_asks(tool: Tool) -> bool:
    """Whether it is the tool that asks a person: asking whether to ask helps nobody."""
    return tool.name == "ask-question"


def _built(entry: ToolEntry, agent: AgentFile) -> Tool:
    makers = {"builtin": _builtin, "command": _command, "python": _python, "object": _object}
    try:
        return makers[entry.kind](entry, agent)
    except ConfigurationError as error:
        if error.field.startswith(entry.field):
            raise
        inner = {"command": ".input", "python": ".python"}.get(entry.kind, "")
        where = entry.field + inner + (f".{error.field}" if inner == ".input" and error.field else "")
        raise ConfigurationError(f"{where}: {error.detail}", field=where, code=INVALID, hint=error.hint) from error


def _builtin(entry: ToolEntry, agent: AgentFile) -> Tool:
    from lousho_cli.tools.builtin import BUILTINS

    options: dict[str, Any] = {"needs_approval": entry.needs_approval, "replay": entry.replay}
    if entry.timeout_ms is not None:
        options["timeout_ms"] = entry.timeout_ms
    if entry.name == "shell":
        options["hidden"] = _key_variables(agent)
    tool = BUILTINS[entry.name or ""](agent.workspace, **options)
    if entry.name in _IN_THE_FOLDER:
        tool.uses_host_folder = True  # type: ignore[attr-defined]
    return tool


_IN_THE_FOLDER = ("list-files", "read-file", "write-file", "shell")
"""Tools that work in the folder of the agent file, which is on this host."""


def _key_variables(agent: AgentFile) -> tuple[str, ...]:
    """The variables with keys of models: a command that a model chose must not print them into the log."""
    spec = agent.provider
    own = (*spec.api_key_env, *spec.options.get("headers_env", {}).values()) if isinstance(spec, ProviderSpec) else ()
    return tuple({*key_variables(), *own})


def _command(entry: ToolEntry, agent: AgentFile) -> Tool:
    from lousho_cli.tools.command import CommandTool
    from lousho_cli.tools.running import DEFAULT_TIMEOUT_MS

    return CommandTool(
        entry.name or "",
        entry.description or "",
        entry.command,
        entry.input,
        agent.folder,
        replay=entry.replay,
        needs_approval=bool(entry.needs_approval),
        timeout_ms=entry.timeout_ms or DEFAULT_TIMEOUT_MS,
        env=entry.env,
        read_only=bool(entry.read_only),
        secrets=entry.secrets,
    )


def _python(entry: ToolEntry, agent: AgentFile) -> Tool:
    found = load_attribute(entry.target, agent.folder, f"{entry.field}.python")
    return _tool_of(found, entry)


def _object(entry: ToolEntry, agent: AgentFile) -> Tool:
    return _tool_of(entry.object, entry)


def _tool_of(value: Any, entry: ToolEntry) -> Tool:
    """A function, a tool, or a dictionary of a tool's parts; the entry's own words come first."""
    from lousho_cli.tools.function import function_tool
    from lousho_cli.tools.schema import SchemaTool

    if isinstance(value, Mapping) and callable(value.get("execute")):
        schema: Mapping[str, Any] = next((value[key] for key in ("input", "schema", "parameters") if key in value), {})
        tool: Tool = SchemaTool(
            entry.name or value.get("name", ""),
            entry.description or value.get("description", ""),
            schema,
            value["execute"],
            entry.replay or value.get("replay"),
            value.get("needs_approval", False) if entry.needs_approval is None else entry.needs_approval,
            read_only=bool(value.get("read_only", False) if entry.read_only is None else entry.read_only),
            edits=bool(value.get("edits", False)),
        )
        return tool
    if hasattr(value, "call") and hasattr(value, "schema"):
        changed = {name: item for name in _CHANGEABLE if (item := getattr(entry, name)) is not None}
        return Renamed(value, changed) if changed and entry.kind == "python" else value
    if not callable(value):
        raise ConfigurationError(f"{entry.target or value!r} is no function and no tool", field="")
    return function_tool(
        value,
        name=entry.name,
        description=entry.description,
        replay=entry.replay,
        needs_approval=bool(entry.needs_approval),
        read_only=bool(entry.read_only),
    )


_CHANGEABLE = ("name", "description", "replay", "needs_approval", "read_only")
"""What an entry may say about a tool that is one already."""


class Renamed:
    """A tool under another name, description, replay, approval or word on what it changes; everything else is the tool's own."""

    def __init__(self, tool: Tool, changed: Mapping[str, Any]) -> None:
        self._tool = tool
        self.name: str = changed.get("name", tool.name)
        self.description: str = changed.get("description", tool.description)
        self.replay: Literal["safe", "never"] | None = changed.get("replay", tool.replay)
        self.needs_approval: Any = changed.get("needs_approval", tool.needs_approval)
        self.read_only: bool = changed.get("read_only", getattr(tool, "read_only", False))
        self.edits: bool = getattr(tool, "edits", False)

    @property
    def schema(self) -> Mapping[str, Any]:
        return self._tool.schema

    def validate(self, args: Any) -> tuple[Any, tuple[Issue, ...]]:
        return self._tool.validate(args)

    def question(self, args: Any) -> Question | None:
        return self._tool.question(args)

    async def call(self, args: Any, context: ToolContext) -> Any:
        return await self._tool.call(args, context)

    async def reap(self, pid: int, started: str) -> bool:
        return await self._tool.reap(pid, started)


class Gated(Renamed):
    """A tool that a policy puts behind an approval. The tool's own refusal still stands."""

    def __init__(self, tool: Tool) -> None:
        own = tool.needs_approval
        super().__init__(tool, {"needs_approval": _asking(own) if callable(own) else True})


def _asking(own: Any) -> Any:
    async def needs_approval(args: Any, context: ToolContext | None = None) -> Any:
        outcome = own(args, context) if takes_context(own) else own(args)
        if inspect.isawaitable(outcome):
            outcome = await outcome
        denied = outcome == "deny" or (isinstance(outcome, Mapping) and "deny" in outcome)
        return outcome if denied else True

    return needs_approval
