"""Values that are secrets by the key they stand under, in JSON or in text that holds some, taken out. Pure.

Texts are, and a number of four digits or more under a key that names a password: any other, as that of ``max_tokens``, says how
many there are. Under a key of a person's own any number is one. A key that names something else by the same word, as
``next_page_token`` does, is none of them: it would be missed where a tool is to go on with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")

MARK = "[REDACTED]"
"""What stands in the place of a secret."""

_WHOSE = (
    "access|refresh|id|auth|api|bearer|session|secret|security|oauth|jwt|csrf|xsrf|bot|deploy|service|user|personal"
    "|github|gitlab|gh|slack|npm|hf|vault"
)

_PASSWORDS = r"password|passwd|passphrase|secret|(?:api|private|secret|access|signing|encryption|subscription|ssh|master)[_-]?key"

_NUMBERS = rf"[\w.-]{{0,40}}?(?:{_PASSWORDS})s?|(?:[\w.-]{{0,40}}[_.-])?pwd"
"""What a key is named under which a number may be a secret, too. Under ``pass`` it says how many passed."""

_NAMES = (
    rf"{_NUMBERS}|(?:[\w.-]{{0,40}}[_.-])?pass",
    r"[\w.-]{0,40}?credentials?",
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

_DIGITS = 4
"""A number of fewer digits is rather a count."""


class SecretKeys:
    """The keys under which secrets stand: those that everybody has, and a person's own."""

    def __init__(self, own: Sequence[str] = ()) -> None:
        named = [re.escape(name.strip()) for name in own if name.strip()]
        names = "|".join((*_NAMES, *named))
        case = re.IGNORECASE if own else re.IGNORECASE | re.ASCII
        self._name, self._numbers = re.compile(names, case), re.compile(_NUMBERS, case)
        self._own = re.compile("|".join(named), case) if named else None
        # In JSON, as Python shows a mapping, and in JSON that is written inside a text. What is cut off goes, too.
        # First whether it is a key at all: most of what stands in quotes is none.
        plain = (
            rf'"(?=[^"\\]{{1,80}}"\s{{0,3}}:\s{{0,3}}["\[{{])(?P<p>{names})"\s{{0,3}}:\s{{0,3}}(?:\{{\s{{0,20}}"value"\s{{0,3}}:\s{{0,3}})?'
            rf'(?:"(?P<value>{_STRING}+)|(?P<list>{_LIST}))'
        )
        wrapped = r"\s{0,3}:\s{0,3}(?:\{\s{0,20}(?P=d)value(?P=d)\s{0,3}:\s{0,3})?"
        number = rf"(?:{_NUMBERS})(?P=d){wrapped}(?P<digits>-?\d{{{_DIGITS},40}})"
        number += rf"|(?:{'|'.join(named) or '(?!)'})(?P=d){wrapped}(?P<any>-?\d[\d.eE+-]{{0,40}})"
        counted = rf"(?P<d>\\{{0,7}}[\"'])(?=[^\"'\\]{{1,80}}(?P=d){wrapped}-?\d)(?:{number})(?![\w.+-])"
        # As a header or a variable is told: its name under one key, what it holds under the next.
        pair = rf'"(?:name|key)"\s{{0,3}}:\s{{0,3}}"(?P<n>{names})"\s{{0,3}},\s{{0,20}}"value"\s{{0,3}}:\s{{0,3}}"(?P<named>{_STRING}+)'
        shown = rf"'(?P<s>{names})'\s{{0,3}}:\s{{0,3}}'(?P<its>(?:[^'\\]|\\.)+)"
        inside = (
            rf'(?P<q>\\{{1,7}}")(?P<i>{names})(?P=q)\s{{0,3}}:\s{{0,3}}(?P=q)(?P<inner>(?:(?!(?P=q))(?:[^"\\]|\\++(?!")|(?:\\\\)++\\"))+)'
        )
        found = "|".join((plain, pair, shown, inside, counted, _ASSIGNED, _LINE))
        self._in_text = re.compile(found, re.IGNORECASE | re.DOTALL | re.MULTILINE)

    def __call__(self, key: str) -> bool:
        """Whether the text under a key is a secret."""
        return len(key) <= _LONGEST and self._name.fullmatch(key) is not None

    def hides(self, key: str, number: float) -> bool:
        """Whether a number under a key is a secret."""
        if len(key) > _LONGEST or isinstance(number, bool):
            return False
        if self._own is not None and self._own.fullmatch(key) is not None:
            return True
        return isinstance(number, int) and abs(number) >= 10 ** (_DIGITS - 1) and self._numbers.fullmatch(key) is not None

    def under(self, key: str, value: T, redact: Callable[[str], str]) -> T | str:
        """A text or a number that stands under a key; ``redact`` takes secrets out of a text of another."""
        if isinstance(value, str):
            return MARK if value and self(key) else redact(value)
        return MARK if isinstance(value, int | float) and self.hides(key, value) else value

    def masked(self, text: str, mask: str) -> str:
        """A text with ``mask`` in the place of each text that stands under such a key in it."""
        return self._in_text.sub(lambda found: _without(found, mask), text) if ":" in text or "=" in text else text


def _without(found: re.Match[str], mask: str) -> str:
    name = next(name for name in _VALUES if found[name] is not None)
    start, end = found.span(name)
    if name == "list":
        clean = _TEXT.sub(lambda one: f'"{mask}"' if one[1] else one[0], found[name])
    else:
        clean = mask if found["d"] is None else f"{found['d']}{mask}{found['d']}"
    whole, at = found.group(), found.start()
    return f"{whole[: start - at]}{clean}{whole[end - at :]}"


_VALUES = ("value", "list", "named", "its", "inner", "digits", "any", "quoted", "given", "yaml")


@lru_cache(maxsize=8)
def secret_keys(own: tuple[str, ...] = ()) -> SecretKeys:
    """The keys under which secrets stand; ``own`` are names that a person has for some, whatever their case."""
    return SecretKeys(own)


def says_what(key: str, data: Mapping[str, Any], around: str | None = None) -> str:
    """The key that says what a text of data is.

    Its own, or the name beside it, as in ``{"name": "Cookie", "value": …}``, or the key ``around`` it: ``{"password": {"value": …}}``.
    """
    if key.lower() != "value":
        return key
    return next((name for other, name in data.items() if isinstance(name, str) and _BESIDE.fullmatch(other)), around or key)


def under(key: str, value: T, redact: Callable[[str], str]) -> T | str:
    """A text or a number of data without secrets, which goes as a whole under a key that names one.

    Args:
        redact: takes secrets out of a text. Its ``under`` does this where it has one; else the common keys count.
    """
    own: Callable[[str, T], T | str] | None = getattr(redact, "under", None)
    return own(key, value) if own is not None else secret_keys().under(key, value, redact)
