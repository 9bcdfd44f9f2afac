"""A session as a trajectory of the Agent Trajectory Interchange Format, version 1.8."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from math import isfinite
from typing import Any

import msgspec

from lousho_cli.domain.cut_answers import is_cut_off
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Part, TextPart, ToolCall
from lousho_cli.domain.plain import plain
from lousho_cli.domain.usage import RunUsage
from lousho_cli.interchange.writing.subject import Said, Started, Subject, Taken, Transcript

VERSION = "ATIF-v1.8"

_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def trajectory(subject: Subject, version: str) -> dict[str, Any]:
    """The trajectory as JSON data; sub-agents stand in it, inside the one that started them.

    Args:
        version: that of lousho, where the agent has no fingerprint of its own.
    """
    session = subject.session
    root = _trajectory(subject, subject.lead, version, {})
    told = {
        "status": session.status,
        "outcome": session.outcome,
        "error": session.error,
        "finish_reason": session.finish_reason,
        "address": subject.address,
        "parent": session.parent.session if session.parent else None,
        "parent_step": session.parent.step if session.parent and not session.parent.beside else None,
        "imported_from": msgspec.to_builtins(subject.origin),
        "business_state": session.business_state,
        "redacted": subject.redacted or None,
    }
    return {**root, "extra": {"lousho": plain(_known(told))[0]}}


def _trajectory(subject: Subject, one: Transcript, version: str, names: dict[tuple[str, ...], int]) -> dict[str, Any]:
    session = one.session
    agent = session.agent or session.run.agent_id or (one.path[-1] if one.path else "") or "agent"
    fingerprint = session.run.fingerprint
    inner = _Inner(subject, one, version, names)
    steps = _steps(one, inner)
    models = [said.step.usage.model for said in one.said if said.step is not None and said.step.usage.model]
    extra = {"tools": list(session.run.offered) or None}
    whole: dict[str, Any] = {
        "schema_version": VERSION,
        "session_id": subject.id,
        "agent": _known(
            {
                "name": agent,
                "version": fingerprint.hash if fingerprint is not None else version,
                "model_name": models[-1] if models else session.run.model,
                "extra": _known(extra) or None,
            }
        ),
        "steps": steps,
        "final_metrics": _metrics_of_all(session.earlier.joined(session.usage), len(steps)),
    }
    return whole | ({"subagent_trajectories": inner.made} if inner.made else {})


class _Inner:
    """The sub-agents of one agent: made as their calls come by, each under an id of its own."""

    def __init__(self, subject: Subject, one: Transcript, version: str, names: dict[tuple[str, ...], int]) -> None:
        self.made: list[dict[str, Any]] = []
        self._subject, self._version, self._names = subject, version, names
        self._started = Started(subject, one)

    def of(self, call_id: str, tool: str | None) -> str | None:
        """The id of the trajectory of what a call has started; None where it started none."""
        found = self._started.take(call_id, tool)
        return None if found is None else self._make(found)

    def rest(self) -> None:
        """Those whose call is not in the transcript any more: they are there, and nothing leads to them."""
        for found in self._started.rest():
            self._make(found)

    def _make(self, found: Transcript) -> str:
        number = self._names[found.calls] = self._names.get(found.calls, 0) + 1  # an id of a call may be used again
        name = "/".join(found.calls) + (f"#{number}" if number > 1 else "")
        self.made.append({"trajectory_id": name, **_trajectory(self._subject, found, self._version, self._names)})
        return name


def _steps(one: Transcript, inner: _Inner) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    open_calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for said in one.said:
        message = said.message
        if message.role == "tool" and message.tool_call_id in open_calls:
            step = open_calls.pop(message.tool_call_id)[1]
            result = _result(said, inner.of(message.tool_call_id, message.tool_name))
            step.setdefault("observation", {"results": []})["results"].append(result)
            continue
        step = _step(said, len(steps) + 1)
        steps.append(step)
        if message.role == "assistant":
            open_calls = {call.id: (call.name, step) for call in message.tool_calls}
    for call_id, (tool, step) in open_calls.items():  # it runs, or was cut: what its sub-agent did is there all the same
        if (name := inner.of(call_id, tool)) is not None:
            result = {"source_call_id": call_id, "subagent_trajectory_ref": [{"trajectory_id": name}]}
            step.setdefault("observation", {"results": []})["results"].append(result)
    inner.rest()
    return steps


def _step(said: Said, number: int) -> dict[str, Any]:
    message = said.message
    sources = {"assistant": "agent", "user": "user"}
    step: dict[str, Any] = {
        "step_id": number,
        "timestamp": _time(said.at),
        "source": sources.get(message.role, "system"),
        "message": _content(message),
        "is_copied_context": True if said.copied else None,
        "extra": _known({"cut_off": is_cut_off(message) or None, "result_of": message.tool_call_id}) or None,
    }
    if message.role == "assistant":
        step["model_name"] = (said.step.usage.model or None) if said.step else None
        step["reasoning_content"] = "\n\n".join(block.text for block in message.reasoning if block.text) or None
        step["tool_calls"] = [_call(call) for call in message.tool_calls] or None
        step["metrics"] = _metrics(said.step) if said.step else None
    return _known(step)


def _time(at: str | None) -> str | None:
    """A time, where it is one."""
    try:
        datetime.fromisoformat(at or "")
    except ValueError:
        return None
    return at


def _call(call: ToolCall) -> dict[str, Any]:
    """A call. Where its arguments are no object that can be written as it is, their text stands beside what can."""
    try:
        arguments = json.loads(call.arguments or "{}", strict=False, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        arguments = None
    clean, altered = plain(arguments) if isinstance(arguments, dict) else ({}, True)
    made = {"tool_call_id": call.id, "function_name": call.name, "arguments": clean}
    return made | ({"extra": {"arguments_text": call.arguments}} if altered else {})


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key that stands twice would lose a value")
    return made


def _result(said: Said, inner: str | None) -> dict[str, Any]:
    message = said.message
    result = {
        "source_call_id": message.tool_call_id,
        "content": _content(message),
        "subagent_trajectory_ref": [{"trajectory_id": inner}] if inner is not None else None,
        "extra": _known({"is_error": message.is_error or None, "timestamp": said.at or None}) or None,
    }
    return _known(result)


def _content(message: Message) -> str | list[dict[str, Any]]:
    if isinstance(message.content, str):
        return message.content
    return list(_parts(message.content))


def _parts(parts: tuple[Part, ...]) -> Iterator[dict[str, Any]]:
    for part in parts:
        if isinstance(part, TextPart):
            yield {"type": "text", "text": part.text}
        elif isinstance(part, ImagePart) and (kind := _picture(part)) in _PICTURES:
            inline = not part.image.startswith(("http://", "https://", "data:"))
            yield {"type": "image", "source": {"media_type": kind, "path": f"data:{kind};base64,{part.image}" if inline else part.image}}
        else:
            yield {"type": "text", "text": said_of(part)}


def _picture(part: ImagePart) -> str:
    if part.image.startswith("data:"):
        return part.image[5:].partition(",")[0].partition(";")[0]
    return part.mime_type or "image/png"


def said_of(part: ImagePart | FilePart) -> str:
    """What stands for a picture or a file in a form that holds none."""
    if isinstance(part, FilePart):
        return f"[file {part.filename or 'without a name'}, {part.mime_type}]"
    address = part.image if part.image.startswith(("http://", "https://")) else ""
    return f"[image {address or part.mime_type or 'of unknown type'}]"


def _metrics(taken: Taken) -> dict[str, Any]:
    usage = taken.usage
    extra = {
        "reasoning_tokens": usage.reasoning_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "estimated": usage.estimated or None,
        "run": taken.run,
        "step": usage.step,
    }
    return _known(
        {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "cached_tokens": usage.cached_input_tokens,
            "cost_usd": _finite(usage.cost_usd),
            "extra": _known(extra),
        }
    )


def _finite(cost: float | None) -> float | None:
    return cost if cost is not None and isfinite(cost) else None


def _metrics_of_all(usage: RunUsage, steps: int) -> dict[str, Any]:
    known = usage.model_calls > 0
    return _known(
        {
            "total_prompt_tokens": usage.input_tokens if known else None,
            "total_completion_tokens": usage.output_tokens if known else None,
            "total_cached_tokens": usage.cached_input_tokens if known else None,
            "total_cost_usd": _finite(usage.cost_usd) if known else None,
            "total_steps": steps,
        }
    )


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
