"""What people allowed for always: rules wider than one thread, kept in the metadata of a host.

They hold for every thread of the same harness and tenant, on every host with the same metadata. Such a rule stands in
for a person who would be asked; what a rule of the harness denies stays denied.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from lousho_cli.core.permissions import Rule, rules_from
from lousho_cli.domain.plain import json_text
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.host.persistence import Metadata

log_to = logging.getLogger("lousho")


class Standing:
    """The rules of one harness and tenant; without metadata there are none, and none is kept."""

    def __init__(self, metadata: Metadata | None, harness: str, tenant: str | None) -> None:
        self._metadata = metadata
        self._key = f"permissions:{json_text([harness, tenant])[0]}"

    async def rules(self) -> tuple[Rule, ...]:
        """Those that were kept, oldest first. Where they can not be read there is none, and people are asked."""
        if self._metadata is None:
            return ()
        try:
            kept: Any = await self._metadata.get(self._key)
            return tuple(rule for rule in rules_from(kept or []) if rule.action == "allow")
        except Exception as error:  # noqa: BLE001 - metadata are a caller's object, and what it raises must stop no turn
            log_to.warning("what people allowed for always could not be read: %s", error)
            return ()

    async def allow(self, tool: str) -> bool:
        """Keeps that a tool may run without a person, for always; False where there is nothing to keep it in."""
        if self._metadata is None:
            log_to.warning("%s is not allowed for always: this host has no metadata to keep it in", tool)
            return False
        rules = await self.rules()
        exactly = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in tool)
        if all(rule.tool != exactly for rule in rules):
            kept = Rule(exactly, "allow", reason="a person allowed it for always")
            try:
                await self._metadata.set(self._key, msgspec.to_builtins((*rules, kept)))
            except Exception as error:  # noqa: BLE001 - as above; the answer itself counts
                log_to.warning("%s is not allowed for always, as it could not be kept: %s", tool, error)
                return False
        return True


def with_standing(agent: RunAgent, rules: tuple[Rule, ...]) -> RunAgent:
    """The agent, for which ``rules`` stand in for a person."""
    if not rules:
        return agent
    policy = msgspec.structs.replace(agent.facts.policy, standing=rules)
    return msgspec.structs.replace(agent, facts=msgspec.structs.replace(agent.facts, policy=policy))
