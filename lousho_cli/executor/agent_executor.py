"""The public executor: run an agent so that it survives whatever happens to this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, Literal

from lousho_cli.core.admit import input_id_from, must_say_something
from lousho_cli.core.gate import CutCall, Replay
from lousho_cli.core.permissions import Mode, Rule
from lousho_cli.core.resuming import DriftMode
from lousho_cli.domain.agent import Agent
from lousho_cli.domain.messages import Input, messages_from
from lousho_cli.domain.plain import text_of
from lousho_cli.errors import ConfigurationError
from lousho_cli.executor.abort import AbortSignal
from lousho_cli.executor.beginnings import Order
from lousho_cli.executor.clock import SYSTEM_CLOCK
from lousho_cli.executor.dynamic import agent_source
from lousho_cli.executor.events import Listener
from lousho_cli.executor.forks import ForkResult, fork_session
from lousho_cli.executor.hooks import hooks_from
from lousho_cli.executor.input_queue import InputQueue, released
from lousho_cli.executor.places import place_of
from lousho_cli.executor.pricing import Prices
from lousho_cli.executor.registry import ToolRegistry, registry_from
from lousho_cli.executor.results import RunResult
from lousho_cli.executor.run_agent import Concurrency, OnModelError, RunSettings, SandboxExecute, gated_by, notes_of
from lousho_cli.executor.shielded import shielded
from lousho_cli.executor.streams import EventStream
from lousho_cli.ports.checkpoints import ApprovalStore, CheckpointStore
from lousho_cli.ports.clock import Clock
from lousho_cli.ports.credentials import Credentials
from lousho_cli.ports.provider import Provider
from lousho_cli.ports.tool import Tool

UNSET: Any = object()

Tools = ToolRegistry | Mapping[str, Tool] | Iterable[Tool] | None


class AgentExecutor:
    """Runs, streams and forks agents. It has no state; its methods are static."""

    @staticmethod
    async def execute(
        agent: Agent | Mapping[str, Any],
        input: Input,
        provider: Provider,
        tool_registry: Tools = None,
        *,
        session_id: str | None = None,
        checkpoint_store: CheckpointStore | None = None,
        approval_store: ApprovalStore | None = None,
        max_steps: int = 10,
        tool_concurrency: Concurrency = None,
        signal: AbortSignal | None = None,
        metadata: Mapping[str, Any] | None = None,
        business_state: Any = UNSET,
        on_agent_drift: DriftMode = "warn",
        on_model_error: OnModelError | None = None,
        sandbox_execute: SandboxExecute | None = None,
        input_id: str | None = None,
        by: str | None = None,
        interrupted: str | None = None,
        replay: Replay = "safe",
        requires_approval: Iterable[str] | bool = (),
        approval_ttl_ms: int | None = None,
        max_tokens: int | None = None,
        max_input_tokens: int | None = None,
        max_output_tokens: int | None = None,
        max_cost_usd: float | None = None,
        max_duration_ms: int | None = None,
        on_exceeded: Literal["stop", "throw"] = "stop",
        prices: Prices = None,
        permissions: Sequence[Rule | Mapping[str, Any]] = (),
        permission_mode: Mode = "default",
        hooks: Sequence[Any] = (),
        guardrails: Sequence[Any] = (),
        abort_grace_ms: int | None = None,
        subagents: Mapping[str, Any] | None = None,
        credentials: Credentials | None = None,
        input_queue: InputQueue | None = None,
        interrupted_tool_result: str | None = None,
        truncated_tool_result: str | Callable[[CutCall], str] | None = None,
        continue_cut_off: bool | Mapping[str, Any] = False,
        agent_path: str | PathLike[str] | None = None,
        create: bool = False,
        on_event: Listener | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> RunResult:
        """Runs an agent, or goes on with a session, until it ends, pauses or is aborted.

        With ``session_id`` and ``checkpoint_store`` every step is kept. What happens under an id
        that is known depends on its status: an unfinished run goes on where it stopped, first with
        the calls that have no result; a finished one takes ``input`` as the next message; one that
        waits for a person raises.

        Args:
            agent: its ``instructions``, ``tools`` and ``model`` may each be a function of an ``AgentContext``. A new run
                asks them; one that goes on asks for instructions and tools with the same again, and keeps its model.
            input: text, a message, or a list of them, which may not end in a blank one; [] only goes on.
            tool_registry: tools by name, or a list of them. The agent's ``tools`` picks some.
            max_steps: model calls a run may make, those before a resume included.
            tool_concurrency: how many calls of a turn may run at once; None or 'unbounded' for all.
            metadata: for the functions of the agent; plain JSON, kept with the run.
            business_state: the caller's own data; left out, a resume keeps the stored one, None stores None.
            on_agent_drift: what a changed agent means on resume: warn, error or ignore.
            on_model_error: ``retry_transient_errors()`` or a function of the same kind; None never retries.
            sandbox_execute: runs tools elsewhere; gets the tool, its arguments and its context, and gives or awaits the result.
            input_id: makes sending the same input twice the same as once. by: who sends it, for people to see.
            interrupted: ``rerun`` or ``report``: what to do with calls that were cut and say nothing themselves.
            replay: the default of that for the whole run, recorded at its start.
            requires_approval: names of tools that need a person, or True for all.
            max_tokens, max_input_tokens, max_output_tokens, max_cost_usd, max_duration_ms: limits of the run, its sub-agents
                included; time spent waiting for a person does not count.
            on_exceeded: what a spent limit in tokens or money means: ``stop`` ends the run, ``throw`` fails it.
            prices: what models cost: a ``Price`` by model name, a function from one to the other, ``known_prices()``, or a list
                of those, the first that knows a price first. Needed for ``max_cost_usd``.
            permissions: rules that allow, ask about or deny calls; the first that fits decides (see ``Rule``).
            permission_mode: ``default``, ``plan`` (only tools that change nothing), ``dont-ask`` (what would need a person is
                denied) or ``accept-edits`` (tools that only edit files are not asked about).
            hooks: functions around tools, model calls and the end of the run (see ``Hook``).
            guardrails: functions that look at input, calls and answers and may stop the run (see ``Guardrail``).
            abort_grace_ms: how long an aborted run waits for tools that do not stop; None waits for them.
            subagents: agents that this one may hand work to, by the name of the tool that does so: a ``SubAgent`` each.
            credentials: where secrets are kept: a secret answer from another process comes through it, and tools see those of ``by``.
            input_queue: takes input for this run while it goes on.
            interrupted_tool_result, truncated_tool_result: what the model reads of a call that a crash, or the output limit, cut;
                the latter may be a function of a ``CutCall``. None for our own words.
            continue_cut_off: keep what was written of an answer when this process dies, and have the model go on with it; True,
                or ``{"note": text or texts}`` for what asks for the rest.
            agent_path: where the agent's file is, kept with the session.
            create: refuse a session that exists already.
            on_event: called with each event, in order.

        Returns:
            The result; an abort and a pause are results too.

        Raises:
            SessionAwaitingApprovalError: a person must decide first; nothing ran.
            SessionBusyError: another process drives the session.
            AgentDriftError, ResumeToolMissingError: refused before anything ran; nothing was written.
            ProviderError, PropagatingToolError: the run failed; its last checkpoint stays in progress.
            HookError, GuardrailTrippedError, BudgetExceededError: the same, by a hook that failed, or by what is told to throw.
            ConfigurationError: an option that makes no sense.
            StorageError: the store failed; the last good save stands.
        """
        with released(input_queue):
            settings = RunSettings(
                max_steps=max_steps,
                tool_concurrency=tool_concurrency,
                max_tokens=max_tokens,
                max_input_tokens=max_input_tokens,
                max_output_tokens=max_output_tokens,
                max_cost_usd=max_cost_usd,
                on_exceeded=on_exceeded,
                prices=prices,
                permissions=permissions,
                permission_mode=permission_mode,
                hooks=hooks,
                guardrails=guardrails,
                approval_ttl_ms=approval_ttl_ms,
                max_duration_ms=max_duration_ms,
                requires_approval=gated_by(requires_approval),
                replay=replay,
                interrupted=interrupted,
                interrupted_tool_result=interrupted_tool_result,
                truncated_tool_result=truncated_tool_result,
                continue_cut_off=notes_of(continue_cut_off),
                on_agent_drift=on_agent_drift,
                on_model_error=on_model_error,
                sandbox_execute=sandbox_execute,
                abort_grace_ms=abort_grace_ms,
                subagents=subagents or {},
                credentials=credentials,
            )
            _required(agent=agent, provider=provider, input=input)
            source = agent_source(agent, provider, registry_from(tool_registry), settings, metadata)
            return await shielded(
                source,
                Order(
                    place=place_of(_text_of("session_id", session_id), checkpoint_store, approval_store, clock),
                    messages=must_say_something(messages_from(input)),
                    input_id=input_id_from(input_id),
                    by=_text_of("by", by),
                    path=_path_of(agent_path),
                    create=create,
                    business_state=() if business_state is UNSET else (business_state,),
                    queue=input_queue,
                    credentials=credentials,
                ),
                signal,
                on_event,
                clock,
                hooks_from(hooks),
            )

    @staticmethod
    def stream(*args: Any, **options: Any) -> EventStream[RunResult]:
        """The same as ``execute``, as a stream of events; ``await stream.result()`` gives the result.

        Takes and raises what ``execute`` does; the error comes out of the iteration and of ``result``.
        """
        listener: Listener | None = options.pop("on_event", None)

        signal: AbortSignal | None = options.pop("signal", None)

        def run(on_event: Listener, aborted: AbortSignal) -> Any:
            return AgentExecutor.execute(*args, **options, on_event=on_event, signal=aborted)

        return EventStream(run, listener, signal)

    @staticmethod
    async def fork(
        session_id: str,
        from_step: int | str,
        checkpoint_store: Any,
        patch: Mapping[str, Any] | None = None,
        new_session_id: str | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> ForkResult:
        """A new session from a kept step of another, changed by ``patch``; the source never changes by a byte.

        Args:
            from_step: a step of the newest run that has one, or an address (``2/3``, ``3.1``, ``#128``).
            patch: ``messages``, ``business_state``, ``tool_result`` {tool_call_id, result}, ``append_input``.
            new_session_id: default ``<source>.fork-<n>``, the first that is free.

        Raises:
            NotFoundError: no such step (code LOUSHO_CHECKPOINT_NOT_FOUND); ``kept`` lists those there are.
            ConfigurationError: a store without history, an id that is taken, a patch that fits nothing.
        """
        return await fork_session(session_id, from_step, checkpoint_store, patch, new_session_id, clock)


def _required(**given: Any) -> None:
    for name, value in given.items():
        if value is None:
            raise ConfigurationError(f"{name} is missing", field=name, code=f"LOUSHO_CONFIG_MISSING_{name.upper()}")


def _text_of(field: str, value: object) -> str | None:
    """Text that a caller gave, fit to be stored."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ConfigurationError(f"{field} is text, not {type(value).__name__}", field=field)
    return text_of(value)


def _path_of(value: object) -> str | None:
    path = fspath(value) if isinstance(value, PathLike) else value
    return _text_of("agent_path", path)
