"""Turns an effect into I/O and what came of it into a record. Decides nothing."""

from __future__ import annotations

import asyncio
from inspect import isawaitable
from typing import Any

import msgspec

from lousho_cli.core import tool_errors
from lousho_cli.core.answers import answer_from, counted, storable
from lousho_cli.core.decide import FinishCall, RunCall, finished
from lousho_cli.core.redaction import without_keys
from lousho_cli.core.reviews import reviewed
from lousho_cli.domain import events as e
from lousho_cli.domain import records as r
from lousho_cli.domain.approvals import Question
from lousho_cli.domain.messages import ToolCall
from lousho_cli.domain.plain import json_text, plain, text_of
from lousho_cli.domain.prices import priced
from lousho_cli.errors import AskPerson, PropagatingToolError, ProviderError, SDKError, SignInRequired
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.events import Events
from lousho_cli.executor.guardrails import Watch
from lousho_cli.executor.hooking import hooked_answer, hooked_request, hooked_result
from lousho_cli.executor.hooks import Hooks
from lousho_cli.executor.interrupts import is_cancelled
from lousho_cli.executor.knowing import Known, tokens_of
from lousho_cli.executor.partials import Partials
from lousho_cli.executor.run_agent import RunAgent
from lousho_cli.ports.provider import Answer, ModelRequest, ReasoningDelta, TextDelta
from lousho_cli.ports.tool import ToolContext


class Fatal(msgspec.Struct, frozen=True):
    """A tool or a hook stopped the run: the call keeps no result, and the caller gets the error."""

    call: ToolCall
    error: BaseException


Outcome = r.ToolFinished | r.ToolAsked | Fatal
"""What became of a call."""


async def ask_model(
    agent: RunAgent, request: ModelRequest, step: int, events: Events, partials: Partials, known: Known, watch: Watch
) -> r.Turn:
    """One model call, streamed. Returns the whole answer as a turn, as hooks and guardrails leave it, each field of the kind it should be.

    Raises:
        ProviderError: whatever went wrong; an error of another kind is mapped to one.
        HookError, GuardrailTrippedError: a hook or guardrail failed, or stopped the run.
    """
    number = request.turns + 1
    if agent.hooks.before_model:
        request = await hooked_request(agent.hooks, request)
    answer, told = await _streamed(agent, request, step, events, partials)
    if agent.hooks.after_model:
        answer = await hooked_answer(agent.hooks, request, answer)
    answered = answer_from(answer)
    message = storable(answered.message, known.call_ids, number)
    if agent.guards.output:
        message = await watch.answered(message)
    if not told and events.wanted and message.text:
        events.emit(e.TextDelta(step=step, text=message.text))
    used, model = answered.usage, answered.model or text_of(agent.model or "")
    reported = used is not None and used.input_tokens is not None and used.output_tokens is not None
    estimate = None if reported else (known.tokens, tokens_of(message))
    if agent.price_of is not None:
        used = counted(priced(used, agent.price_of(model), estimate or (0, 0)))
    return r.Turn(message, answered.finish_reason, model, used, estimate)


async def _streamed(agent: RunAgent, request: ModelRequest, step: int, events: Events, partials: Partials) -> tuple[Answer, bool]:
    """The answer, its pieces told as they come, and whether any of its text was: none where a guardrail has to see the whole of it first.

    Where a hook may still change it, its pieces are told and not recorded: what the hook takes out is to be in no log.
    """
    answer: Answer | None = None
    shown, told = not agent.guards.output, False
    kept = None if agent.hooks.after_model else partials
    try:
        async for event in agent.provider.stream(request):
            if isinstance(event, Answer):
                answer = event
            elif shown:
                told = told or (isinstance(event, TextDelta) and bool(event.text))
                await _piece(event, step, events, kept)
    except SDKError:
        raise
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        raise ProviderError("the provider gave up from inside", category="network", retryable=True) from error
    except Exception as error:
        said = without_keys(str(error))[:300]
        raise ProviderError(f"the provider failed: {type(error).__name__}: {said}") from error
    if answer is None:
        raise ProviderError("the model's answer broke off before its end", category="network", retryable=True)
    return answer, told


async def _piece(event: TextDelta | ReasoningDelta, step: int, events: Events, kept: Partials | None) -> None:
    """Tells a piece of an answer, and has it recorded where it is ``kept``."""
    if isinstance(event, TextDelta):
        text = text_of(event.text)
        if events.wanted:
            events.emit(e.TextDelta(step=step, text=text))
        if kept is not None:
            await kept.add(text)
    elif isinstance(event, ReasoningDelta):
        if event.text and events.wanted:
            events.emit(e.ReasoningDelta(step=step, text=text_of(event.text)))
        if event.block is not None and kept is not None:
            await kept.add_block(event.block)


async def run_call(agent: RunAgent, effect: RunCall, context: ToolContext) -> Outcome | None:
    """Runs one call to its result; None when a recoverable stop kept it from one.

    A tool's error is a result, and what it needs a person for is recorded as such. A PropagatingToolError is neither, nor
    is an error behind a recoverable stop: nobody can tell it from the tool's own way to stop, and who goes on runs the call again.
    """
    call, tool = effect.call, agent.tools[effect.call.name]
    sandbox = agent.settings.sandbox_execute
    try:
        running = sandbox(tool, effect.args, context) if sandbox else tool.call(effect.args, context)
        value = await running if sandbox is None or isawaitable(running) else running
        content, altered = json_text(value)
        ended: Outcome = r.ToolFinished(call.id, content, altered=altered)
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        if context.signal.aborted:
            return _behind_abort(call, context.signal)
        ended = _raised(effect, RuntimeError(f"the tool was cancelled from inside: {error}"))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is what the model is told
        if context.signal.aborted:
            return _behind_abort(call, context.signal)
        ended = _raised(effect, error)
    if agent.hooks.post_tool:
        ended = await reported(agent.hooks, call, effect.args, context.session_id, ended)
    if effect.decision is None or not isinstance(ended, r.ToolFinished):
        return ended
    return msgspec.structs.replace(ended, content=reviewed(ended.content, effect.decision, is_error=ended.is_error))


async def finish_call(agent: RunAgent, effect: FinishCall, session_id: str | None) -> Outcome:
    """The result of a call that did not run, as hooks leave it."""
    return await reported(agent.hooks, effect.call, None, session_id, finished(effect.call, effect.settled))


async def reported(hooks: Hooks, call: ToolCall, args: Any, session_id: str | None, ended: Outcome) -> Outcome:
    """A result as the hooks behind it leave it. One that fails stops the run, and the call keeps no result."""
    if not isinstance(ended, r.ToolFinished):
        return ended
    try:
        return await hooked_result(hooks, call, args, session_id, ended)
    except SDKError as error:
        return Fatal(call, error)


def _behind_abort(call: ToolCall, signal: Any) -> r.ToolFinished | None:
    """An error behind an abort is the abort, whatever it says."""
    recoverable = isinstance(signal, AbortSignal) and signal.recoverable
    return None if recoverable else r.ToolFinished(call.id, tool_errors.cancelled(call), is_error=True)


def _raised(effect: RunCall, error: Exception) -> Outcome:
    """What a tool's error means."""
    call = effect.call
    if isinstance(error, PropagatingToolError):
        return Fatal(call, error)
    if isinstance(error, AskPerson):
        question = Question(text_of(error.text), tuple(map(text_of, error.options)), error.allow_free_text, url=error.url)
        return r.ToolAsked(call.id, "sign-in" if isinstance(error, SignInRequired) else "question", question, plain(effect.args)[0])
    message = error.detail if isinstance(error, SDKError) else str(error)
    name = type(error).__name__
    content = tool_errors.declared(call, name, message or name, getattr(error, "tool_error_kind", None))
    return r.ToolFinished(call.id, content, is_error=True)
