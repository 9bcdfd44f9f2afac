"""``t``: what a case talks to its agent with, and says what must hold. A case in YAML is turned into the same calls.

An assertion never raises: each is noted, so that one run tells everything that did not hold.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from lousho_cli.core.matching import Mode
from lousho_cli.core.trajectory import Step, StepCall, Trajectory, steps_of
from lousho_cli.domain.messages import Message
from lousho_cli.errors import ConfigurationError
from lousho_cli.evals.checks import agrees, counted, held, shown
from lousho_cli.evals.eval_results import Assertion, EvalUsage
from lousho_cli.evals.trajectory import trajectory_matches

T = TypeVar("T")


class Said(msgspec.Struct, frozen=True):
    """What one input came to. messages: the whole conversation; usage: of this run alone. waits_for: a tool a person must decide on."""

    text: str
    messages: tuple[Message, ...]
    finish_reason: str
    status: str
    steps: int
    usage: EvalUsage
    waits_for: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """What a judge says: ``score`` from 0 to 1."""

    passed: bool
    score: float
    reason: str


class Talk(Protocol):
    """The agent of a case."""

    async def send(self, text: str, *, approve: bool) -> Said:
        """One input, run to its end or its pause; ``approve``: calls that need a person are approved. Raises what a failed run raises."""

    async def judge(self, rubric: str, messages: Sequence[Message]) -> Verdict | str:
        """Has a conversation graded; why it was not, where nobody may be asked."""


class MadeCall(msgspec.Struct, frozen=True):
    """A call the model made. ``args``: its arguments as a value, the model's own text where that is not JSON; ``result``: its JSON text."""

    name: str
    args: Any
    result: str | None = None


class EvalContext:
    """One case while it runs."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._said: list[Said] = []
        self._steps: tuple[Step, ...] | None = None
        self._failed = ""
        self._begun: list[tuple[str, Coroutine[Any, Any, Any]]] = []
        self.assertions: list[Assertion] = []

    # Talking

    def send(self, text: str, *, approve: bool = False) -> Coroutine[Any, Any, str]:
        """Says something to the agent, in one session for the whole case; gives its answer, '' where it pauses.

        Args:
            approve: approve each call that needs a person, as it comes.

        Raises:
            SDKError: the run failed.
        """
        return self._awaited("send", self._send(text, approve))

    async def _send(self, text: str, approve: bool) -> str:
        try:
            said = await self._talk.send(text, approve=approve)
        except Exception as error:
            self._failed = getattr(error, "detail", "") or type(error).__name__
            raise
        self._failed = ""
        self._said.append(said)
        self._steps = None
        return said.text

    @property
    def reply(self) -> str:
        """The last answer."""
        return self._said[-1].text if self._said else ""

    @property
    def steps(self) -> tuple[Step, ...]:
        """What the model did, an answer each."""
        if self._steps is None:
            self._steps = steps_of(self._said[-1].messages) if self._said else ()
        return self._steps

    @property
    def tool_calls(self) -> tuple[MadeCall, ...]:
        """Every call the model made, in order."""
        return tuple(MadeCall(call.name, _value(call.args), call.result) for call in self._calls)

    @property
    def _calls(self) -> tuple[StepCall, ...]:
        return tuple(call for step in self.steps for call in step.tools)

    @property
    def usage(self) -> EvalUsage:
        """What all was used so far."""
        return summed([said.usage for said in self._said])

    @property
    def trajectory_now(self) -> Trajectory | None:
        """The whole run as it is compared; None before anything was sent."""
        if not self._said:
            return None
        usage = self.usage
        return Trajectory(self.steps, self._said[-1].finish_reason, usage.total_tokens if usage.model_calls else None)

    # What must hold

    def completed(self, expected: bool = True) -> Assertion:
        """The last run came to an answer: no pause, no limit, no abort. ``expected`` False: it did not."""
        last = self._said[-1] if self._said else None
        done = last is not None and last.status == "finished" and last.finish_reason == "stop" and not self._failed
        why = "nothing was sent" if last is None else f"it ended with {last.finish_reason}"
        if last is not None and last.waits_for:
            why = f"it waits for a person to decide on {last.waits_for}"
        if self._failed:
            why = f"its run failed: {self._failed}"
        return self._note("completed" if expected else "not completed", done is expected, "it ended with an answer" if done else why)

    def called_tool(self, name: str, args: Mapping[str, Any] | None = None, times: int | None = None) -> Assertion:
        """A tool was called, with at least these arguments; ``times``: exactly so often. A function as a value decides itself."""
        calls = [call for call in self.tool_calls if call.name == name]
        fit = [call for call in calls if args is None or agrees(args, call.args)]
        passed = len(fit) == times if times is not None else bool(fit)
        title = (
            f"called_tool {name}" + (f" {shown(args)}" if args is not None else "") + (f" {counted(times)}" if times is not None else "")
        )
        if calls:
            detail = f"{name} was called {counted(len(calls))}: {', '.join(shown(call.args) for call in calls)}"
        else:
            detail = f"{name} was not called; called: {self._names}"
        return self._note(title, passed, detail)

    def not_called_tool(self, name: str) -> Assertion:
        """A tool was not called."""
        calls = [call for call in self.tool_calls if call.name == name]
        return self._note(f"not_called_tool {name}", not calls, f"{name} was called: {', '.join(shown(call.args) for call in calls)}")

    def tool_order(self, *names: str | Sequence[str]) -> Assertion:
        """These tools were called in this order; others may have been called in between.

        Raises:
            ConfigurationError: it names none.
        """
        wanted = [name for given in names for name in ([given] if isinstance(given, str) else given)]
        if not wanted:
            raise ConfigurationError("tool_order names no tool", field="tool_order", hint='Write it as t.tool_order("search", "book").')
        rest = iter(call.name for call in self._calls)
        return self._note(f"tool_order {' > '.join(wanted)}", all(name in rest for name in wanted), f"called: {self._names}")

    def trajectory(self, calls: Sequence[Mapping[str, Any]], mode: Mode = "strict") -> Assertion:
        """The calls that were made are these, each ``{name, args}``, under a mode of ``lousho diff``.

        Raises:
            ConfigurationError: there is no such mode.
        """
        made = self._calls
        told = ", ".join(f"{call.name} {call.args}" for call in made) or "none"
        return self._note(f"trajectory {mode}", trajectory_matches(calls, made, mode), f"called: {told}")

    def max_steps(self, most: int) -> Assertion:
        """The model was asked at most so often."""
        steps = sum(said.steps for said in self._said)
        return self._note(f"max_steps {most}", steps <= most, f"{steps} steps")

    def max_tokens(self, most: int) -> Assertion:
        """At most so many tokens went in and out, those of sub-agents included."""
        return self._note(f"max_tokens {most}", self.usage.total_tokens <= most, f"{self.usage.total_tokens} tokens")

    def max_cost_usd(self, most: float) -> Assertion:
        """It cost at most so much. Where no price is known this does not hold."""
        cost = self.usage.cost_usd
        detail = "the price of its model is not known" if cost is None else f"{cost:.6g} US dollars"
        return self._note(f"max_cost_usd {most:g}", cost is not None and cost <= most, detail)

    def check(self, name: str, value: Any, check: Any) -> Assertion:
        """A value of your own. ``check``: a function of it (it gives a truth, or asserts), a compiled pattern, or an equal value.

        A number that the function gives, from 0 to 1, is a score, which holds from 0.5.
        """
        passed, score, detail = held(value, check)
        return self._note(name, passed, detail, score)

    def soft(self, assertion: Assertion) -> Assertion:
        """Makes an assertion soft: a miss is told and fails nothing, but under ``--strict``. ``t.soft(t.max_tokens(500))``.

        Raises:
            ConfigurationError: it is none of this case.
        """
        place = next((at for at in range(len(self.assertions) - 1, -1, -1) if self.assertions[at] is assertion), None)
        if place is None:
            raise ConfigurationError("soft takes what an assertion gave", field="soft", hint="Write it as t.soft(t.max_tokens(500)).")
        self.assertions[place] = softened = msgspec.structs.replace(assertion, soft=True)
        return softened

    def judge(self, rubric: str) -> Coroutine[Any, Any, Assertion]:
        """A model grades the conversation by a rubric. It is played from the cassette, or asked with ``--judge``; else this is skipped.

        Raises:
            SDKError: the model that grades failed.
        """
        return self._awaited("judge", self._judge(rubric))

    async def _judge(self, rubric: str) -> Assertion:
        verdict = await self._talk.judge(rubric, self._said[-1].messages if self._said else ())
        name = f"judge {rubric.strip().splitlines()[0]:.60}" if rubric.strip() else "judge"
        if isinstance(verdict, str):
            return self._add(Assertion(name=name, passed=False, score=0, skipped=True, detail=verdict))
        return self._note(name, verdict.passed, verdict.reason, verdict.score)

    def end(self) -> None:
        """The case has said all it says. One that asked for nothing to hold is held to have come to an answer.

        Raises:
            ConfigurationError: something of it was not awaited, so that it never happened; or it did nothing at all.
        """
        left = [name for name, begun in self._begun if inspect.getcoroutinestate(begun) == inspect.CORO_CREATED]
        self.close()
        if left:
            name = left[0]
            raise ConfigurationError(f"t.{name} was not awaited, so that it did not happen", field=name, hint=f"Write: await t.{name}(…)")
        if not (self._said or self._failed or self.assertions):
            hint = "Write: await t.send(…), and what must hold then: t.completed()."
            raise ConfigurationError("it says nothing to its agent and looks at nothing", field="case", hint=hint)
        if all(one.skipped for one in self.assertions):
            self.completed()

    def close(self) -> None:
        """Leaves what was not awaited."""
        for _, begun in self._begun:
            if inspect.getcoroutinestate(begun) == inspect.CORO_CREATED:
                begun.close()
        self._begun.clear()

    def _awaited(self, name: str, begun: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        self._begun.append((name, begun))
        return begun

    @property
    def _names(self) -> str:
        return " > ".join(call.name for call in self._calls) or "none"

    def _note(self, name: str, passed: bool, detail: str, score: float | None = None) -> Assertion:
        given = (1.0 if passed else 0.0) if score is None else score
        return self._add(Assertion(name=name, passed=passed, score=given, detail=detail))

    def _add(self, assertion: Assertion) -> Assertion:
        self.assertions.append(assertion)
        return assertion


def summed(parts: Sequence[EvalUsage]) -> EvalUsage:
    """Several together. What of one part is not known, is not known of all."""
    if len(parts) == 1:
        return parts[0]
    costs = [part.cost_usd for part in parts]
    return EvalUsage(
        input_tokens=sum(part.input_tokens for part in parts),
        output_tokens=sum(part.output_tokens for part in parts),
        total_tokens=sum(part.total_tokens for part in parts),
        model_calls=sum(part.model_calls for part in parts),
        cost_usd=None if not parts or None in costs else sum(cost for cost in costs if cost is not None),
        estimated=any(part.estimated for part in parts),
    )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
