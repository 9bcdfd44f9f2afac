"""What a person does on a handle: sees what waits, and decides it, whichever host drives the thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lousho_cli.core.answering import waiting
from lousho_cli.domain.approvals import ApprovalDecision, PendingApproval
from lousho_cli.domain.heads import Post
from lousho_cli.domain.plain import json_text
from lousho_cli.domain.session import Session
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.abort import AbortController
from lousho_cli.executor.approvals import check_decision, decision_from
from lousho_cli.host.receipts import Receipt
from lousho_cli.host.thread import Terms, Thread
from lousho_cli.ports.sessions import read_session

_WATCH_MS, _BRIEFLY_MS = 200, 10
"""How long each time it is waited for the owner; briefly once it has decided, as its post goes next."""


class Deciding:
    """The part of a handle that is a person's. Its receipts say what came of a decision, also where another host took it:

    ``accepted``: it counts, and the run goes on. ``rejected``: ``no_pending_interrupts``, nothing waits under that id
    (any more); ``invalid_answer``, and it still waits; ``secret_answer_needs_credentials``, ``unknown_secret_answer``.
    """

    _thread: Thread
    _terms: Terms
    _user: str | None

    async def pending(self) -> list[PendingApproval]:
        """What waits for a person: that for which the turn stopped, and what running code asks, oldest first.

        Raises:
            StorageError: the thread can not be read.
        """
        session = await self._read()
        stopped = [session.wait] if session.wait is not None and not session.wait_taken else []
        return [msgspec.structs.replace(one, session_id=self._thread.id) for one in (*session.open_asks, *stopped)]

    async def approve(
        self, approval_id: str, *, note: str | None = None, always: bool = False, edit: Mapping[str, Any] | None = None
    ) -> Receipt:
        """Lets a call run, or says that a sign-in is done. ``note`` goes to the model beside the result.

        Args:
            always: nobody is asked about the tool again in the threads of this harness and tenant, where the host keeps metadata.
            edit: other arguments for the call, all of them; its tool validates them, and the decision is bound to them.

        Raises:
            ConfigurationError: it is a question, or the tool does not take ``edit``; it still waits.
            AbortedError, StorageError: as ``send``.
        """
        session = await self._read()
        wait = waiting(session, approval_id)
        if wait is not None and wait.kind in ("question", "secret"):
            raise ConfigurationError(f"{approval_id} is a question", field="approval_id", hint="Use answer, or reject.")
        more: dict[str, Any] = {"always": True, "tool": wait.tool_name} if always and wait is not None and wait.kind == "tool" else {}
        if edit is not None and wait is not None:
            more["args"] = await self._edited(session, ApprovalDecision(approval_id, approved=True, args=edit, digest=wait.digest))
        return await self._decide(wait, {"id": approval_id, "approved": True, "note": note, **more})

    async def reject(self, approval_id: str, *, note: str | None = None) -> Receipt:
        """Does not let a call run, or declines to answer; ``note`` says why. Raises like ``approve``."""
        wait = waiting(await self._read(), approval_id)
        return await self._decide(wait, {"id": approval_id, "approved": False, "note": note})

    async def answer(self, approval_id: str, value: Any) -> Receipt:
        """Answers a question. A secret reaches the call that asked and no record.

        Args:
            value: text, or where the question has a schema any JSON value of it.

        Raises:
            ConfigurationError: it is a call to decide, or a sign-in.
            AbortedError, StorageError: as ``send``.
        """
        wait = waiting(await self._read(), approval_id)
        if wait is not None and wait.kind in ("tool", "sign-in"):
            raise ConfigurationError(f"{approval_id} is no question", field="approval_id", hint="Use approve, or reject.")
        text = value if isinstance(value, str) else json_text(value)[0]
        return await self._decide(wait, {"id": approval_id, "approved": True, "note": text})

    async def _edited(self, session: Session, decision: ApprovalDecision) -> Any:
        """The arguments of a decision as the tool that is to get them reads them."""
        agent = await self._thread.harness.source.agent_for(session, (), self._thread.id, AbortController().signal)
        return check_decision(session, decision_from(decision), agent.tools).args

    async def _decide(self, wait: PendingApproval | None, body: dict[str, Any]) -> Receipt:
        clock = self._terms.clock
        said = {**body, "by": self._user, **({"digest": wait.digest} if wait is not None else {})}
        post = Post(clock.new_id(), "answer", clock.now(), self._user, said)
        receipt = await self._submit(post)
        return await self._taken(post, str(body["id"])) if receipt.status == "queued" else receipt

    async def _taken(self, post: Post, approval_id: str) -> Receipt:
        """What the owner made of a post; it goes once the log says so."""
        store, thread_id = self._terms.store, self._thread.id
        while True:
            left = any(one.id == post.id for one in await store.inbox(thread_id))
            session = await self._read()
            refused = session.inputs.get(post.id)
            if refused is not None:
                return Receipt(post.id, "rejected", reason=refused.error)
            if not left:
                return Receipt(post.id, "accepted")
            self._must_be_open()
            await store.watch(thread_id, session.seq, _BRIEFLY_MS if approval_id in session.decided else _WATCH_MS)

    async def _read(self) -> Session:
        self._must_be_open()
        return await read_session(self._terms.store, self._thread.id)

    def _must_be_open(self) -> None:
        raise NotImplementedError

    async def _submit(self, post: Post) -> Receipt:
        raise NotImplementedError
