"""What ``AgentExecutor`` does, on a handle: somebody names a thread and waits for what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lousho_cli.core.admit import input_id_from, must_say_something
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import ApprovalDecision
from lousho_cli.domain.messages import Input, messages_from
from lousho_cli.domain.session import Session
from lousho_cli.executor.approvals import decided_records, decision_from
from lousho_cli.executor.beginnings import Order
from lousho_cli.executor.places import Place
from lousho_cli.executor.results import RunResult, result_of
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.host.observing import TurnEnd
from lousho_cli.host.thread import Terms, Thread


class Executes:
    """The part of a ``HostSession`` for who wants it done now or refused.

    Each comes back once this host has nothing more to do on the thread. Where the host is closed
    meanwhile, the result says how far it came. Who only stops waiting stops nothing.
    """

    _thread: Thread
    _terms: Terms
    _user: str | None

    async def execute(self, input: Input, *, input_id: str | None = None, create: bool = False) -> RunResult:
        """The next message of the thread, or only on with it, in the words of ``AgentExecutor.execute``.

        What did not end goes on from its last record, with ``input`` behind it: one that failed, was aborted, or has no
        attempt left with attempts and time afresh. Others' inputs that wait are run too.

        Args:
            input: as there; [] only goes on. Without an id, messages that the thread has already are not said twice.
            input_id: makes sending the same twice the same as once.
            create: refuse a thread that exists already.

        Raises:
            SessionBusyError: it is driven, here or elsewhere. ``send`` leaves an input for its owner.
            SessionAwaitingApprovalError: a person must decide first.
            AgentDriftError, ResumeToolMissingError, InputRejectedError, ConfigurationError: refused; nothing was written.
            ProviderError, PropagatingToolError, HookError, GuardrailTrippedError, BudgetExceededError: the run failed.
            OwnershipLostError, StorageError: the thread was lost, or can not be written; what was written before stands.
            AbortedError: this handle, or its host, is closed.
        """
        said = must_say_something(messages_from(input))
        return await self._carry_out(messages=said, input_id=input_id_from(input_id), create=create)

    async def resume(self) -> RunResult:
        """On with what did not end, or with inputs that wait; where there is nothing, the last run as it ended. Raises like ``execute``."""
        return await self.execute([])

    async def resume_after_approval(self, decision: ApprovalDecision | Mapping[str, Any]) -> RunResult:
        """Decides on what the run stopped for, and goes on with it at once.

        Args:
            decision: id, approved, and optionally note, args (an edit), digest.

        Raises:
            NotFoundError: nothing waits under the id, or it was decided.
            ConfigurationError: the decision makes no sense, or its arguments do not fit the tool; it still waits.
            SDKError: as ``execute``; it still waits where that was refused.
        """
        decided = decision_from(decision)

        def answer(session: Session, agent: RunAgent) -> Sequence[r.Record]:
            return decided_records(session, decided, agent, self._terms.clock.now())

        return await self._carry_out(answer=answer)

    async def rest(self) -> RunResult | None:
        """How what this host drove last came to rest; None where it drove nothing.

        Waits until it drives neither the thread nor a background agent of it.

        Raises:
            SDKError, PropagatingToolError: what the last run failed of, or could not go on for.
        """
        await self._thread.company.idle(self._thread)
        end = self._thread.end
        return None if end is None else _result(end)

    async def _carry_out(
        self,
        *,
        messages: Sequence[Any] = (),
        input_id: str | None = None,
        create: bool = False,
        answer: Callable[[Session, RunAgent], Sequence[r.Record]] | None = None,
    ) -> RunResult:
        self._must_be_open()
        thread, harness = self._thread, self._thread.harness
        order = Order(
            place=Place(self._terms.store, thread.id, thread.id, None, native=True, shared=True),
            messages=messages,
            input_id=input_id,
            by=self._user,
            path=harness.agent_path,
            create=create,
            answer=answer,
            harness=harness.stored_name,
            tenant=thread.tenant,
        )
        return _result(await thread.carry_out(order))

    def _must_be_open(self) -> None:
        raise NotImplementedError


def _result(end: TurnEnd) -> RunResult:
    if end.failure is not None:
        raise end.failure
    session = end.session
    stopped = session.exists and not (session.ended or session.awaiting) and session.outcome is None
    return result_of(end.thread_id, session, stopped=stopped)
