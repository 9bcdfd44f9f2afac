"""Arguments that do not count in a comparison: a time, a random id. Pure.

A field is named by its path, ``since`` or ``filter.since``, with the tool in front where it is that of one tool alone:
``search:filter.since``. Positions in lists are left out: ``items.at`` is that of every item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from lousho_cli.core.trajectory import StepCall, Trajectory
from lousho_cli.core.values import parse

Path = tuple[str, ...]


def without_arguments(run: Trajectory, ignore: Iterable[str]) -> Trajectory:
    """A run without the arguments that ``ignore`` names; arguments that are no JSON object stay as they are."""
    fields = [_field(name) for name in ignore]
    if not fields:
        return run
    steps = tuple(
        msgspec.structs.replace(
            step, tools=tuple(_call(call, [path for tool, path in fields if tool in ("", call.name)]) for call in step.tools)
        )
        for step in run.steps
    )
    return msgspec.structs.replace(run, steps=steps)


def _field(name: str) -> tuple[str, Path]:
    tool, colon, path = name.rpartition(":")
    return (tool if colon else ""), tuple(path.split("."))


def _call(call: StepCall, paths: Sequence[Path]) -> StepCall:
    value = parse(call.args).value
    if not paths or not isinstance(value, dict):
        return call
    for path in paths:
        value = _without(value, path)
    return msgspec.structs.replace(call, args=parse(json.dumps(value, ensure_ascii=False)).text)


def _without(value: Any, path: Path) -> Any:
    if isinstance(value, list):
        return [_without(item, path) for item in value]
    if not isinstance(value, dict) or path[0] not in value:
        return value
    if len(path) == 1:
        return {key: item for key, item in value.items() if key != path[0]}
    return value | {path[0]: _without(value[path[0]], path[1:])}
