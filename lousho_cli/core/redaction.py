"""What keys, tokens and passwords look like, whosever they are, and how they are taken out of a text. Pure."""

from __future__ import annotations

import re

from lousho_cli.core.masking import masked_urls

_STORED = re.compile(
    r"sk-ant-[\w-]{4,}"
    r"|(?<![A-Za-z0-9])sk-[\w-]{8,}"
    r"|(?i:(?<![A-Za-z0-9])bearer)\s+[\w.~+/=-]{6,}",
    re.ASCII,
)
"""What may be one, taken out of what is stored at the price of a word or two."""

_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:[rs]k_(?:live|test)_|gsk_|xai-|pplx-|hf_|nvapi-|r8_|whsec_|glpat-)(?=[\w-]{0,80}[0-9])[\w-]{12,}"
    r"|(?<![A-Za-z0-9])xox[abeoprs]-[\w-]{10,}"
    r"|AIza[\w-]{20,}"
    r"|(?<![A-Za-z0-9])gh[oprsu]_[A-Za-z0-9]{16,}"
    r"|github_pat_\w{16,}"
    r"|(?<![A-Za-z0-9])A[KS]IA[0-9A-Z]{12,}"
    r"|(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{4,}\.[\w-]{8,}"
    r"|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:[\w\s+/=\\:,.]|-(?=\w)){0,8000}+-----END [A-Z ]{0,20}PRIVATE KEY-----",
    re.ASCII,
)
"""What is a secret as a whole."""

_LABELLED = re.compile(
    # Not a number of JSON, of which a mask would leave none: see ``secret_keys``.
    r"(?P<before>\b(?:x-)?api[_-]?key(?![\"']\s{0,3}:\s{0,3}-?\d{1,40}\s{0,3}[,}\]])[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?=[^\s\"',;&#\\]{0,80}[0-9])[^\s\"',;&#\\]{6,}"
    r"|(?P<basic>\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?basic\s{1,3})[A-Za-z0-9+/=]{6,}",
    re.IGNORECASE | re.ASCII,
)
"""What is one by the name in front of it, which stays."""

_BLOTTED = (
    (re.compile(r"\b(bearer|basic)\s+(?=\S{0,80}[0-9*])[A-Za-z0-9._~+/=*-]{6,}", re.IGNORECASE), r"\1 [key]"),
    (re.compile(r"\b(?:sk|rk|pk|gsk|xai|pplx|hf|nvapi|r8)[-_](?=\S{0,80}[0-9*])[A-Za-z0-9_*.-]*[A-Za-z0-9_*]"), "[key]"),
    (re.compile(r"\bAIza[A-Za-z0-9_*-]{8,}"), "[key]"),
    (
        re.compile(
            r"(api[ _-]?key[^:=\n]{0,20}[:=]\s*[\"']?)(?=[^\s\"',;]{0,80}[0-9*])[^\s\"',;]{6,}?(?=\.?(?:[\s\"',;]|$))", re.IGNORECASE
        ),
        r"\1[key]",
    ),
)
"""The same as a server tells it in an error: shorter, or with a part of it blotted out. Would take too much out of any other text."""

_READ = 4000
"""Characters that are looked at: a message shows fewer, and a hostile server may send a great many."""


def masked(text: str, mask: str) -> str:
    """A text with ``mask`` in the place of each secret of a known kind, those in addresses included, before it is stored."""
    return _known_masked(_STORED.sub(mask, text), mask)


def _known_masked(text: str, mask: str) -> str:
    text = _KEY.sub(mask, text)
    text = _LABELLED.sub(lambda found: f"{found['before'] or found['basic']}{mask}", text)
    return masked_urls(text, mask)


def without_keys(text: str) -> str:
    """The beginning of what a server or a foreign error says, with whatever looks like a key blotted out, for an error message."""
    text = text[:_READ]
    for pattern, instead in _BLOTTED:
        text = pattern.sub(instead, text)
    return _known_masked(text, "[key]")
