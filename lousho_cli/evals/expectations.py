"""A case as a file has it, made of the same calls that a case in Python makes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from lousho_cli.evals.checks import shown, text_check
from lousho_cli.evals.context import EvalContext
from lousho_cli.evals.eval_results import Assertion

Expected = Mapping[str, Any]
"""Expectations by name, in the shape that ``app.evaluating.schema`` checks: lists where several may be said."""


def case_of(inputs: Sequence[str], expect: Expected, soft: Expected, *, approve: bool = False) -> Callable[[EvalContext], Awaitable[None]]:
    """A case that sends its inputs in order and then looks at what came of them.

    Where nothing is said of ``completed`` it must be.
    """
    gates = {"completed": True, **expect} if "completed" not in soft else expect

    async def test(t: EvalContext) -> None:
        for text in inputs:
            await t.send(text, approve=approve)
        await _look(t, gates)
        for missed in await _look(t, soft):
            t.soft(missed)

    return test


async def _look(t: EvalContext, expected: Expected) -> list[Assertion]:
    made: list[Assertion] = []
    for name, given in expected.items():
        if name == "judge":
            made += [await t.judge(rubric) for rubric in given]
        else:
            made += _LOOKS[name](t, given)
    return made


def _reply(t: EvalContext, given: Sequence[Mapping[str, str]]) -> list[Assertion]:
    return [
        t.check(f"reply {how.replace('_', ' ')} {shown(wanted)}", t.reply, text_check(how, wanted))
        for texts in given
        for how, wanted in texts.items()
    ]


_LOOKS: Mapping[str, Callable[[EvalContext, Any], list[Assertion]]] = {
    "completed": lambda t, given: [t.completed(given)],
    "reply": _reply,
    "called_tool": lambda t, given: [t.called_tool(**call) for call in given],
    "not_called_tool": lambda t, given: [t.not_called_tool(name) for name in given],
    "tool_order": lambda t, given: [t.tool_order(given)],
    "trajectory": lambda t, given: [t.trajectory(**given)],
    "max_steps": lambda t, given: [t.max_steps(given)],
    "max_tokens": lambda t, given: [t.max_tokens(given)],
    "max_cost_usd": lambda t, given: [t.max_cost_usd(given)],
}
