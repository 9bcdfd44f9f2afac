"""The options of a ``create_agent`` agent, checked by name against what ``AgentExecutor.execute`` takes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.run_agent import RunSettings, gated_by, notes_of

_OURS = frozenset(("agent", "input", "provider", "tool_registry", "session_id", "checkpoint_store", "approval_store"))
"""What the agent itself passes on."""

_OF_ONE_CALL = frozenset(("signal", "input_id", "by", "create", "business_state", "input_queue"))
_OF_INPUT = frozenset(("input_id", "create"))
_OF_EXECUTE_ALONE = frozenset(("agent_path",))
"""What a run that goes on after a decision has in its log already."""


def check_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options that hold for every run of an agent.

    Raises:
        ConfigurationError: there is none of this name, or it belongs to one call.
    """
    return _checked(options, _names() - _OF_ONE_CALL, "create_agent", "It belongs to one call: give it to send, resume or resolve.")


def check_for_send(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a call that brings an input. Raises like ``check_defaults``."""
    return _checked(options, _names(), "send", "It is the agent's: give it to create_agent.")


def check_for_resume(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a call that only goes on. Raises like ``check_defaults``."""
    return _checked(options, _names() - _OF_INPUT, "resume", "It belongs to a new input: give it to send.")


def for_decision(defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The agent's options as far as going on after a decision takes them; it checks those of the call itself."""
    return {name: value for name, value in defaults.items() if name not in _OF_EXECUTE_ALONE}


def settings_among(options: Mapping[str, Any]) -> RunSettings:
    """The run settings among the options, to check them before there is a run."""
    given = {name: value for name, value in options.items() if name in RunSettings.__struct_fields__}
    read = {
        "requires_approval": gated_by(given.get("requires_approval", ())),
        "continue_cut_off": notes_of(given.get("continue_cut_off", False)),
    }
    return RunSettings(**(given | read))


@cache
def _names() -> frozenset[str]:
    return frozenset(inspect.signature(AgentExecutor.execute).parameters) - _OURS


def _checked(options: Mapping[str, Any], known: frozenset[str], where: str, elsewhere: str) -> dict[str, Any]:
    for name in options:
        if name in known:
            continue
        if name in _names() | _OURS:
            raise ConfigurationError(f"{where} has no option {name}", field=name, hint=elsewhere)
        from difflib import get_close_matches

        near = get_close_matches(name, sorted(known), 1)
        hint = f"Did you mean {near[0]}?" if near else "It takes the options of AgentExecutor.execute."
        raise ConfigurationError(f"{where} has no option {name}", field=name, hint=hint)
    return dict(options)
