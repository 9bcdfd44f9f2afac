"""What a single request asks of its server beside the transcript, as further fields of the body."""

from __future__ import annotations

from typing import Any

from lousho_cli.ports.provider import ModelRequest

_OURS = frozenset(("model", "messages", "input", "system", "tools", "stream"))
"""What a request says elsewhere."""


def asked(request: ModelRequest, reasoning: str) -> dict[str, Any]:
    """The fields. ``reasoning`` is the one under which the server takes how much to think."""
    fields = {name: value for name, value in request.model_options.items() if name not in _OURS}
    return fields if request.reasoning is None else fields | {reasoning: request.reasoning}
