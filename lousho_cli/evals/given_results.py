"""Results of tools that stand in the case: a tool that has one there does not run, and asks nobody. Pure.

A call gets the first result of its tool that was not used and whose arguments are its own, else the first whose arguments it
has among its own; the last that fits serves again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from lousho_cli.evals.checks import agrees


class GivenResult(msgspec.Struct, frozen=True):
    """What a call of ``name`` gives. args: those that the call must have at least, None for any."""

    name: str
    result: Any
    args: Any = None


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

    def pre_tool(self, call: AskedCall) -> dict[str, Any] | None:
        """See ``executor.hooks``. A tool that has results, but none for these arguments, is refused: it may not run unseen."""
        own = [place for place, one in enumerate(self._given) if one.name == call.tool_name]
        if not own:
            return None
        fit = [place for place in own if self._given[place].args is None or agrees(self._given[place].args, call.args)]
        exact = [place for place in fit if self._given[place].args == call.args]
        found = next((place for places in (exact, fit) for place in places if place in self._unused), None)
        if found is None and not fit:
            return {"deny": "the case has no result for these arguments"}
        place = found if found is not None else fit[-1]
        self._unused.pop(place, None)
        return {"result": self._given[place].result}
