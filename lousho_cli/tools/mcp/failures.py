"""What goes wrong with a server, in words: none of the SDK's errors leaves this package."""

from __future__ import annotations

from lousho_cli.tools.mcp.names import one_line


class McpToolError(Exception):
    """A call that a server refused or could not end. Its text is what the model is told."""

    tool_error_kind = "mcp"


class Gone(Exception):
    """A server that can not be reached, or is not there any more. Its text says why."""


class Forgotten(Gone):
    """A server that knows nothing of our session any more, as it was started anew: the call was not begun, and may be made again."""


def words_of(error: BaseException) -> str:
    """An error of the SDK, or of what it stands on, in a line."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"] if not str(part).startswith(("function-", "lax-")))
        return one_line(f"it sent what the protocol does not know: {where}: {first['msg']}")
    said = one_line(str(error))
    kind = type(error).__name__
    return said if said and kind in _PLAIN else f"{kind}: {said}" if said else kind


_PLAIN = ("MCPError", "CommandFailed", "RuntimeError", "Gone", "ConfigurationError", "InputRequiredRoundsExceededError")
"""Errors whose text says it all."""
