"""Secrets by the name of their variable, or by where they stand in an address, taken out of a text. Pure.

Read by every command, so what keys look like is elsewhere: ``redaction`` takes longer to load.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)

# An address may stand in JSON: a quote or a backslash ends it.
_URL_USER = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@\"'\\]{0,200}):(?P<password>[^\s/\"'\\]+)@", re.IGNORECASE)
# Where a password may hold what no other address has there: nobody encodes it who does not know that one must.
_DATABASE_USER = re.compile(r"(?P<before>\bpostgres(?:ql)?://[^\s/:\"'\\]{0,200}):[^\s\"\\]+@", re.IGNORECASE)
_URL_QUERY = re.compile(
    r"(?P<before>[?&][^\s=&#\"'\\]{0,30}?(?:key|token|secret|password|passwd|signature|sig|auth|listen)[^\s=&#\"'\\]{0,30}=)[^\s&#\"'<>\\]+",
    re.IGNORECASE,
)


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return bool(_NAMES.search(name))


def values_masker(environ: Mapping[str, str], mask: str, least: int) -> Callable[[str], str]:
    """A function that puts ``mask`` in the place of each secret of an environment that has ``least`` characters or more."""
    values = sorted({value for name, value in environ.items() if names_secret(name) and len(value) >= least}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, values))) if values else None  # one pass: a mask is never masked again
    return lambda text: pattern.sub(mask, text) if pattern else text


def masked_urls(text: str, mask: str) -> str:
    """A text with ``mask`` in the place of the passwords and keys of the addresses in it."""
    if "://" in text:
        text = _DATABASE_USER.sub(lambda found: f"{found['before']}:{mask}@", text)
        text = _URL_USER.sub(lambda found: f"{found['before']}:{mask}@", text)
    return _URL_QUERY.sub(lambda found: f"{found['before']}{mask}", text)
