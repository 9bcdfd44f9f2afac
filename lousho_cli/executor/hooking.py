"""Running the hooks around a model call and behind a tool."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from lousho_cli.core.transcript import check
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import PendingApproval
from lousho_cli.domain.cut_answers import count_answers
from lousho_cli.domain.messages import Message, ToolCall
from lousho_cli.domain.plain import json_text
from lousho_cli.errors import HookError
from lousho_cli.executor.hooks import HookResult, Hooks, ask, said
from lousho_cli.ports.provider import Answer, ModelRequest


async def hooked_request(hooks: Hooks, request: ModelRequest) -> ModelRequest:
    """The request as hooks leave it. It is sent and forgotten: the transcript stays as it is.

    Raises:
        HookError: a hook failed, or gave what no provider may be sent.
    """
    for name, hook in hooks.before_model:
        changed = await ask(name, hook, request)
        if changed is None:
            continue
        if not isinstance(changed, ModelRequest):
            raise HookError(name, f"gave a {type(changed).__name__} in place of a ModelRequest")
        if changed.messages is not request.messages:
            if not isinstance(changed.messages, Sequence) or not all(isinstance(message, Message) for message in changed.messages):
                raise HookError(name, "made a transcript that is no list of Message values")
            problem = check(changed.messages)
            if problem is not None:
                raise HookError(name, f"made a transcript that is not valid at message {problem.index}: {problem.detail}")
            changed = msgspec.structs.replace(changed, turns=count_answers(changed.messages))
        request = changed
    return request


async def hooked_answer(hooks: Hooks, request: ModelRequest, answer: Answer) -> Answer:
    """The answer as hooks leave it, which is what is recorded.

    Raises:
        HookError: a hook failed, or gave no answer.
    """
    for name, hook in hooks.after_model:
        changed = await ask(name, hook, request, answer)
        if changed is not None and not isinstance(changed, Answer):
            raise HookError(name, f"gave a {type(changed).__name__} in place of an Answer")
        answer = changed or answer
    return answer


async def hooked_result(hooks: Hooks, call: ToolCall, args: Any, session_id: str | None, ended: r.ToolFinished) -> r.ToolFinished:
    """A result as hooks leave it. What one puts in its place is a result, whatever the tool's own was.

    Raises:
        HookError: a hook failed, or gave what can not be used.
    """
    for name, hook in hooks.post_tool:
        status: Literal["success", "error"] = "error" if ended.is_error else "success"
        result = HookResult(call.name, args, call.id, status, json.loads(ended.content), session_id)
        answer = said(name, await ask(name, hook, result), "result")
        if answer is not None:
            content, altered = json_text(answer[1])
            ended = r.ToolFinished(ended.id, content, altered=altered, replaced_by=name)
    return ended


async def hooked_pauses(hooks: Hooks, batches: Sequence[r.Batch], session_id: str | None) -> None:
    """Tells the hooks behind a tool that its call waits for a person; what they give changes nothing.

    Raises:
        HookError: a hook failed.
    """
    for pending in _waits_in(batches):
        for name, hook in hooks.post_tool:
            await ask(name, hook, HookResult(pending.tool_name, pending.args, pending.tool_call_id, "pause", None, session_id))


def _waits_in(batches: Sequence[r.Batch]) -> Iterator[PendingApproval]:
    """What began to wait; a call of a sub-agent is told of where it waits, not by each lead of it."""
    for batch in batches:
        for record in batch.records:
            for inner in record.records if isinstance(record, r.Within) else (record,):
                if isinstance(inner, r.WaitOpened) and not inner.approval.calls:
                    yield inner.approval
