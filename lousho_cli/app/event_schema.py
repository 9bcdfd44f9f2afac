"""The JSON Schema of an event as a line, made from the types themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from lousho_cli.domain.events import ENVELOPE, TYPES

_CURSOR = {
    "type": "object",
    "properties": {"seq": {"type": "integer"}, "index": {"type": "integer"}},
    "required": ["seq", "index"],
}
_LEFT_OUT = ("step", "path")
"""Fields that a line has only where they say something."""


def event_json_schema() -> dict[str, Any]:
    """What ``--output ndjson`` prints before the envelope: one of these a line, told apart by ``type``."""
    _, types = msgspec.json.schema_components(TYPES, ref_template="#/$defs/{name}")
    schema = {
        "title": "an event of lousho run --output ndjson",
        "anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in TYPES],
        "$defs": types | {kind.__name__: _as_line(types[kind.__name__]) for kind in TYPES},
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema))  # plain JSON: no tuples
    return plain


def _as_line(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an event, its fields where ``domain.events.line_of`` puts them."""
    fields = schema["properties"]
    own = {name: field for name, field in fields.items() if name not in ENVELOPE and name != "type"}
    around = {name: fields[name] for name in ("type", *ENVELOPE) if name != "index"} | {"cursor": _CURSOR}
    data = {"type": "object", "properties": own, "required": sorted(own)}
    return {
        "title": schema["title"],
        "description": schema["description"],
        "type": "object",
        "properties": around | {"data": data},
        "required": [name for name in (*around, "data") if name not in _LEFT_OUT],
    }
