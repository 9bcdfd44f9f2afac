"""Keys taken out of what a server or a foreign error says, before it is anybody's error message."""

from __future__ import annotations

import re

_KEYS = (
    (re.compile(r"\b(bearer|basic)\s+(?=\S{0,80}[0-9*])[A-Za-z0-9._~+/=*-]{6,}", re.IGNORECASE), r"\1 [key]"),
    (re.compile(r"\b(?:sk|rk|pk|gsk|xai|pplx|hf|nvapi|r8)[-_](?=\S{0,80}[0-9*])[A-Za-z0-9_*.-]*[A-Za-z0-9_*]"), "[key]"),
    (re.compile(r"\bAIza[A-Za-z0-9_*-]{8,}"), "[key]"),
    (
        re.compile(
            r"(api[ _-]?key[^:=\n]{0,20}[:=]\s*[\"']?)(?=[^\s\"',;]{0,80}[0-9*])[^\s\"',;]{6,}?(?=\.?(?:[\s\"',;]|$))", re.IGNORECASE
        ),
        r"\1[key]",
    ),
    (re.compile(r"([?&](?:key|api[_-]?key|access_token|token)=)[^\s&\"']+", re.IGNORECASE), r"\1[key]"),
)
"""What keys look like, whosever they are, also with a part of them blotted out by the server."""


_READ = 4000
"""Characters that are looked at: a message shows fewer, and a hostile server may send a great many."""


def without_keys(text: str) -> str:
    """The beginning of a text, with whatever looks like a key blotted out."""
    text = text[:_READ]
    for pattern, instead in _KEYS:
        text = pattern.sub(instead, text)
    return text
