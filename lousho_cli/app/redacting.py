"""What ``export --redact`` and recordings take out of a text, and how often an export did."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from lousho_cli.core.secret_keys import MARK, under
from lousho_cli.errors import ConfigurationError
from lousho_cli.interchange.writing.redacting import Redact


def taking_out(patterns: Sequence[str], keys: Sequence[str] = ()) -> Redact:
    """What takes secrets out of a text: keys of the known kinds, the secrets of the environment, and what the patterns match.

    Args:
        keys: names under which no text is to stand, beside those that name a secret anyway.

    Raises:
        ConfigurationError: a pattern is none, or matches nothing at all as well.
    """
    from lousho_cli.evals.redact import redactor

    own = [_compiled(pattern) for pattern in patterns]

    def without_own(text: str) -> str:
        for pattern in own:
            text = pattern.sub(lambda _found: MARK, text)
        return text

    return redactor(without_own if own else None, os.environ, keys)


def taking_out_of_cassettes() -> Redact:
    """What takes secrets out of what a command records, and of what it compares with a recording.

    Raises:
        ConfigurationError: a setting is not valid.
    """
    from lousho_cli.app.config import load_settings
    from lousho_cli.evals.redact import redactor

    return redactor(None, os.environ, load_settings().redact_keys or ())


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
        return str(self._counted(text, text if self._redact is None else self._redact(text)))

    def under(self, key: str, value: Any) -> Any:
        """A text or a number that stands under a key of data; see ``secret_keys.under``."""
        return self._counted(value, value if self._redact is None else under(key, value, self._redact))

    def _counted(self, value: Any, clean: Any) -> Any:
        self.changed += clean != value
        return clean
