"""The agent of one case: its runs in a session of its own, and the model that grades them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lousho_cli.app.driving import waiting_item
from lousho_cli.app.evaluating.agents import EvalAgents
from lousho_cli.app.evaluating.plans import EvalOptions, Planned
from lousho_cli.app.preparing import Prepared
from lousho_cli.app.results import PendingItem
from lousho_cli.app.suggestions import nearest
from lousho_cli.app.usage import totals_of
from lousho_cli.app.wiring import approvals_of, checkpoints_of, open_store
from lousho_cli.domain.messages import Message
from lousho_cli.errors import CassetteMismatchError, ConfigurationError
from lousho_cli.evals.cassette import CassetteProvider
from lousho_cli.evals.context import Said, Verdict
from lousho_cli.evals.definition import INVALID
from lousho_cli.evals.eval_results import EvalUsage
from lousho_cli.evals.given_results import GivenResults
from lousho_cli.evals.judging import grade
from lousho_cli.evals.tape import EXHAUSTED, Tape
from lousho_cli.executor.agent_executor import AgentExecutor
from lousho_cli.executor.approvals import resume_after_approval
from lousho_cli.executor.results import RunResult
from lousho_cli.ports.tool import Tool
from lousho_cli.providers.scripted import ScriptedProvider

NOT_ASKED = "not graded: lousho eval --judge asks the model that grades"


class AgentTalk:
    """See ``evals.context.Talk``. ``tape``: the cassette of the case, None where its provider is asked without one."""

    def __init__(self, prepared: Prepared, agents: EvalAgents, planned: Planned, tape: Tape | None, options: EvalOptions) -> None:
        self._prepared, self._session_id = prepared, planned.session_id
        self._agents, self._planned, self._tape, self._options = agents, planned, tape, options
        store = open_store("memory:", create=True)
        assert store is not None, "a store in memory is always there"
        self._store = store
        self.results = GivenResults(planned.case.tool_results)
        self._steps = 0
        self.unanswered: CassetteMismatchError | None = None
        """Why a cassette did not answer, whatever the case made of that."""
        _check_names(planned, prepared)

    async def send(self, text: str, *, approve: bool) -> Said:
        try:
            return await self._send(text, approve)
        except CassetteMismatchError as error:
            self.unanswered = error
            raise

    async def _send(self, text: str, approve: bool) -> Said:
        prepared = self._prepared
        settings = self._settings()
        result = await AgentExecutor.execute(
            prepared.agent,
            text,
            prepared.provider,
            prepared.tools,
            session_id=self._session_id,
            checkpoint_store=checkpoints_of(self._store),
            approval_store=approvals_of(self._store),
            **settings,
        )
        waits = await self._waits_for(result)
        while approve and waits is not None and waits.kind == "tool":
            decision = {"id": waits.id, "approved": True, "by": "eval"}
            options = {**settings, "agent": prepared.agent}
            result = await resume_after_approval(
                decision, approvals_of(self._store), prepared.tools, prepared.provider, options, checkpoints_of(self._store)
            )
            waits = await self._waits_for(result)
        self._steps += result.steps
        return Said(
            text=result.text,
            messages=result.messages,
            finish_reason=result.finish_reason,
            status=result.status,
            steps=result.steps,
            usage=_usage(result.usage),
            waits_for=waits.tool if waits else "",
        )

    async def _waits_for(self, result: RunResult) -> PendingItem | None:
        return await waiting_item(self._store, self._session_id) if result.approval_id is not None else None

    def _settings(self) -> dict[str, Any]:
        """Those of the agent, and what the case says besides."""
        case, settings = self._planned.case, self._prepared.settings
        if case.tool_results:
            settings = {**settings, "hooks": [self.results]}
        if case.stop_after is not None:
            if case.stop_after <= self._steps:
                detail = f"the case stops after step {case.stop_after}, and an input stands behind that"
                raise ConfigurationError(detail, field="stop_after")
            settings = {**settings, "max_steps": min(settings["max_steps"], case.stop_after - self._steps)}
        return settings

    async def judge(self, rubric: str, messages: Sequence[Message]) -> Verdict | str:
        if self._planned.eval.judge is None:
            return "not graded: the eval names no judge"
        provider = self._agents.judge_of(self._planned.eval.judge, self._planned.path)
        tape, asked = self._tape, self._options.judge
        if isinstance(provider, ScriptedProvider):
            return await grade(provider, rubric, messages)
        if tape is None or tape.records:
            return await grade(provider if tape is None else CassetteProvider(provider, tape), rubric, messages) if asked else NOT_ASKED
        try:
            return await grade(CassetteProvider(provider, tape), rubric, messages)
        except CassetteMismatchError as error:
            if error.code != EXHAUSTED:
                self.unanswered = error
                raise
        if asked and self._options.mode == "auto":
            return await grade(provider, rubric, messages)
        return "not graded: its cassette holds no verdict; lousho eval --record --judge records one"


def _check_names(planned: Planned, prepared: Prepared) -> None:
    """Results stand for tools that are there: under a wrong name the tool itself would run."""
    wrong = next((one.name for one in planned.case.tool_results if one.name not in _tools(prepared.tools, prepared.settings)), None)
    if wrong is None:
        return
    known = {*_tools(prepared.tools, prepared.settings), *prepared.facts.tools}
    if wrong in known:
        return
    near = nearest(wrong, known)
    told = f"tool_results names {wrong}, and its agent has no such tool" + (f"; did you mean {near}?" if near else "")
    raise ConfigurationError(told, field="tool_results", code=INVALID, hint=f"It has {', '.join(sorted(known)) or 'none'}.")


def _tools(tools: Sequence[Tool], settings: Any) -> set[str]:
    """The names of an agent's tools, with those of its sub-agents."""
    names = {tool.name for tool in tools}
    for name, one in settings["subagents"].items():
        names |= {name, *_tools(one.tools, {"subagents": one.subagents})}
    return names


def _usage(usage: Any) -> EvalUsage:
    totals = totals_of(usage)
    return EvalUsage(
        input_tokens=totals.input_tokens,
        output_tokens=totals.output_tokens,
        total_tokens=totals.total_tokens,
        model_calls=totals.model_calls,
        cost_usd=totals.cost_usd,
        estimated=totals.estimated,
    )
