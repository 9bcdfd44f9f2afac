"""The agent as a run knows it, and the fingerprint that tells whether it changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lousho_cli.domain.plain import plain
from lousho_cli.errors import ConfigurationError


class Agent(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An agent: a name, instructions, a model, and the names of its tools.

    ``tools`` None means every tool of the registry it runs with. ``id`` defaults to the name.
    """

    name: str
    prompt: str = ""
    model: str | None = None
    tools: tuple[str, ...] | None = None
    id: str = ""

    @property
    def agent_id(self) -> str:
        return self.id or self.name


def agent_from(value: Agent | Mapping[str, Any]) -> Agent:
    """Reads an agent; a dictionary may say ``instructions`` for ``prompt`` and give tools by name.

    What it gives can be stored as it is, whatever an ``Agent`` was made of.

    Raises:
        ConfigurationError: no name, or a field of the wrong kind.
    """
    try:
        return msgspec.convert(plain(agent_fields(value))[0], Agent)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"the agent is not valid: {error}", field="agent") from error


def agent_fields(value: Agent | Mapping[str, Any]) -> dict[str, Any]:
    """The fields that an agent was given, as they came, under the names of ``Agent``.

    Raises:
        ConfigurationError: it is neither an ``Agent`` nor a dictionary.
    """
    if not isinstance(value, (Agent, Mapping)):
        raise ConfigurationError(f"an agent is an Agent or a dictionary, not {type(value).__name__}", field="agent")
    fields = {name: getattr(value, name) for name in value.__struct_fields__} if isinstance(value, Agent) else dict(value)
    if "instructions" in fields:
        fields.setdefault("prompt", fields.pop("instructions"))
    fields.setdefault("name", fields.get("id") or "agent")
    return {name: fields[name] for name in Agent.__struct_fields__ if name in fields}


class Fingerprint(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What of an agent a model can see: its model, each tool's schema and its instructions, as hashes.

    ``hash`` covers all of them, in 16 hex digits; the parts say what changed.
    """

    hash: str
    tools: dict[str, str] = {}
    instructions: str = ""
    model: str | None = None
    version: int = 1


class ModelChange(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The model before and after; None where unknown."""

    from_: str | None = msgspec.field(default=None, name="from")
    to: str | None = None


class AgentDrift(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How an agent differs from the one a run was saved with."""

    model: ModelChange | None = None
    tools_added: tuple[str, ...] = ()
    tools_removed: tuple[str, ...] = ()
    tools_changed: tuple[str, ...] = ()
    instructions: bool = False

    def describe(self) -> str:
        """The difference in one line."""
        parts = []
        if self.model is not None:
            parts.append(f"model {self.model.from_ or 'unknown'} -> {self.model.to or 'unknown'}")
        for names, word in (
            (self.tools_added, "tools added"),
            (self.tools_removed, "tools removed"),
            (self.tools_changed, "tools changed (input schema)"),
        ):
            if names:
                parts.append(f"{word}: {', '.join(names)}")
        if self.instructions:
            parts.append("instructions changed")
        return "; ".join(parts)
