"""Carrying out an order for a caller who may leave: cancelling its task is an abort, saved before the task ends."""

from __future__ import annotations

import asyncio

from lousho_cli.executor.abort import AbortController, AbortSignal
from lousho_cli.executor.beginnings import Order
from lousho_cli.executor.dynamic import AgentSource
from lousho_cli.executor.events import Events, Listener
from lousho_cli.executor.farewell import telling_the_end
from lousho_cli.executor.hooks import NO_HOOKS, Hooks
from lousho_cli.executor.results import RunResult
from lousho_cli.executor.runs import carry_out
from lousho_cli.ports.clock import Clock


async def shielded(
    source: AgentSource, order: Order, signal: AbortSignal | None, on_event: Listener | None, clock: Clock, hooks: Hooks = NO_HOOKS
) -> RunResult:
    """Carries out an order in a task of its own, and tells hooks of its end. Raises what ``carry_out`` raises."""
    controller = AbortController()
    forget = signal.on_abort(lambda: controller.abort(signal.reason)) if signal else lambda: None
    events = Events(on_event, clock, order.place.session_id)
    running = carry_out(source, order, controller, events, clock)
    task = asyncio.ensure_future(telling_the_end(hooks, order.place.named, running) if hooks.on_run_end else running)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        controller.abort("cancelled")
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # the abort was saved or failed; the caller is told of neither, it has left
        raise
    finally:
        forget()
