"""What is wrong with a policy and pydantic can not see: names of tools that are not there, expressions that are none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from lousho_cli.app.suggestions import nearest


def policy_issues(policy: Any, known: Collection[str] | None, servers: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """What is wrong, each as the path in the file and why.

    Args:
        policy: as the file has it, valid or not.
        known: the names of the tools; None where they are not all known yet.
        servers: MCP servers whose tools are not known yet: any name that begins with one of them may be right.
    """
    if not isinstance(policy, Mapping):
        return
    gated, rules = policy.get("requires_approval"), policy.get("permissions")
    for number, name in enumerate(gated if isinstance(gated, list) else []):
        yield from _unknown(f"policy.requires_approval.{number}", name, known, servers)
    for number, rule in enumerate(rules if isinstance(rules, list) else []):
        if isinstance(rule, Mapping):
            yield from _rule_issues(f"policy.permissions.{number}", rule, known, servers)


def _rule_issues(path: str, rule: Mapping[str, Any], known: Collection[str] | None, servers: Collection[str]) -> Iterator[tuple[str, str]]:
    if not is_pattern(rule.get("tool")):
        yield from _unknown(f"{path}.tool", rule.get("tool"), known, servers)
    when = rule.get("when")
    for name, pattern in when.items() if isinstance(when, Mapping) else ():
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            yield f"{path}.when.{name}", f"is no regular expression: {error}"
        except TypeError:
            pass  # it is no text, which is told elsewhere
    if rule.get("ttl") is not None and rule.get("action") in ("allow", "deny"):
        yield f"{path}.ttl", f"is for rules that ask, not for {rule['action']}"


def is_pattern(name: Any) -> bool:
    """Whether a rule's tool is meant to fit several."""
    return isinstance(name, str) and any(mark in name for mark in "*?[")


def _unknown(path: str, name: Any, known: Collection[str] | None, servers: Collection[str]) -> Iterator[tuple[str, str]]:
    if isinstance(name, str) and any(name.startswith(f"{server}__") for server in servers):
        return
    if known is not None and isinstance(name, str) and name and name not in known:
        near = nearest(name, known)
        yield path, f"there is no tool {name}" + (f"; did you mean {near}?" if near else "")
