"""Secrets taken out of text before it is stored. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from lousho_cli.core.masking import names_secret, values_masker
from lousho_cli.core.redaction import masked
from lousho_cli.core.secret_keys import MARK, SecretKeys, says_what, secret_keys, under
from lousho_cli.domain.plain import text_of
from lousho_cli.errors import HookError

Redact = Callable[[str], str]
"""Text in, the same text without secrets out."""

_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"|\\.', re.DOTALL)
"""A JSON text inside a text. An escape outside of one is passed over, so that no quote is looked at twice."""


_LEAST = 12  # a shorter password may be a word that means something elsewhere


def redactor(own: Redact | None = None, environ: Mapping[str, str] | None = None, keys: Sequence[str] = ()) -> Redact:
    """What takes keys of the known kinds out of a text, and texts under keys such as ``password``, then whatever ``own`` knows of besides.

    ``environ``: variables, of which the values of those named like a secret go, too, where they are long enough.
    ``keys``: further keys under which no text is to stand.

    JSON inside a text is looked at as it is read: a key that is written with escapes is found, too.

    Raises, when it is used:
        HookError: ``own`` raised, or gave no text.
    """
    secrets = tuple((name, value) for name, value in (environ or {}).items() if names_secret(name))
    named = secret_keys(tuple(keys))
    return _redactor(own, secrets, named) if own is not None else _without_own(secrets, named)


@lru_cache(maxsize=4)  # many cassettes of one process share what was looked at
def _without_own(secrets: tuple[tuple[str, str], ...], named: SecretKeys) -> Redact:
    return _redactor(None, secrets, named)


def _redactor(own: Redact | None, secrets: tuple[tuple[str, str], ...], named: SecretKeys) -> Redact:
    without_values = values_masker(dict(secrets), MARK, _LEAST)

    @lru_cache(maxsize=4096)  # each call of a run sends all that was said before once more
    def redact(text: str) -> str:
        clean = named.masked(masked(without_values(text_of(text)), MARK), MARK)
        if own is not None:
            clean = _asked(own, clean)
        return _LITERAL.sub(literal, clean) if "\\" in clean else clean

    def literal(found: re.Match[str]) -> str:
        written = found.group()
        if "\\" not in written or not written.startswith('"'):
            return written
        try:
            read = json.loads(written, strict=False)
        except ValueError:
            return written
        clean = redact(read)
        return written if clean == text_of(read) else json.dumps(clean, ensure_ascii=False)

    redact.under = lambda key, value: named.under(key, value, redact)  # type: ignore[attr-defined]  # see secret_keys.under
    return redact


def _asked(own: Redact, text: str) -> str:
    try:
        clean = own(text)
    except Exception as error:
        raise HookError("redact", f"failed: {type(error).__name__}") from error  # its message may hold what it was given
    if not isinstance(clean, str):
        raise HookError("redact", f"gave a {type(clean).__name__} in place of a text")
    return text_of(clean)


def redacted(value: Any, redact: Redact) -> Any:
    """JSON data with every text in it redacted, keys included, and none under a key that hides what stands there."""
    return _under("", value, redact)


def _under(key: str, item: Any, redact: Redact) -> Any:
    if isinstance(item, dict):
        return {redact(name): _under(says_what(name, item, key), one, redact) for name, one in item.items()}
    if isinstance(item, (list, tuple)):
        return [_under(key, one, redact) for one in item]
    return under(key, item, redact)


def pieces_of(pieces: list[str], redact: Redact) -> list[str]:
    """A text that came in pieces, redacted as a whole, in as many pieces.

    Where there was a secret in it the whole text stands in the first piece: cut as it came, two pieces could tell it together.
    """
    whole = "".join(pieces)
    clean = redact(whole)
    if clean == whole:
        return pieces
    return [clean, *("" for _ in pieces[1:])]
