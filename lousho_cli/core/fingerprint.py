"""What a model can see of an agent, as hashes, and what changed between two of them.

A run is safe to continue when the model would be asked the same way: same model, same
tools, same instructions. Code behind a tool is no part of that, so changing only code
never counts. Each part has its own hash, so that a difference can be named.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from lousho_cli.domain.agent import AgentDrift, Fingerprint, ModelChange

VERSION = 1
"""What the parts and hashes mean; fingerprints of different versions are never compared."""


def fingerprint(model: str | None, tools: Mapping[str, Mapping[str, Any] | None], instructions: str) -> Fingerprint:
    """The fingerprint of an agent.

    Args:
        model: the model asked, None when it is not known.
        tools: the JSON Schema of each tool's arguments by name; None counts as an empty one.
            Neither the order of the names nor that of a schema's keys matters.
        instructions: the agent's own prompt, '' when it has none.
    """
    schemas = {name: _hash(_canonical(tools[name] or {})) for name in sorted(tools)}
    return _of_parts(model, schemas, _hash(instructions))


def keeping_instructions(current: Fingerprint, saved: Fingerprint | None) -> Fingerprint:
    """``current`` with the instructions of ``saved``: of an agent that goes on with a transcript it did not begin.

    ``current`` itself where nothing was saved, or by a version that hashes otherwise.
    """
    if saved is None or saved.version != current.version or saved.instructions == current.instructions:
        return current
    return _of_parts(current.model, current.tools, saved.instructions)


def _of_parts(model: str | None, schemas: dict[str, str], prompt: str) -> Fingerprint:
    whole: dict[str, Any] = {"version": VERSION, "tools": schemas, "instructions": prompt}
    if model is not None:
        whole["model"] = model
    return Fingerprint(hash=_hash(_canonical(whole)), tools=schemas, instructions=prompt, model=model, version=VERSION)


def compare_fingerprints(saved: Fingerprint | None, current: Fingerprint) -> AgentDrift | None:
    """How ``current`` differs from ``saved``; names are sorted.

    None when nothing differs, and when the two can not be compared: nothing was saved, or
    it was saved by a version that hashes otherwise.
    """
    if saved is None or saved.version != current.version or saved.hash == current.hash:
        return None
    before, after = saved.tools, current.tools
    drift = AgentDrift(
        model=None if saved.model == current.model else ModelChange(from_=saved.model, to=current.model),
        tools_added=tuple(sorted(after.keys() - before.keys())),
        tools_removed=tuple(sorted(before.keys() - after.keys())),
        tools_changed=tuple(sorted(name for name in before.keys() & after.keys() if before[name] != after[name])),
        instructions=saved.instructions != current.instructions,
    )
    return None if drift == AgentDrift() else drift


def _hash(text: str) -> str:
    # A lone surrogate has no UTF-8; passing it keeps two texts that differ only there apart.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_serialisable)


def _serialisable(value: object) -> object:
    # A schema may hold a function or another object of the program; its address must not enter the hash.
    return dict(value) if isinstance(value, Mapping) else None
