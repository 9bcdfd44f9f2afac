"""A fork: the state of one moment, changed, as the beginning of another session.

It holds all it will ever need of its parent and is stored in progress. The parts of a patch
are applied in this order: the transcript, the business state, a tool's result, a further
input. Input that waits and approvals that are open stay with the parent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from lousho_cli.core.checkpoints import checkpoint_at, children_of, state_of_checkpoint
from lousho_cli.domain.checkpoint import Checkpoint
from lousho_cli.domain.cut_answers import count_answers
from lousho_cli.domain.messages import Message, message_from, user
from lousho_cli.domain.plain import json_text, plain
from lousho_cli.domain.session import IMPORTING, Marked, Run, Session
from lousho_cli.domain.state import State
from lousho_cli.errors import ConfigurationError

UNSET: Any = msgspec.UNSET


class Patch(msgspec.Struct, frozen=True):
    """What differs in a fork.

    messages: a new transcript, or a function from the old one to it.
    business_state: presence matters: None replaces, ``UNSET`` keeps.
    tool_result: the call's id and its result, any JSON value.
    append_input: a user message behind everything; may be empty text.
    """

    messages: Callable[[list[Message]], Sequence[Any]] | Sequence[Any] | None = None
    business_state: Any = UNSET
    tool_result: tuple[str, Any] | None = None
    append_input: str | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of what it changes."""
        present = {
            "messages": self.messages is not None,
            "business_state": self.business_state is not UNSET,
            "tool_result": self.tool_result is not None,
            "append_input": self.append_input is not None,
        }
        return tuple(name for name, there in present.items() if there)


def patch_from(value: Patch | Mapping[str, Any] | None) -> Patch:
    """Reads a patch from a dictionary with the keys of a patch file.

    Raises:
        ConfigurationError: an unknown key, or a tool_result without its call id or result.
    """
    if isinstance(value, Patch):
        return value
    fields = dict(value or {})
    unknown = sorted(fields.keys() - {"messages", "business_state", "tool_result", "append_input"})
    if unknown:
        raise ConfigurationError(
            f"a patch has no {unknown[0]}",
            field=f"patch.{unknown[0]}",
            hint="It may have messages, business_state, tool_result and append_input.",
        )
    result = fields.get("tool_result")
    if result is not None:
        if not isinstance(result, Mapping) or not {"tool_call_id", "result"} <= result.keys():
            raise ConfigurationError("a tool result in a patch needs tool_call_id and result", field="patch.tool_result")
        fields["tool_result"] = (str(result["tool_call_id"]), result["result"])
    text = fields.get("append_input")
    if text is not None and not isinstance(text, str):
        raise ConfigurationError("the input a patch appends is text", field="patch.append_input")
    return Patch(**fields)


def fork_state(source: Session, mark: Marked, patch: Patch) -> State:
    """The state a fork of ``mark`` begins with.

    Raises:
        ConfigurationError: the patch names a call that is not in the transcript.
    """
    checkpoint = patched(checkpoint_at("", mark), patch)
    checkpoint = msgspec.structs.replace(checkpoint, status="in-progress", approval_id=None, decisions={})
    state = state_of_checkpoint(checkpoint)
    children = {call_id: _forked_child(child) for call_id, child in state.children.items()}
    run = mark.run
    start = min(run.start, len(state.messages))
    return msgspec.structs.replace(
        state,
        agent=source.agent,
        path=source.path,
        harness=source.harness,
        tenant=source.tenant,
        runs=(_forked_run(run, start),),
        attempts=0,  # nobody has asked for it to go on; see ``core.pending.has_work``
        children=children,
        settings={name: value for name, value in source.settings.items() if name != IMPORTING},
    )


def forked_children(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The sub-agents of a checkpoint as a fork of it begins with them, in plain JSON as there.

    Raises:
        StorageError: one is not readable.
    """
    children = children_of(stored, waiting=False)
    return {call_id: msgspec.to_builtins(_forked_child(child)) for call_id, child in children.items()}


def _forked_child(state: State) -> State:
    """A sub-agent in a fork: what it had started is forgotten, what it asked is asked again, and its time begins afresh."""
    turn = msgspec.structs.replace(state.turn, started={}, spawned={}, asked={}, steps={}) if state.turn else None
    children = {call_id: _forked_child(child) for call_id, child in state.children.items()}
    runs = tuple(msgspec.structs.replace(run, deadline=None) for run in state.runs)
    return msgspec.structs.replace(state, turn=turn, children=children, decisions={}, runs=runs)


def _forked_run(run: Run, start: int) -> Run:
    return Run(
        number=1,
        input_id=run.input_id or "forked",
        start=start,
        fingerprint=run.fingerprint,
        offered=run.offered,
        model=run.model,
        replay=run.replay,
        max_steps=run.max_steps,
        agent_id=run.agent_id,
        config=run.config,
    )


def patched(checkpoint: Checkpoint, patch: Patch) -> Checkpoint:
    """A checkpoint with a patch applied, its parts in the order that the file's head says."""
    messages: list[Message] = list(checkpoint.messages)
    if patch.messages is not None:
        rewritten = patch.messages(list(messages)) if callable(patch.messages) else patch.messages
        messages = [message_from(message) for message in rewritten]
    state = checkpoint.business_state
    if patch.business_state is not UNSET:
        state = plain(patch.business_state)[0]
    if patch.tool_result is not None:
        _put_result(messages, *patch.tool_result)
    if patch.append_input is not None:
        messages.append(user(patch.append_input))
    return msgspec.structs.replace(checkpoint, messages=tuple(messages), business_state=state)


def _put_result(messages: list[Message], call_id: str, result: Any) -> None:
    call = next((c for message in messages for c in message.tool_calls if c.id == call_id), None)
    if call is None:
        known = [c.id for message in messages for c in message.tool_calls]
        raise ConfigurationError(
            f"the transcript has no call {call_id}",
            field="patch.tool_result",
            hint=f"Its calls are: {', '.join(known)}." if known else "It has no calls.",
        )
    content = json_text(result)[0]
    message = Message(role="tool", content=content, tool_call_id=call.id, tool_name=call.name)
    for index, old in enumerate(messages):
        if old.role == "tool" and old.tool_call_id == call_id:
            messages[index] = message
            return
    messages.append(message)


class LeftBehind(msgspec.Struct, frozen=True):
    """What stands behind a patched result and was said without knowing it. ``step`` is where to fork instead."""

    messages: int
    step: int


def left_behind(mark: Marked, patch: Patch) -> LeftBehind | None:
    """Messages behind the turn of the patched call, which the change does not reach; None when there are none."""
    if patch.tool_result is None:
        return None
    call_id = patch.tool_result[0]
    messages = mark.messages
    at = next((i for i, m in enumerate(messages) if any(c.id == call_id for c in m.tool_calls)), None)
    if at is None:
        return None
    end = at + 1
    while end < len(messages) and messages[end].role == "tool":
        end += 1
    behind = len(messages) - end
    if not behind:
        return None
    return LeftBehind(behind, count_answers(messages[mark.run.start : at + 1]))
