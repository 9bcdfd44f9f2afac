"""Values that are secrets by the key they stand under, in JSON or in text that holds some, taken out. Pure.

Only texts are: a number under such a key, as that of ``max_tokens``, says how many there are. A key that names something
else by the same word, as ``next_page_token`` does, is none of them: it would be missed where a tool is to go on with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

MARK = "[REDACTED]"
"""What stands in the place of a secret."""

_WHOSE = (
    "access|refresh|id|auth|api|bearer|session|secret|security|oauth|jwt|csrf|xsrf|bot|deploy|service|user|personal"
    "|github|gitlab|gh|slack|npm|hf|vault"
)

_PASSWORDS = r"password|passwd|passphrase|secret|(?:api|private|secret|access|signing|encryption|subscription|ssh|master)[_-]?key"

_NAMES = (
    rf"[\w.-]{{0,40}}?(?:{_PASSWORDS}|credentials?)",
    r"(?:[\w.-]{0,40}[_.-])?(?:pwd|pass)",
    r"(?:proxy[_-]?)?authorization|(?:set[_-]?)?cookie|jwt|bearer",
    rf"(?:[\w.-]{{0,40}}[_.-])?(?:{_WHOSE})[_-]?token|[\w.-]{{0,40}}?(?:access|refresh|auth|bearer)[_-]?token|(?:x[_-])?token",
)
"""What such a key is named, whatever its case: as a whole each."""

_VARIABLE = r"[A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIALS?|(?:API|PRIVATE|SECRET|ACCESS|SIGNING|ENCRYPTION)_?KEY)"

_OPTION = r"--(?:[\w-]{0,40}-)?(?:password|passwd|passphrase|secret|token|credentials?|(?:api|private|secret|access)-?key)"

_ASSIGNED = (
    rf"(?<![\w.-])(?:(?-i:{_VARIABLE})|{_OPTION})="
    # In quotes it ends with those, at the latest where JSON around it does. A quote that ends such JSON itself begins no value.
    rf"(?:(?P<w>\\{{0,7}}[\"'])(?![\s,:;}}\]\"'\\$]|\d+[\"'\\]|{re.escape(MARK)})(?P<quoted>(?:(?!(?P=w))(?:[^\"\\\n]|\\++(?!\")))+)"
    r"|(?!\d+\b)(?P<given>[^\s\"'\\;,&<>(){}\[\]$`]+))"
)
"""A variable of a shell that is set, or an option of a command. A variable in lower case is one of a program as often as not."""

_LINE = (
    rf"^[ \t]*(?:-[ \t]+)?[\w.-]{{0,40}}?(?:{_PASSWORDS})[ \t]*:[ \t]+(?!(?:str|string|bytes|any|none|null|true|false|optional|required)\b)"
    r"(?P<yaml>[^\s\"'#,;(){}\[\]<>|&*!%@`$\\]+)(?=[ \t]*\r?(?:$|\n|[ \t]#))"
)
"""A line of YAML, or of a letter: one word behind the name. Where more follows it is code, or says something of a password."""

_STRING = r'(?:[^"\\]|\\.)'
_LIST = rf'\[\s{{0,20}}"{_STRING}*(?:"\s{{0,20}},\s{{0,20}}"{_STRING}*)*"?'
_TEXT = re.compile(rf'"({_STRING}*)"?', re.DOTALL)

_BESIDE = re.compile(r"name|key", re.IGNORECASE)

_LONGEST = 80


class SecretKeys:
    """The keys under which secrets stand: those that everybody has, and a person's own."""

    def __init__(self, own: Sequence[str] = ()) -> None:
        named = [name.strip() for name in own if name.strip()]
        names = "|".join((*_NAMES, *map(re.escape, named)))
        self._name = re.compile(names, re.IGNORECASE | re.ASCII if not own else re.IGNORECASE)
        # In JSON, as Python shows a mapping, and in JSON that is written inside a text. What is cut off goes, too.
        # First whether it is a key at all: most of what stands in quotes is none.
        plain = (
            rf'"(?=[^"\\]{{1,80}}"\s{{0,3}}:\s{{0,3}}["\[])(?P<p>{names})"\s{{0,3}}:\s{{0,3}}(?:"(?P<value>{_STRING}+)|(?P<list>{_LIST}))'
        )
        # As a header or a variable is told: its name under one key, what it holds under the next.
        pair = rf'"(?:name|key)"\s{{0,3}}:\s{{0,3}}"(?P<n>{names})"\s{{0,3}},\s{{0,20}}"value"\s{{0,3}}:\s{{0,3}}"(?P<named>{_STRING}+)'
        shown = rf"'(?P<s>{names})'\s{{0,3}}:\s{{0,3}}'(?P<its>(?:[^'\\]|\\.)+)"
        inside = (
            rf'(?P<q>\\{{1,7}}")(?P<i>{names})(?P=q)\s{{0,3}}:\s{{0,3}}(?P=q)(?P<inner>(?:(?!(?P=q))(?:[^"\\]|\\++(?!")|(?:\\\\)++\\"))+)'
        )
        found = "|".join((plain, pair, shown, inside, _ASSIGNED, _LINE))
        self._in_text = re.compile(found, re.IGNORECASE | re.DOTALL | re.MULTILINE)

    def __call__(self, key: str) -> bool:
        """Whether the text under a key is a secret."""
        return len(key) <= _LONGEST and self._name.fullmatch(key) is not None

    def masked(self, text: str, mask: str) -> str:
        """A text with ``mask`` in the place of each text that stands under such a key in it."""
        return self._in_text.sub(lambda found: _without(found, mask), text) if ":" in text or "=" in text else text


def _without(found: re.Match[str], mask: str) -> str:
    name = next(name for name in _VALUES if found[name] is not None)
    start, end = found.span(name)
    clean = mask if name != "list" else _TEXT.sub(lambda one: f'"{mask}"' if one[1] else one[0], found[name])
    whole, at = found.group(), found.start()
    return f"{whole[: start - at]}{clean}{whole[end - at :]}"


_VALUES = ("value", "list", "named", "its", "inner", "quoted", "given", "yaml")


@lru_cache(maxsize=8)
def secret_keys(own: tuple[str, ...] = ()) -> SecretKeys:
    """The keys under which secrets stand; ``own`` are names that a person has for some, whatever their case."""
    return SecretKeys(own)


def says_what(key: str, data: Mapping[str, Any]) -> str:
    """The key that says what a text of data is: its own, or the name beside it, as in ``{"name": "Cookie", "value": …}``."""
    if key.lower() != "value":
        return key
    return next((name for other, name in data.items() if isinstance(name, str) and _BESIDE.fullmatch(other)), key)


def text_under(key: str, text: str, redact: Callable[[str], str]) -> str:
    """A text of data without secrets, which goes as a whole under a key that names one.

    Args:
        redact: takes secrets out of a text. Its ``under`` does this where it has one; else the common keys count.
    """
    own: Callable[[str, str], str] | None = getattr(redact, "under", None)
    if own is not None:
        return own(key, text)
    return MARK if text and secret_keys()(key) else redact(text)
