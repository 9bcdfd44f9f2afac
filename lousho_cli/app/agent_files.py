"""Agent files: read, checked as a whole, and given as one frozen value.

``load_agent_file`` reads a file, ``agent_from`` a dictionary that a Python module holds. The
rules of both are those of ``agent_schema`` and ``agent_issues``.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lousho_cli.app.agent_mcp import server_specs
from lousho_cli.app.agent_spec import AgentFile, Durability, Limits, Policy, ProviderSpec, SubAgentEntry, ToolEntry
from lousho_cli.app.documents import INVALID, read_document
from lousho_cli.app.provider_types import FIELDS, TYPES
from lousho_cli.core.background import BackgroundLimits
from lousho_cli.core.permissions import Rule
from lousho_cli.core.retry import RetryPolicy
from lousho_cli.domain.prices import Price
from lousho_cli.errors import ConfigurationError

if TYPE_CHECKING:
    from lousho_cli.app import agent_schema as schema
    from lousho_cli.app.agent_issues import Wrong

UNKNOWN_FIELD = "LOUSHO_SPEC_UNKNOWN_FIELD"
UNSUPPORTED = "LOUSHO_SPEC_UNSUPPORTED"


def load_agent_file(path: Path, within: tuple[Path, ...] = ()) -> AgentFile:
    """Reads an agent file, and those of its sub-agents.

    Args:
        within: the files of the agents it is a sub-agent of, outermost first.

    Raises:
        ConfigurationError: there is none, or something in it is wrong; the detail names every wrong
            field by its path, ``field`` is the first. Codes: ``LOUSHO_SPEC_NOT_FOUND``,
            ``…_UNSUPPORTED_FORMAT``, ``…_INVALID``, ``…_UNKNOWN_FIELD``, ``…_UNSUPPORTED``.
    """
    from lousho_cli.app.document_lines import telling_where

    path = path.absolute()
    with telling_where(path):
        return agent_from(read_document(path), folder=path.parent, path=path, within=within)


def agent_from(value: Any, *, folder: Path, path: Path, attribute: str | None = None, within: tuple[Path, ...] = ()) -> AgentFile:
    """Reads an agent given as data. In a module, ``tools`` may hold functions and tools, and ``provider`` a provider.

    Args:
        folder: what relative paths start from.
        path: the file it comes from. attribute: the name it has in a module. within: as for ``load_agent_file``.

    Raises:
        ConfigurationError: like ``load_agent_file``.
    """
    shown = f"{path.name}:{attribute}" if attribute else path.name
    if not isinstance(value, Mapping):
        what = "is empty" if value is None else "must hold a mapping with name, prompt and provider"
        hint = "Its fields: lousho schema agent; lousho init writes one that works."
        raise ConfigurationError(f"{shown} {what}", field="(root)", code=INVALID, hint=hint)
    raw = dict(value)
    given = _take_objects(raw)
    provider = raw.get("provider")
    if hasattr(provider, "stream"):
        raw["provider"] = {"type": "scripted", "turns": [""]}  # stands in while the rest is checked
    source = path if attribute is None else None
    checked = _checked(raw, shown, given, folder, source)
    return AgentFile(
        name=checked.name,
        prompt=checked.prompt,
        provider=provider if hasattr(provider, "stream") else _provider(checked.provider, folder, shown),
        folder=folder,
        workspace=folder,
        tools=_entries(checked.tools, given),
        policy=_policy(checked.policy),
        durability=_durability(checked.durability),
        notify=tuple(tuple(shlex.split(line)) if isinstance(line, str) else tuple(line) for line in checked.notify),
        subagents=_subagents(checked.subagents, folder, (*within, path.resolve())),
        mcp_servers=server_specs(checked.mcp_servers, folder),
        path=path,
        attribute=attribute,
    )


def _subagents(given: Mapping[str, str | schema.SubAgent], folder: Path, within: tuple[Path, ...]) -> tuple[SubAgentEntry, ...]:
    return tuple(_subagent(name, entry, folder, within) for name, entry in given.items())


def _subagent(name: str, entry: str | schema.SubAgent, folder: Path, within: tuple[Path, ...]) -> SubAgentEntry:
    field = f"subagents.{name}"
    file = folder / (entry if isinstance(entry, str) else entry.agent)
    if file.resolve() in within:
        raise ConfigurationError(f"{field}: {file.name} would be a sub-agent of itself", field=field, code=INVALID)
    try:
        loaded = load_agent_file(file, within)
    except ConfigurationError as error:
        raise ConfigurationError(f"{field}: {error.detail}", field=field, code=error.code, hint=error.hint) from error
    if isinstance(entry, str):
        return SubAgentEntry(name, loaded)
    return SubAgentEntry(name, loaded, entry.description, entry.needs_approval, entry.background)


def _take_objects(raw: dict[str, Any]) -> dict[int, ToolEntry]:
    """Takes functions and tools out of the list, which then holds data alone; keeps the place of each."""
    tools = raw.get("tools")
    if not isinstance(tools, Sequence) or isinstance(tools, str):
        return {}
    given = {
        number: ToolEntry("object", name=_name_of(item), object=item, field=f"tools.{number}")
        for number, item in enumerate(tools)
        if _is_object(item)
    }
    raw["tools"] = [item for number, item in enumerate(tools) if number not in given]
    return given


def _is_object(item: Any) -> bool:
    return callable(item) or hasattr(item, "call") or (isinstance(item, Mapping) and callable(item.get("execute")))


def _name_of(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, Mapping) else getattr(item, "name", None) or getattr(item, "__name__", None)
    return name if isinstance(name, str) else None


def _checked(raw: dict[str, Any], shown: str, given: Mapping[int, ToolEntry], folder: Path, source: Path | None) -> schema.AgentModel:
    from pydantic import ValidationError

    from lousho_cli.app.agent_issues import meaning_issues, shape_issues
    from lousho_cli.app.agent_schema import AgentModel

    wrong: list[Wrong] = []
    rest = dict(raw)
    checked = None
    try:
        checked = AgentModel.model_validate(rest)
    except ValidationError as error:
        wrong += shape_issues(error)
    names = [entry.name for entry in given.values() if entry.name]
    wrong += [issue for issue in meaning_issues(rest, names) if issue.path not in {other.path for other in wrong}]
    wrong += _notify_issues(rest.get("notify"))
    wrong += _script_issues(rest.get("provider"), folder)
    if wrong:
        wrong += _python_issues(rest.get("tools"), folder)
    if wrong or checked is None:
        raise refused(shown, [msgspec.structs.replace(issue, path=_place(issue.path, given)) for issue in wrong], source)
    return checked


def _place(path: str, given: Mapping[int, ToolEntry]) -> str:
    """A path into the list of tools as it was before ``_take_objects``."""
    first, *rest = path.split(".")
    if first != "tools" or not rest or not given:
        return path
    number = int(rest[0])
    places = (place for place in range(number + len(given) + 1) if place not in given)
    return ".".join(["tools", str(next(islice(places, number, None))), *rest[1:]])


def _notify_issues(lines: Any) -> list[Wrong]:
    from lousho_cli.app.agent_issues import Wrong

    wrong = []
    for number, line in enumerate(lines if isinstance(lines, list) else []):
        try:
            words = shlex.split(line) if isinstance(line, str) else line
        except ValueError as error:
            wrong.append(Wrong(f"notify.{number}", str(error).lower()))
            continue
        if isinstance(line, str) and line and not words:
            wrong.append(Wrong(f"notify.{number}", "must not be empty"))
    return wrong


def _script_issues(provider: Any, folder: Path) -> list[Wrong]:
    """What is wrong in a script. One that has no script, or whose file can not be read, is told of elsewhere."""
    from lousho_cli.app.agent_issues import Wrong
    from lousho_cli.providers.script import script_issues

    if not isinstance(provider, Mapping) or provider.get("type") != "scripted":
        return []
    turns, file, field = provider.get("turns"), provider.get("turns_file"), "provider.turns"
    if isinstance(file, str) and turns is None:
        field = "provider.turns_file"
        try:
            turns = _turns_of(folder / file, field)
        except ConfigurationError:
            return []
    if not isinstance(turns, Sequence) or isinstance(turns, str):
        return []
    found = []
    for one in script_issues(turns, field):
        said = one.detail.removeprefix(f"{one.field} ") + (f"; {one.hint[:1].lower()}{one.hint[1:]}" if one.hint else "")
        found.append(Wrong(one.field, said.rstrip(".")))
    return found


def _python_issues(tools: Any, folder: Path) -> list[Wrong]:
    """Python tools that can not be loaded. Asked only where something else is wrong; else the building of the tools says it."""
    from lousho_cli.app.agent_issues import Wrong
    from lousho_cli.app.python_targets import load_attribute

    found = []
    for number, entry in enumerate(tools if isinstance(tools, list) else []):
        address = entry.get("python") if isinstance(entry, Mapping) else None
        if isinstance(address, str) and ".py:" in address:
            field = f"tools.{number}.python"
            try:
                load_attribute(address, folder, field)
            except ConfigurationError as error:
                found.append(Wrong(field, error.detail.removeprefix(f"{field}: ")))
    return found


def refused(shown: str, wrong: Sequence[Wrong], path: Path | None) -> ConfigurationError:
    """The error that names everything wrong with an agent file, each with its line where the file has lines to name."""
    from lousho_cli.app.document_lines import with_lines

    kinds = {issue.kind for issue in wrong}
    code = {"unknown": UNKNOWN_FIELD, "unsupported": UNSUPPORTED}.get(next(iter(kinds)), INVALID) if len(kinds) == 1 else INVALID
    told = with_lines(path, [(issue.path, issue.message) for issue in wrong])
    return ConfigurationError(
        f"{shown} is not a valid agent file: {told}", field=wrong[0].path, code=code, hint="Its fields: lousho schema agent."
    )


def _provider(given: schema.Provider, folder: Path, shown: str) -> ProviderSpec:
    if given.type == "scripted":
        turns = _turns(given, folder, shown)
        model, file = given.model or "scripted", None if given.turns_file is None else folder / given.turns_file
        price = _price(given.price)
        return ProviderSpec("scripted", model, turns=turns, repeat_last=given.repeat_last, price=price, turns_file=file)
    preset = TYPES[given.type]
    keys = preset.keys if given.api_key_env is None else (given.api_key_env,) if given.api_key_env else ()
    options = {}
    for name in sorted(FIELDS[preset.wire] - {"base_url", "api_key_env"}):
        value = getattr(given, name)
        if name == "ca_file" and value is not None:
            value = str(folder / Path(value).expanduser())
        if value is not None and value != {}:
            options[f"{name}_ms" if name.endswith("_timeout") else name] = value
    return ProviderSpec(
        given.type,
        given.model or preset.model or "",
        base_url=given.base_url or preset.base_url,
        api_key_env=keys,
        options=options,
        price=_price(given.price),
    )


def _price(given: schema.Price | None) -> Price | None:
    return None if given is None else Price(given.input, given.output, given.cached_input, given.cache_write)


def _turns(given: schema.Provider, folder: Path, shown: str) -> tuple[Any, ...]:
    """The entries of a script, checked: a wrong one is better named now than in the middle of a run."""
    from lousho_cli.providers.script import read_script

    turns, field = given.turns, "provider.turns"
    if given.turns_file is not None:
        field = "provider.turns_file"
        turns = _turns_of(folder / given.turns_file, field)
    try:
        read_script(turns, field)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{shown} is not a valid agent file: {error.detail}", field=error.field, code=INVALID, hint=error.hint
        ) from None
    return tuple(turns or ())


def _turns_of(path: Path, field: str) -> Any:
    """The list in a file of turns, which may stand under a key ``turns``."""
    turns = read_document(path, field)
    return turns["turns"] if isinstance(turns, Mapping) and set(turns) == {"turns"} else turns


def _entries(listed: Sequence[str | schema.Tool], given: Mapping[int, ToolEntry]) -> tuple[ToolEntry, ...]:
    rest = iter(listed)
    return tuple(given.get(number) or _entry(next(rest), f"tools.{number}") for number in range(len(listed) + len(given)))


def _entry(tool: str | schema.Tool, field: str) -> ToolEntry:
    if isinstance(tool, str):
        return ToolEntry("builtin", name=tool, field=field)
    return ToolEntry(
        kind="python" if tool.python else "command" if tool.command else "builtin",
        name=tool.name,
        description=tool.description,
        command=tuple(tool.command or ()),
        input=dict(tool.input or {}),
        target=tool.python or "",
        replay=tool.replay,
        needs_approval=tool.needs_approval,
        read_only=tool.read_only,
        timeout_ms=tool.timeout,
        env=dict(tool.env or {}),
        secrets=tuple(tool.secrets or ()),
        field=field,
    )


def _policy(given: schema.Policy) -> Policy:
    limits, gated, concurrency = given.limits, given.requires_approval, given.tool_concurrency
    return Policy(
        requires_approval=gated if isinstance(gated, bool) else tuple(gated),
        limits=Limits(
            limits.max_steps,
            limits.max_tokens,
            limits.max_cost_usd,
            limits.max_duration,
            limits.max_input_tokens,
            limits.max_output_tokens,
            limits.on_exceeded,
            BackgroundLimits(limits.background_depth, limits.background_running, limits.background_started),
        ),
        approval_ttl_ms=given.approval_ttl,
        tool_concurrency=concurrency if isinstance(concurrency, int) else None,
        on_agent_drift=given.on_agent_drift,
        permissions=tuple(Rule(rule.tool, rule.action, dict(rule.when), rule.reason, rule.ttl) for rule in given.permissions),
        mode=given.mode,
    )


def _durability(given: schema.Durability) -> Durability:
    retry = given.retry
    if isinstance(retry, bool):
        policy = RetryPolicy() if retry else None
    else:
        policy = RetryPolicy(retry.max_retries, retry.base_delay, retry.max_retry_after)
    return Durability(
        max_attempts=given.max_attempts,
        timeout_ms=given.timeout,
        replay=given.replay,
        continue_cut_off=given.continue_cut_off,
        history_limit=given.history_limit,
        retry=policy,
        interrupted_tool_result=given.interrupted_tool_result,
        truncated_tool_result=given.truncated_tool_result,
        resume_background_agents=given.resume_background_agents,
    )
