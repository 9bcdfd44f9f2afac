"""Trajectories of mini-swe-agent and SWE-agent. Commands that stand in an answer's text stay text: no call is made of them."""

from __future__ import annotations

from typing import Any

from lousho_cli.interchange.reading.chat import entries_of
from lousho_cli.interchange.reading.fields import listed, mapping, subset, text
from lousho_cli.interchange.reading.values import Source, source_of

KIND = "swe-agent"

_KEPT = ("exit_status", "submission", "model_stats", "mini_version", "swe_agent_version", "api_calls")


def recognises(value: dict[str, Any]) -> bool:
    """Whether a document is a trajectory: of mini-swe-agent by its format or its info, of SWE-agent by its history."""
    if text(value.get("trajectory_format")).startswith("mini-swe"):
        return True
    if isinstance(value.get("trajectory"), list) and isinstance(value.get("history"), list):
        return True
    return isinstance(value.get("messages"), list) and bool(
        mapping(value.get("info")).keys() & {"exit_status", "model_stats", "mini_version"}
    )


def read(value: dict[str, Any], name: str) -> list[Source]:
    """The one session of a trajectory."""
    info = mapping(value.get("info"))
    mini = "history" not in value
    given = listed(value.get("messages" if mini else "history"))
    model = text(mapping(mapping(info.get("config")).get("model")).get("model_name"))
    entries, bad = entries_of(given, model)
    agent = "mini-swe-agent" if mini else KIND
    session = text(value.get("instance_id")) or name.removesuffix(".traj")
    return [source_of(KIND, session, agent, entries, details=subset(info, _KEPT), bad=tuple(bad))]
