"""JSON that a person gives on the command line: in place, from a file, or from standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lousho_cli.errors import ConfigurationError

_A_FILE = "Name a file with JSON in UTF-8 that is there, or - for standard input."


def read_json(text: str, field: str, folder: Path) -> Any:
    """The value of ``text``, which is JSON, ``@FILE`` or ``@-`` for standard input.

    Raises:
        ConfigurationError: it is no JSON, or the file can not be read.
    """
    return parse_json(read_text(text[1:], field, folder) if text.startswith("@") else text, field)


def read_object(text: str, field: str, folder: Path) -> Any:
    """The value of ``text``, which is a JSON object, the name of a file that holds JSON, or ``-`` for standard input.

    Raises:
        ConfigurationError: it is no JSON, or the file can not be read.
    """
    return parse_json(text if text.lstrip().startswith("{") else read_text(text, field, folder), field)


def parse_json(text: str, field: str) -> Any:
    """A JSON value, strictly.

    Raises:
        ConfigurationError: it is none; the detail says where it stops being one.
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{field} is not JSON: {error}", field=field, hint='Text stands in quotes, for example "rain" or {"forecast":"rain"}.'
        ) from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def read_text(name: str, field: str, folder: Path) -> str:
    """The text of a file, or of standard input for ``-``.

    Raises:
        ConfigurationError: it can not be read.
    """
    try:
        if name == "-":
            return sys.stdin.read() if sys.stdin is not None else ""
        return (folder / Path(name).expanduser()).read_text("utf-8")
    except OSError as error:
        raise ConfigurationError(f"{field}: {name} can not be read: {error.strerror or error}", field=field, hint=_A_FILE) from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{field}: {name} is not UTF-8 text", field=field, hint=_A_FILE) from None
