"""The tools a run may use, by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lousho_cli.domain.plain import plain
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.provider import ToolSpec
from lousho_cli.ports.tool import Tool


class ToolRegistry(Mapping[str, Tool]):
    """Tools by name, in the order they were given. Frozen once made.

    Raises:
        ConfigurationError: two tools of one name, or something that is no tool.
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            _must_be_tool(tool)
            if tool.name in self._tools:
                raise ConfigurationError(f"two tools are called {tool.name}", field="tools", hint="Rename one of them.")
            self._tools[tool.name] = tool

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self._tools.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def only(self, names: Iterable[str] | None) -> ToolRegistry:
        """The tools of these names, as far as they are here; all for None."""
        return self if names is None else ToolRegistry(self._tools[name] for name in names if name in self._tools)

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as a model is told of them."""
        return tuple(ToolSpec(tool.name, tool.description, dict(tool.schema)) for tool in self._tools.values())


def _must_be_tool(value: object) -> None:
    missing = [name for name in ("name", "description", "schema", "validate", "call") if not hasattr(value, name)]
    if missing:
        raise ConfigurationError(
            f"{value!r:.80} is no tool: it has no {missing[0]}",
            field="tools",
            hint="Make one with define_tool() or function_tool().",
        )
    name: object = getattr(value, "name")  # noqa: B009 - it is anybody's object
    if not isinstance(name, str) or not name or plain(name)[1]:
        raise ConfigurationError(f"a tool is called {plain(name)[0]!r:.60}", field="tools", hint="Give it a name of letters and digits.")


def registry_from(value: ToolRegistry | Mapping[str, Tool] | Iterable[Tool] | None) -> ToolRegistry:
    """Reads what a caller may pass: a registry, a mapping by name, a list, or nothing.

    Raises:
        ConfigurationError: it is something else, or holds something that is no tool.
    """
    if value is None:
        return ToolRegistry()
    if isinstance(value, ToolRegistry):
        return value
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ConfigurationError(f"the tools are a {type(value).__name__}", field="tools", hint="Use a list of tools.")
    return ToolRegistry(value.values() if isinstance(value, Mapping) else value)
