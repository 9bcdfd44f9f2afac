"""Secrets are never shown. Pure: finds them by the name they have in the environment, or by where they stand in a URL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

MASK = "[secret]"

_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_LEAST = 6  # a shorter value would take ordinary words out of every text

_URL_USER = re.compile(r"(?P<before>\b[a-z][a-z0-9+.-]*://[^\s/:@]*):(?P<password>[^\s/@]+)@", re.IGNORECASE)
_URL_QUERY = re.compile(
    r"(?P<before>[?&][^\s=&#]*(?:key|token|secret|password|passwd|signature|sig|auth)[^\s=&#]*=)[^\s&#]+", re.IGNORECASE
)


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return bool(_NAMES.search(name))


def mask_url(text: str) -> str:
    """``text`` without the passwords and keys of the URLs in it."""
    text = _URL_USER.sub(lambda match: f"{match['before']}:{MASK}@", text)
    return _URL_QUERY.sub(lambda match: f"{match['before']}{MASK}", text)


def hider(environ: Mapping[str, str]) -> Callable[[str], str]:
    """A function that takes out of a text the secrets of this environment and those in URLs."""
    values = sorted({value for name, value in environ.items() if names_secret(name) and len(value) >= _LEAST}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, values))) if values else None  # one pass: a mask is never masked again

    def hide(text: str) -> str:
        return mask_url(pattern.sub(MASK, text) if pattern else text)

    return hide
