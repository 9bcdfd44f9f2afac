"""The trajectory of a case, as its cassette tells it: the calls in order, their results, the finish reason, the tokens. Pure.

The values are those of every comparison: ``core.trajectory``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lousho_cli.core.matching import Mode, calls_match
from lousho_cli.core.trajectory import Step, StepCall, Trajectory
from lousho_cli.core.values import parse
from lousho_cli.evals.cassette_file import CassetteFile, Entry, RequestMessage, Response


def cassette_trajectory(file: CassetteFile | None) -> Trajectory | None:
    """What the model did over the entries of a cassette, in their order; None without one, or one that holds nothing.

    A call that failed is no step. The finish reason is that of the last entry, the name of its error where it failed;
    the tokens are those that were told, None where none were.
    """
    if file is None or not file.entries:
        return None
    last = file.entries[-1]
    counted = [counts for entry in file.entries if entry.response and (counts := _tokens(entry.response)) is not None]
    return Trajectory(
        steps=tuple(_steps(file.entries)),
        finish_reason=last.response.finish_reason if last.response else last.error.name if last.error else None,
        total_tokens=sum(counted) if counted else None,
    )


def _tokens(response: Response) -> int | None:
    usage = response.usage
    if usage is None:
        return None
    if usage.total_tokens is not None:
        return usage.total_tokens
    told = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
    return sum(told) if told else None


def _steps(entries: Sequence[Entry]) -> Iterator[Step]:
    for place, entry in enumerate(entries):
        if entry.response is None:
            continue
        results = _results(entry, entries[place + 1 :])
        calls = entry.response.tool_calls
        yield Step(
            entry.response.text, tuple(StepCall(call.id, call.name, _args(call.args), results.get(n)) for n, call in enumerate(calls))
        )


def _results(entry: Entry, later: Iterable[Entry]) -> dict[int, str]:
    """What the calls of an answer gave, by their number: the next request of the same conversation has them behind it."""
    count = len(entry.request.messages)
    follows = next((one for one in later if one.lane == entry.lane and one.request.messages[:count] == entry.request.messages), None)
    behind: Sequence[RequestMessage] = follows.request.messages[count + 1 :] if follows else ()
    results: dict[int, str] = {}
    for number, message in enumerate(behind):
        if message.role != "tool":
            break
        results[number] = message.content
    return results


def _args(given: Any) -> str:
    return parse(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)).text


def expected_calls(calls: Iterable[Mapping[str, Any]]) -> tuple[StepCall, ...]:
    """Calls as somebody wrote them down: ``{name, args}``, arguments as a value or as JSON text, none where left out."""
    return tuple(StepCall("", str(call["name"]), _args(call.get("args") or {})) for call in calls)


def trajectory_matches(wanted: Iterable[Mapping[str, Any]], made: Iterable[StepCall], mode: Mode = "strict") -> bool:
    """Whether the calls that were made pass for those that were written down, under a mode of ``lousho diff``.

    Raises:
        ConfigurationError: there is no such mode.
    """
    return calls_match(expected_calls(wanted), made, mode)
