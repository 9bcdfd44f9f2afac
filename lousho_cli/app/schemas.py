"""JSON Schemas of what lousho prints and reads, made from the types themselves, so that they can not disagree."""

from __future__ import annotations

from typing import Any

from lousho_cli.app.suggestions import TYPED, nearest
from lousho_cli.errors import NotFoundError

_RUN_LIKE = ("run", "resume", "approve", "reject", "answer", "fork-run")
_DATA = ("list", "pending", "history", "show", "fork", "diff", "fsck", "delete", "doctor", "config", "follow", "abort", "import", "worker")
_UPKEEP = ("drift", "prune", "trim", "eval", "export", "init", "inputs")
_LINES = ("follow", "worker")
"""Commands whose ``--json`` is a line for each thing that happens."""
_FLAGS = {"resume-check": "resume --check", "resume-all": "resume --all", "fork-run": "fork --run", "eval-add": "eval add"}
NAMES = tuple(sorted({*_RUN_LIKE, *_DATA, *_UPKEEP, *_FLAGS, "agent", "eval-file", "envelope", "error", "event"}))
"""What ``schema_of`` knows."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema behind a name: of a command's ``data``, of the envelope, of an error, of an agent file.

    Raises:
        NotFoundError: there is no such schema; ``kept`` lists the names.
    """
    if name not in NAMES:
        near = nearest(name, NAMES, TYPED)
        hint = f"Did you mean {near}? " if near else ""
        raise NotFoundError(
            f"there is no schema {name}", kept=NAMES, code="LOUSHO_SCHEMA_NOT_FOUND", hint=f"{hint}Known are {', '.join(NAMES)}."
        )
    if name == "agent":
        from lousho_cli.app.agent_schema import agent_file_json_schema

        return agent_file_json_schema()
    if name == "eval-file":
        from lousho_cli.app.evaluating.schema import eval_file_json_schema

        return eval_file_json_schema()
    if name == "event":
        from lousho_cli.app.event_schema import event_json_schema

        return {"$schema": _DIALECT, **event_json_schema()}
    if name in ("envelope", "error"):
        return {"$schema": _DIALECT, **(_ENVELOPE if name == "envelope" else _ERROR)}
    title = f"a line of lousho {name} --json" if name in _LINES else f"data of lousho {_FLAGS.get(name, name)} --json"
    return {"$schema": _DIALECT, "title": title, **_made(name)}


def _made(name: str) -> dict[str, Any]:
    import msgspec

    from lousho_cli.app.results import NotResumed, RunDone

    if name in ("resume-all", "worker"):
        from lousho_cli.app.worked import Status, Worked

        kinds = [RunDone, NotResumed] if name == "resume-all" else [Worked, Status]
        either, types = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
        one = {"anyOf": list(either)}
        schema: Any = {**({"type": "array", "items": one} if name == "resume-all" else one), "$defs": types}
    else:
        schema = msgspec.json.schema(_type_of(name))
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema))  # plain JSON: no tuples
    return plain


def _type_of(name: str) -> Any:
    from lousho_cli.app import (
        aborting,
        checking,
        comparing,
        config,
        deleting,
        doctor,
        drifting,
        exporting,
        following,
        histories,
        import_results,
        inputs,
        pruning,
        results,
        sessions,
        showing,
        trimming,
    )
    from lousho_cli.app.evaluating import add
    from lousho_cli.evals import eval_results

    if name in _RUN_LIKE:
        return results.RunDone
    types: dict[str, Any] = {
        "abort": aborting.Aborted,
        "list": list[sessions.Listed],
        "pending": list[results.PendingItem],
        "history": list[histories.HistoryEntry],
        "show": showing.Shown,
        "fork": results.Forked,
        "diff": comparing.Compared,
        "resume-check": results.ResumeCheck,
        "fsck": list[checking.Finding],
        "follow": following.Followed,
        "delete": deleting.Deletion,
        "doctor": list[doctor.Check],
        "config": list[config.Setting],
        "import": import_results.Import,
        "export": exporting.Export,
        "init": list[str],
        "inputs": inputs.Inputs,
        "drift": list[drifting.DriftFound],
        "eval": eval_results.EvalRun,
        "eval-add": add.Added,
        "prune": pruning.PruneDone,
        "trim": trimming.Trimmed,
    }
    return types[name]


_ENVELOPE: dict[str, Any] = {
    "title": "what --json prints",
    "type": "object",
    "properties": {
        "schema": {"const": 1},
        "command": {"type": "string"},
        "data": {},
        "warnings": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["schema", "command", "data", "warnings"],
}

_ERROR: dict[str, Any] = {
    "title": "what --json prints for an error",
    "type": "object",
    "properties": {
        "schema": {"const": 1},
        "command": {"type": "string"},
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": "string"},
                "retryable": {"type": "boolean"},
                "session": {"type": ["string", "null"]},
                "step": {"type": ["integer", "null"]},
            },
            "required": ["code", "message", "hint", "retryable", "session", "step"],
        },
    },
    "required": ["schema", "command", "error"],
}
