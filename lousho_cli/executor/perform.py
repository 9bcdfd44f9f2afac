"""Turns an effect into I/O and what came of it into a record. Decides nothing."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from typing import Any

import msgspec

from lousho_cli.core import tool_errors
from lousho_cli.core.answers import answer_from, storable
from lousho_cli.core.decide import ConsultTool, RunCall
from lousho_cli.core.gate import Consulted, consulted_from
from lousho_cli.core.reviews import reviewed
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import json_text, text_of
from lousho_cli.domain.session import Session
from lousho_cli.errors import PropagatingToolError, ProviderError, SDKError
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.events import Events
from lousho_cli.executor.knowing import Known, tokens_of
from lousho_cli.executor.partials import Partials
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.ports.provider import Answer, ModelRequest, ReasoningDelta, TextDelta
from lousho_cli.ports.tool import ToolContext


class Fatal(msgspec.Struct, frozen=True):
    """A tool stopped the run: the call keeps no result, and the caller gets the error."""

    call: ToolCall
    error: BaseException


async def ask_model(agent: RunAgent, session: Session, step: int, events: Events, partials: Partials, known: Known) -> r.Turn:
    """One model call, streamed. Returns the whole answer as a turn.

    Raises:
        ProviderError: whatever went wrong; an error of another kind is mapped to one.
    """
    request = ModelRequest(session.messages, agent.specs, agent.model, session.turns)
    answer: Answer | None = None
    try:
        async for event in agent.provider.stream(request):
            if isinstance(event, Answer):
                answer = event
            elif isinstance(event, TextDelta):
                events.emit("text.delta", step=step, cursor=session.seq, text=text_of(event.text))
                await partials.add(text_of(event.text))
            elif isinstance(event, ReasoningDelta):
                events.emit("reasoning.delta", step=step, cursor=session.seq, text=text_of(event.text))
    except SDKError:
        raise
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise ProviderError("the provider gave up from inside", category="network", retryable=True) from error
    except Exception as error:
        raise ProviderError(f"the provider failed: {type(error).__name__}: {str(error)[:300]}") from error
    if answer is None:
        raise ProviderError("the model's answer broke off before its end", category="network", retryable=True)
    answered = answer_from(answer)
    message = storable(answered.message, known.call_ids, session.turns + 1)
    used = answered.usage
    reported = used is not None and used.input_tokens is not None and used.output_tokens is not None
    return r.Turn(
        message,
        finish_reason=answered.finish_reason,
        model=answered.model or agent.model or "",
        usage=used,
        estimate=None if reported else (known.tokens, tokens_of(message)),
    )


async def run_call(agent: RunAgent, effect: RunCall, context: ToolContext) -> r.ToolFinished | Fatal | None:
    """Runs one call to its result; None when a recoverable stop kept it from one.

    A tool's error is a result; only a PropagatingToolError is not, nor is an error behind a recoverable
    stop: nobody can tell it from the tool's own way to stop, and who goes on runs the call again.
    """
    call, tool = effect.call, agent.tools[effect.call.name]
    sandbox = agent.settings.sandbox_execute
    try:
        value = await (sandbox(tool, effect.args, context) if sandbox else tool.call(effect.args, context))
        content, altered = json_text(value)
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        return _raised(call, context, effect, RuntimeError(f"the tool was cancelled from inside: {error}"))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is what the model is told
        return _raised(call, context, effect, error)
    return r.ToolFinished(call.id, reviewed(content, effect.decision), altered=altered)


def _is_cancelled() -> bool:
    """Whether somebody cancelled this task, and not only something a tool or provider awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _raised(call: ToolCall, context: ToolContext, effect: RunCall, error: Exception) -> r.ToolFinished | Fatal | None:
    """What a tool's error means. Behind an abort it is the abort, whatever it says."""
    if context.signal.aborted:
        return None if _recoverable(context.signal) else r.ToolFinished(call.id, tool_errors.cancelled(call), is_error=True)
    if isinstance(error, PropagatingToolError):
        return Fatal(call, error)
    content = reviewed(_error_result(call, error), effect.decision, is_error=True)
    return r.ToolFinished(call.id, content, is_error=True)


def _recoverable(signal: Any) -> bool:
    return isinstance(signal, AbortSignal) and signal.recoverable


def _error_result(call: ToolCall, error: Exception) -> str:
    message = error.detail if isinstance(error, SDKError) else str(error)
    return tool_errors.execution(call, type(error).__name__, message or type(error).__name__)


def consult(agent: RunAgent, effect: ConsultTool) -> Consulted | Awaitable[Consulted]:
    """Asks the tool's own approval function: the answer, or what to await for it. What it raises is an answer too."""
    check = agent.tools[effect.call.name].needs_approval
    try:
        value = check(effect.args) if callable(check) else check
    except Exception as error:  # noqa: BLE001 - a check that fails must not let the call through
        return _check_failed(error)
    return _awaited(value) if inspect.isawaitable(value) else consulted_from(value)


async def _awaited(answer: Awaitable[Any]) -> Consulted:
    try:
        return consulted_from(await answer)
    except Exception as error:  # noqa: BLE001 - as above
        return _check_failed(error)


def _check_failed(error: Exception) -> Consulted:
    return Consulted("error", f"{type(error).__name__}: {error}")
