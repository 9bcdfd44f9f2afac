"""What ``export --redact`` takes out of a text, and how often it did."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from lousho_cli.errors import ConfigurationError
from lousho_cli.interchange.writing.redacting import Redact


def taking_out(patterns: Sequence[str]) -> Redact:
    """What takes secrets out of a text: keys of the known kinds, the secrets of the environment, and what the patterns match.

    Raises:
        ConfigurationError: a pattern is none, or matches nothing at all as well.
    """
    from lousho_cli.evals.redact import MARK, redactor

    own = [_compiled(pattern) for pattern in patterns]

    def without_own(text: str) -> str:
        for pattern in own:
            text = pattern.sub(lambda _found: MARK, text)
        return text

    return redactor(without_own if own else None, os.environ)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        found = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise _refused(f"the pattern {pattern!r} is not valid: {error}", "It is a regular expression of Python.") from error
    if found.search("") is not None:
        raise _refused(f"the pattern {pattern!r} matches where nothing is", "Have it match at least a character.")
    return found


def _refused(detail: str, hint: str) -> ConfigurationError:
    return ConfigurationError(detail, field="redact", code="LOUSHO_USAGE", hint=hint)


class Counting:
    """A redactor that counts the texts it changed."""

    def __init__(self, redact: Redact | None) -> None:
        self._redact = redact
        self.changed = 0

    def __call__(self, text: str) -> str:
        clean = text if self._redact is None else self._redact(text)
        self.changed += clean != text
        return clean
