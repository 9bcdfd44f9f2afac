"""Permission rules and modes: which calls may run, which a person must see, which are refused.

Rules are tried in order and the first that fits a call decides. The mode speaks last and only ever
takes away a pause or a permission; it never allows what something before it refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from lousho_cli.domain.plain import json_text, plain
from lousho_cli.errors import ConfigurationError

Action = Literal["allow", "ask", "deny"]
Mode = Literal["default", "plan", "dont-ask", "accept-edits"]

ACTIONS: tuple[Action, ...] = ("allow", "ask", "deny")
MODES: tuple[Mode, ...] = ("default", "plan", "dont-ask", "accept-edits")


ASKS_NOBODY = "it needs a person, and this run asks nobody"


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """One permission rule.

    tool: a tool's name, or a pattern such as ``fs__*``.
    when: regular expressions by argument (``headers.host`` looks inside); each must be found in its argument,
        whose text is taken as it is and any other value as JSON. An argument that is not there fits nothing.
    action: ``deny`` refuses the call, ``ask`` has a person decide, ``allow`` runs it without asking.
    reason: told to the model of a refusal, and to the person who is asked.
    ttl_ms: how long the person may take; for ``ask`` alone, in place of the run's.
    """

    tool: str
    action: Action
    when: dict[str, str] = {}
    reason: str = ""
    ttl_ms: int | None = None

    def fits(self, tool: str, args: Any) -> bool:
        """Whether this rule is about a call of ``tool`` with these arguments."""
        return fnmatchcase(tool, self.tool) and all(_found(path, pattern, args) for path, pattern in self.when.items())


def first_match(rules: Sequence[Rule], tool: str, args: Any) -> Rule | None:
    """The rule that decides on a call, None where none fits."""
    return next((rule for rule in rules if rule.fits(tool, args)), None)


def _found(path: str, pattern: str, args: Any) -> bool:
    value = args
    # A name with a dot in it is looked for as it stands first.
    parts = [path] if isinstance(args, Mapping) and path in args else path.split(".")
    for part in parts:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, (list, tuple)) and part.isdecimal() and len(part) < 10 and int(part) < len(value):
            value = value[int(part)]
        else:
            return False
    return re.search(pattern, value if isinstance(value, str) else json_text(value)[0]) is not None


class ByMode(msgspec.Struct, frozen=True):
    """What a mode makes of a call: ``deny`` with its reason, or ``allow`` in place of a pause."""

    action: Literal["allow", "deny"]
    reason: str


def by_mode(mode: Mode, *, asks: bool, read_only: bool, edits: bool) -> ByMode | None:
    """What the mode says to a call that would run, or pause where it ``asks``; None where it says nothing.

    Args:
        read_only: the tool changes nothing. edits: it only edits files of the working folder.
    """
    if mode == "plan" and not read_only:
        return ByMode("deny", "the run is in plan mode, where only tools that change nothing may run")
    if mode == "dont-ask" and asks:
        return ByMode("deny", ASKS_NOBODY)
    if mode == "accept-edits" and asks and edits:
        return ByMode("allow", "edits are accepted")
    return None


def rules_from(value: Any, field: str = "permissions") -> tuple[Rule, ...]:
    """Reads the rules that a caller gave: ``Rule`` values, or dictionaries with their fields.

    Raises:
        ConfigurationError: ``field`` names the first thing wrong by its path.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
        raise ConfigurationError(f"{field} is {_shown(value)}", field=field, hint="Use a list of rules, each with tool and action.")
    return tuple(_rule(item, f"{field}.{number}") for number, item in enumerate(value))


def _rule(item: Any, path: str) -> Rule:
    fields = {name: getattr(item, name) for name in Rule.__struct_fields__} if isinstance(item, Rule) else item
    if not isinstance(fields, Mapping):
        raise ConfigurationError(f"{path} is {_shown(item)}, not a rule", field=path, hint="A rule has tool and action.")
    unknown = [str(name) for name in fields if name not in Rule.__struct_fields__]
    if unknown:
        known = ", ".join(Rule.__struct_fields__)
        raise ConfigurationError(f"a rule has no {unknown[0]}", field=f"{path}.{unknown[0]}", hint=f"It may have {known}.")
    try:
        rule = msgspec.convert(dict(fields), Rule)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{path} is no rule: {error}", field=path, hint="A rule has tool and action.") from error
    wrong = wrong_in(rule)
    if wrong is not None:
        where, what = wrong
        raise ConfigurationError(f"{path}.{where} {what}", field=f"{path}.{where}")
    return rule


def wrong_in(rule: Rule) -> tuple[str, str] | None:
    """What of a rule makes no sense although it is of the right kind: the field and why; None where nothing is."""
    if not rule.tool:
        return "tool", "must not be empty"
    for name, pattern in rule.when.items():
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            return f"when.{name}", f"is no regular expression: {error}"
    if rule.ttl_ms is not None and rule.action != "ask":
        return "ttl_ms", f"is for rules that ask, not for {rule.action}"
    if rule.ttl_ms is not None and rule.ttl_ms < 1:
        return "ttl_ms", "must be 1 or more"
    return None


def mode_from(value: Any, field: str = "permission_mode") -> Mode:
    """Reads a mode.

    Raises:
        ConfigurationError: there is none of this name.
    """
    for mode in MODES:
        if value == mode:
            return mode
    raise ConfigurationError(f"{field} is {_shown(value)}", field=field, hint=f"Use {', '.join(MODES[:-1])} or {MODES[-1]}.")


def _shown(value: Any) -> str:
    return f"{plain(value)[0]!r:.60}"
