"""An agent as its file describes it: a frozen value, whoever wrote it down (a file, a module, a demo)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from lousho_cli.app.provider_types import TypeName
from lousho_cli.core.background import BackgroundLimits
from lousho_cli.core.permissions import Mode, Rule
from lousho_cli.core.retry import RetryPolicy
from lousho_cli.domain.prices import Price
from lousho_cli.tools.mcp.spec import ServerSpec

DEFAULT_MAX_STEPS = 50
DEFAULT_HISTORY_LIMIT = 50
DEFAULT_MAX_ATTEMPTS = 10


class ProviderSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which model to ask, and how.

    type: one of ``provider_types.TYPES``, from which ``base_url`` and ``api_key_env`` are filled in. ``scripted`` plays
        ``turns``, which were read from ``turns_file`` where they stand in one.
    api_key_env: the variables the key may be in, in the order they are asked; none means no key.
    options: further keyword arguments of the type's provider. price: what ``model`` costs, None where nobody said.
    """

    type: TypeName
    model: str
    base_url: str | None = None
    api_key_env: tuple[str, ...] = ()
    options: dict[str, Any] = {}
    turns: tuple[Any, ...] = ()
    repeat_last: bool = False
    price: Price | None = None
    turns_file: Path | None = None


class ToolEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One tool of the list. None means the tool's own: a built-in's, or a Python function's.

    target: the Python address ``file.py:name``; object: what a module gave directly.
    field: its path in the file, ``tools.2``.
    """

    kind: Literal["builtin", "command", "python", "object"]
    name: str | None = None
    description: str | None = None
    command: tuple[str, ...] = ()
    input: dict[str, Any] = {}
    target: str = ""
    object: Any = None
    replay: Literal["safe", "never"] | None = None
    needs_approval: bool | None = None
    read_only: bool | None = None
    timeout_ms: int | None = None
    env: dict[str, str] = {}
    secrets: tuple[str, ...] = ()
    field: str = "tools"


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a run stops. None means nowhere."""

    max_steps: int = DEFAULT_MAX_STEPS
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_duration_ms: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    on_exceeded: Literal["stop", "throw"] = "stop"
    background: BackgroundLimits = BackgroundLimits()


class Policy(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run may do. ``requires_approval`` True means every tool; ``tool_concurrency`` None means no bound.

    permissions: rules, the first that fits decides; ``mode`` speaks last.
    """

    requires_approval: bool | tuple[str, ...] = False
    limits: Limits = Limits()
    approval_ttl_ms: int | None = None
    tool_concurrency: int | None = None
    on_agent_drift: Literal["warn", "error", "ignore"] = "warn"
    permissions: tuple[Rule, ...] = ()
    mode: Mode = "default"


class Durability(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run lives on. ``replay`` is the default for a call that was cut; ``retry`` None means no retries.

    A fixed text that is None is the one of ``domain.texts``.
    """

    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    timeout_ms: int | None = None
    replay: Literal["safe", "never"] = "safe"
    continue_cut_off: bool = False
    history_limit: int = DEFAULT_HISTORY_LIMIT
    retry: RetryPolicy | None = RetryPolicy()
    interrupted_tool_result: str | None = None
    truncated_tool_result: str | None = None
    resume_background_agents: bool = True


class SubAgentEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent that another may hand work to, as a tool called ``name``."""

    name: str
    file: AgentFile
    description: str | None = None
    needs_approval: bool = False
    background: bool = False


class AgentFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent, ready to be wired.

    provider: how to reach a model, or a ``Provider`` that a module gave.
    notify: commands, each a list of words.
    folder: what relative paths in it start from; workspace: the folder of the file tools and the shell.
    path: the file, None for a demo; attribute: the name in it, for a Python module.
    first_input: what to say when a person says nothing.
    """

    name: str
    prompt: str
    provider: ProviderSpec | Any
    folder: Path
    workspace: Path
    tools: tuple[ToolEntry, ...] = ()
    policy: Policy = Policy()
    durability: Durability = Durability()
    notify: tuple[tuple[str, ...], ...] = ()
    subagents: tuple[SubAgentEntry, ...] = ()
    mcp_servers: tuple[ServerSpec, ...] = ()
    path: Path | None = None
    attribute: str | None = None
    first_input: str | None = None

    @property
    def address(self) -> str:
        """What names it on a command line: a path, ``module.py:attribute``, or the demo's name."""
        if self.path is None:
            return self.name
        return f"{self.path}:{self.attribute}" if self.attribute else str(self.path)
