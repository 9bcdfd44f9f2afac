"""``agent.approvals``: what waits for a person in the agent's store, and going on once a person decided."""

from __future__ import annotations

from typing import Any

from lousho_cli.core.originals import approval_from
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.agent_runs import AgentRuns
from lousho_cli.executor.approvals import approval_not_found
from lousho_cli.executor.results import RunResult
from lousho_cli.executor.streams import EventStream


class AgentApprovals:
    """Lists, shows and decides what waits. A decision counts once, whoever else decides at the same time.

    ``**options`` of each are run settings of ``AgentExecutor.execute``, for this call in place of the agent's own.
    """

    def __init__(self, runs: AgentRuns) -> None:
        self._runs = runs

    async def list(self) -> list[PendingApproval]:
        """Everything that waits, oldest first. Of a store that can not list: what this process left there."""
        store: Any = self._runs.stores.approvals
        return list(await store.list())

    async def get(self, approval_id: str) -> PendingApproval | None:
        """What waits under this id; None when it is unknown or was decided. Nothing is taken."""
        store: Any = self._runs.stores.approvals
        load = getattr(store, "load", None)
        if load is None:
            return next((pending for pending in await store.list() if pending.id == approval_id), None)
        found = await load(approval_id)
        return None if found is None else approval_from(found).pending

    async def resolve(
        self,
        approval_id: str,
        approved: bool,
        *,
        note: str | None = None,
        args: Any = None,
        digest: str | None = None,
        by: str | None = None,
        **options: Any,
    ) -> RunResult:
        """Decides, and goes on with the run under its session id until it ends or pauses again.

        Args:
            note: goes to the model beside the result: why not, or what else it should know.
            args: other arguments for the call, all of them.
            digest: refuses the decision unless it is that of the call that waits.
            by: who decides, kept beside the result.

        Raises:
            NotFoundError: the id is unknown or was decided (code LOUSHO_APPROVAL_NOT_FOUND).
            AgentDriftError, ResumeToolMissingError: refused; it waits again.
            ConfigurationError: a decision or an option that makes no sense; it still waits.
            SessionBusyError: another process drives the session.
        """
        given = {"id": approval_id, "approved": approved, "note": note, "args": args, "digest": digest, "by": by}
        return await self._runs.decide(given, options)

    def stream_resolve(self, approval_id: str, approved: bool, **options: Any) -> EventStream[RunResult]:
        """``resolve`` as a stream of events."""
        return self._runs.streamed(lambda given: self.resolve(approval_id, approved, **given), options)

    async def answer(self, approval_id: str, text: str, *, by: str | None = None, **options: Any) -> RunResult:
        """Answers a question, and goes on with the run. ``resolve`` with ``approved=False`` declines it.

        Raises:
            ConfigurationError: what waits is no question, or the text is not one of its answers.
            NotFoundError and the others: as ``resolve``.
        """
        pending = await self.get(approval_id)
        if pending is None:
            raise approval_not_found(approval_id)
        return await self.resolve(approval_id, True, note=_answer_to(pending, text), digest=pending.digest, by=by, **options)

    def stream_answer(self, approval_id: str, text: str, **options: Any) -> EventStream[RunResult]:
        """``answer`` as a stream of events."""
        return self._runs.streamed(lambda given: self.answer(approval_id, text, **given), options)


def _answer_to(pending: PendingApproval, text: object) -> str:
    if pending.question is None:
        raise ConfigurationError(
            f"{pending.id} is a call of {pending.tool_name} to decide, not a question", field="approval_id", hint="Use resolve for it."
        )
    if not isinstance(text, str):
        raise ConfigurationError(f"an answer is text, not {type(text).__name__}", field="text")
    options = pending.question.options
    if options and not pending.question.allow_free_text and text not in options:
        raise ConfigurationError(f"{text!r:.60} is not one of the answers", field="text", hint=f"They are: {', '.join(options)}.")
    return text
