"""Results of tools that stand in the case: a tool that has one there does not run, and asks nobody. Pure.

A call gets the first result of its tool that was not used and whose arguments are its own, else the first whose arguments it
has among its own; the last that fits serves again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from lousho_cli.errors import ConfigurationError
from lousho_cli.evals.checks import agrees, shown


class GivenResult(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a call of ``name`` gives. args: those that the call must have at least, None for any. is_error: the tool failed with it."""

    name: str
    result: Any
    args: Any = None
    is_error: bool = False


def given_results(given: Any) -> tuple[GivenResult, ...]:
    """Results as a case in Python has them: each a ``GivenResult``, or a dictionary as in YAML.

    Raises:
        ConfigurationError: one of them is neither; ``field`` names it.
    """
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise _not_given("tool_results", "must be a list")
    return tuple(one if isinstance(one, GivenResult) else _given(one, f"tool_results.{number}") for number, one in enumerate(given))


def _given(one: Any, field: str) -> GivenResult:
    try:
        return msgspec.convert(one, GivenResult)
    except msgspec.ValidationError as error:
        raise _not_given(field, f"is none: {error}") from None


def _not_given(field: str, why: str) -> ConfigurationError:
    hint = 'Write it as {"name": "weather", "args": {"city": "Lisbon"}, "result": {"forecast": "rain"}}.'
    return ConfigurationError(f"{field} {why}", field=field, code="LOUSHO_EVALS_INVALID", hint=hint)


class AskedCall(Protocol):
    """A call that is about to run, as a hook sees it."""

    @property
    def tool_name(self) -> str: ...
    @property
    def args(self) -> Any: ...


class GivenResults:
    """A hook that gives them, for one case."""

    name = "tool_results"

    def __init__(self, given: Sequence[GivenResult]) -> None:
        self._given = given
        self._unused = dict.fromkeys(range(len(given)))
        self._refused: dict[str, dict[str, None]] = {}

    def pre_tool(self, call: AskedCall) -> dict[str, Any] | None:
        """See ``executor.hooks``. A tool that has results, but none for these arguments, is refused: it may not run unseen."""
        own = [place for place, one in enumerate(self._given) if one.name == call.tool_name]
        if not own:
            return None
        fit = [place for place in own if self._given[place].args is None or agrees(self._given[place].args, call.args)]
        exact = [place for place in fit if self._given[place].args == call.args]
        found = next((place for places in (exact, fit) for place in places if place in self._unused), None)
        if found is None and not fit:
            self._refused.setdefault(call.tool_name, {})[shown(call.args)] = None
            return {"deny": "the case has no result for these arguments"}
        place = found if found is not None else fit[-1]
        self._unused.pop(place, None)
        one = self._given[place]
        return {"error": one.result} if one.is_error else {"result": one.result}

    @property
    def refused(self) -> tuple[tuple[str, str], ...]:
        """The tools that were called with arguments that no result of theirs is for, each with what was asked and what there is."""
        return tuple((name, f"called with {', '.join(asked)}; results are for {self._kept(name)}") for name, asked in self._refused.items())

    def _kept(self, name: str) -> str:
        return ", ".join(dict.fromkeys(shown(one.args) for one in self._given if one.name == name))
