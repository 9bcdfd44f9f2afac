"""Trajectories in ATIF: steps of the system, a user and an agent, each with what it called and what it saw."""

from __future__ import annotations

from typing import Any

import msgspec

from lousho_cli.domain.messages import Message, Reasoning, ToolCall
from lousho_cli.domain.usage import CallUsage
from lousho_cli.interchange.reading.fields import listed, mapping, number, subset, text, time, whole, written
from lousho_cli.interchange.reading.items import content_of
from lousho_cli.interchange.reading.values import BadLine, Entry, Source, source_of

KIND = "atif"


def recognises(value: dict[str, Any]) -> bool:
    """Whether a document says that it is one."""
    return text(value.get("schema_version")).startswith("ATIF") and isinstance(value.get("steps"), list)


def read(value: dict[str, Any], name: str) -> list[Source]:
    """The session of a trajectory, then those of its sub-agents."""
    agent = mapping(value.get("agent"))
    entries: list[Entry] = []
    bad: list[BadLine] = []
    for place, step in enumerate(listed(value.get("steps")), 1):
        found = _step(mapping(step), place, text(agent.get("model_name")))
        entries.extend(found)
        if not found:
            bad.append(BadLine(place, "it is no step: its source is none of system, user and agent"))
    session = text(value.get("session_id")) or text(value.get("trajectory_id")) or name
    details = subset(value, ("schema_version", "notes", "final_metrics", "trajectory_id"))
    lead = source_of(KIND, session, text(agent.get("name")) or KIND, entries, details=details, bad=tuple(bad))
    return [lead, *_inner(value, session)]


def _inner(value: dict[str, Any], session: str) -> list[Source]:
    found: list[Source] = []
    for count, one in enumerate(listed(value.get("subagent_trajectories")), 1):
        known = mapping(one)
        own = text(known.get("trajectory_id")) or f"agent-{count}"
        inner = read({**known, "session_id": f"{session}.{own}"}, own)
        found.extend(source if source.parent else msgspec.structs.replace(source, parent=session) for source in inner)
    return found


def _step(step: dict[str, Any], place: int, model: str) -> list[Entry]:
    at, said = time(step.get("timestamp")), content_of(step.get("message"))
    source = step.get("source")
    if source == "agent":
        return [_answer(step, at, place, model), *_results(step, at, place)]
    if source in ("system", "user"):
        return [Entry(Message(source, said), at, place), *_results(step, at, place)]
    return []


def _answer(step: dict[str, Any], at: str, place: int, model: str) -> Entry:
    calls = [
        ToolCall(text(call.get("tool_call_id")), text(call.get("function_name")), _arguments(call))
        for call in listed(step.get("tool_calls"))
        if isinstance(call, dict)
    ]
    thought = text(step.get("reasoning_content"))
    said = content_of(step.get("message"))
    message = Message(
        "assistant",
        said if isinstance(said, str) else written(step.get("message")),
        tuple(calls),
        reasoning=(Reasoning(thought),) if thought else (),
    )
    metrics = mapping(step.get("metrics"))
    used = CallUsage(
        whole(metrics.get("prompt_tokens")),
        whole(metrics.get("completion_tokens")),
        whole(metrics.get("cached_tokens")),
        cost_usd=number(metrics.get("cost_usd")),
    )
    return Entry(message, at, place, text(step.get("model_name")) or model, used if used != CallUsage() else None)


def _arguments(call: dict[str, Any]) -> str:
    """The arguments of a call; the text of those that no object can hold stands beside them in what we wrote."""
    said = mapping(call.get("extra")).get("arguments_text")
    return said if isinstance(said, str) else written(call.get("arguments", {}))


def _results(step: dict[str, Any], at: str, place: int) -> list[Entry]:
    calls = [text(mapping(call).get("tool_call_id")) for call in listed(step.get("tool_calls"))]
    results = [mapping(one) for one in listed(mapping(step.get("observation")).get("results"))]
    found = []
    for result in results:
        call_id = text(result.get("source_call_id")) or (calls[0] if len(calls) == 1 and len(results) == 1 else "")
        content = content_of(result.get("content"))
        said = content if isinstance(content, str) else written(result.get("content"))
        if call_id:
            failed = mapping(result.get("extra")).get("is_error") is True
            found.append(Entry(Message("tool", said, tool_call_id=call_id, is_error=failed), at, place))
        elif said:
            found.append(Entry(Message("user", said), at, place))
    return found
