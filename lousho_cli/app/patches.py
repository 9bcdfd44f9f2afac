"""The change a fork makes, from what a person types: flags, files, or all of it in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lousho_cli.app.json_input import parse_json, read_json, read_text
from lousho_cli.errors import ConfigurationError


def read_patch(
    folder: Path, patch: str | None, messages: str | None, business_state: str | None, tool_results: Sequence[str], append_input: str | None
) -> dict[str, Any]:
    """The patch, as ``core.fork.patch_from`` takes it. What a flag says stands in place of what the file of ``patch`` says.

    Args:
        folder: where relative paths start.
        patch, messages: files with JSON; ``-`` is standard input. business_state: JSON, or ``@FILE``.
        tool_results: at most one ``CALL=JSON`` or ``CALL=@FILE``.

    Raises:
        ConfigurationError: something of it is not what it has to be.
    """
    change: dict[str, Any] = {}
    if patch is not None:
        read = parse_json(read_text(patch, "--patch", folder), "--patch")
        if not isinstance(read, dict):
            hint = "Its keys are tool_result, append_input, business_state and messages; any of them may be left out."
            raise ConfigurationError("--patch must hold an object", field="--patch", hint=hint)
        change |= read
    if messages is not None:
        change["messages"] = parse_json(read_text(messages, "--messages", folder), "--messages")
    if not isinstance(change.get("messages", []), list):
        hint = 'Give a list such as [{"role": "user", "content": "Plan my trip"}]; lousho show SESSION --json has that of a session.'
        raise ConfigurationError("messages must be a list", field="messages", hint=hint)
    if business_state is not None:
        change["business_state"] = read_json(business_state, "--business-state", folder)
    if tool_results:
        change["tool_result"] = _tool_result(tool_results, folder)
    if append_input is not None:
        change["append_input"] = append_input
    return change


def _tool_result(given: Sequence[str], folder: Path) -> dict[str, Any]:
    if len(given) > 1:
        raise ConfigurationError(
            "a fork changes one tool result", field="--tool-result", hint="Fork the fork for another, or give --messages."
        )
    call_id, equals, text = given[0].partition("=")
    if not equals or not call_id:
        hint = """For example: --tool-result 'call_weather={"forecast":"rain"}'"""
        raise ConfigurationError("--tool-result must be CALL=JSON", field="--tool-result", hint=hint)
    return {"tool_call_id": call_id, "result": read_json(text, "--tool-result", folder)}
