"""Which failed model calls are worth asking again, and how long to wait before that.

Three facts decide what a failure is: the HTTP status, the server's error code, and its text,
in this order of trust. A text may quote anything ("250000 tokens" is no status 500), so it
counts only where no status was given, and then only by whole words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import msgspec

from lousho_cli.errors import ProviderError, RangeError

MAX_BACKOFF_MS = 900_000
"""No wait of our own choosing is longer than this, however many retries are allowed."""


class Failure(msgspec.Struct, frozen=True):
    """What kind of failure it was: a category of ``ProviderError``, and whether the same request may succeed later."""

    category: str
    retryable: bool


_TOO_LONG = Failure("context-length-exceeded", False)
_OUT_OF_QUOTA = Failure("rate-limit", False)
_REFUSED = Failure("refused", False)
_AUTH = Failure("auth-failure", False)
_BAD_REQUEST = Failure("bad-request", False)
_UNKNOWN = Failure("unknown", False)
_RATE_LIMIT = Failure("rate-limit", True)
_OVERLOADED = Failure("overloaded", True)
_TIMEOUT = Failure("timeout", True)
_NETWORK = Failure("network", True)
_SERVER = Failure("server", True)

_BY_CODE = {
    "context_length_exceeded": _TOO_LONG,
    "string_above_max_length": _TOO_LONG,
    "insufficient_quota": _OUT_OF_QUOTA,
    "error_quota": _OUT_OF_QUOTA,
    "billing_hard_limit_reached": _OUT_OF_QUOTA,
    "billing_not_active": _OUT_OF_QUOTA,
    "content_filter": _REFUSED,
    "content_policy_violation": _REFUSED,
    "invalid_api_key": _AUTH,
    "authentication_error": _AUTH,
    "permission_error": _AUTH,
    "invalid_request_error": _BAD_REQUEST,
    "rate_limit_error": _RATE_LIMIT,
    "rate_limit_exceeded": _RATE_LIMIT,
    "overloaded_error": _OVERLOADED,
    "tool_use_failed": _SERVER,  # the model wrote a call that its own server could not read: it may do better next time
    "error": _SERVER,  # as a finish reason
}

_BY_STATUS = {
    401: _AUTH,
    402: _AUTH,
    403: _AUTH,
    408: _TIMEOUT,
    429: _RATE_LIMIT,
    503: _OVERLOADED,
    504: _TIMEOUT,
    524: _TIMEOUT,
    529: _OVERLOADED,
}

_CONTEXT_TOO_LONG = re.compile(
    r"context[ _-]?(length|window)|maximum context|(prompt|input) is too long|reduce the length of the (messages|prompt)",
    re.IGNORECASE,
)
_BY_TEXT = (
    (_OVERLOADED, re.compile(r"overloaded|service[ _-]?unavailable|\b503\b", re.IGNORECASE)),
    (_RATE_LIMIT, re.compile(r"rate[ _-]?limit|too[ _-]many[ _-]requests|\b429\b", re.IGNORECASE)),
    (_TIMEOUT, re.compile(r"timed[ _-]?out|time-?out|\b504\b", re.IGNORECASE)),
    (_NETWORK, re.compile(r"network[ _-]?error|connection[ _-](was )?(reset|refused|lost|error)", re.IGNORECASE)),
    (_NETWORK, re.compile(r"socket hang up|fetch failed|\bterminated\b", re.IGNORECASE)),
    (_SERVER, re.compile(r"server[ _-]?error|\b50[02]\b", re.IGNORECASE)),
    (_AUTH, re.compile(r"(invalid|incorrect|missing)[ _-]api[ _-]key|unauthori[sz]ed", re.IGNORECASE)),
)


def classify(status: int | None, code: str = "", text: str = "") -> Failure:
    """What a failure is, from the HTTP status, the server's error code and its text.

    ``status`` is None where there was none: an error inside a stream, a lost connection. ``code`` may be
    several words, such as a code and a type; one that is itself a status (``"502"``) then counts as one.
    """
    words = code.lower().split()
    if status is None:
        status = next((int(word) for word in words if re.fullmatch(r"[45][0-9][0-9]", word)), None)
    known = [_BY_CODE[word] for word in words if word in _BY_CODE]
    for failure in known:
        if failure is not _BAD_REQUEST:  # which says too little: a transcript that is too long is one as well
            return failure
    if status != 429 and _CONTEXT_TOO_LONG.search(text):
        return _TOO_LONG
    if status is not None:
        return _BY_STATUS.get(status) or (_SERVER if status >= 500 else _BAD_REQUEST)
    said = f"{code} {text}"
    for failure, pattern in _BY_TEXT:
        if pattern.search(said):
            return failure
    return known[0] if known else _UNKNOWN


def parse_retry_after(headers: Mapping[str, str], now_ms: int) -> int | None:
    """How many milliseconds the server asks to wait, from ``retry-after-ms`` or ``retry-after``; None when it asks nothing.

    Takes whole and decimal numbers and every form of HTTP date. What is past is 0; a negative number or
    anything else is None. A date has whole seconds, so its distance is rounded up to them.
    """
    given = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(given.get("retry-after-ms", ""))
    if milliseconds is not None:
        return math.ceil(milliseconds)
    value = given.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None:
        return math.ceil(seconds * 1000)
    date_ms = _http_date_ms(value)
    return None if date_ms is None else max(0, math.ceil((date_ms - now_ms) / 1000) * 1000)


def _number(text: str) -> float | None:
    # At most 12 digits before the point: more is no wait anybody means, and must not become infinite.
    return float(text) if re.fullmatch(r"[0-9]{1,12}(\.[0-9]+)?", text) else None


def _http_date_ms(text: str) -> int | None:
    if not re.search(r"[0-9]:[0-9]", text):
        return None
    from calendar import timegm  # only a date needs these two
    from email.utils import parsedate_to_datetime

    try:
        return timegm(parsedate_to_datetime(text).utctimetuple()) * 1000
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


class RetryPolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Asks again after a transient error, a few times, with growing waits.

    max_retries: how often, counted since the last finished tool phase.
    base_delay_ms: the first wait; each further one is twice as long; all are shortened by up to a quarter by chance.
    max_retry_after_ms: a server that asks for a longer wait than this ends the retries.
    """

    max_retries: int = 3
    base_delay_ms: int = 2000
    max_retry_after_ms: int = 900_000

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise RangeError(f"{name} is {value!r}, but must be a whole number, 0 or more", field=name)

    def decide(self, error: ProviderError, retries_so_far: int, chance: float) -> int | None:
        """How many milliseconds to wait before asking again; None for giving up.

        ``chance`` is a number from 0 up to 1. What the server asked for replaces our own wait entirely.
        """
        if not error.retryable or retries_so_far >= self.max_retries:
            return None
        if error.retry_after_ms is not None:
            return error.retry_after_ms if error.retry_after_ms <= self.max_retry_after_ms else None
        doubled: int = self.base_delay_ms << min(retries_so_far, 30)
        return round(min(doubled, MAX_BACKOFF_MS) * (0.75 + 0.25 * chance))

    __call__ = decide  # so that it can be given wherever a function of the same kind can


def retry_transient_errors(max_retries: int = 3, base_delay_ms: int = 2000, max_retry_after_ms: int = 900_000) -> RetryPolicy:
    """The policy for ``on_model_error``: retries rate limits, overload, time-outs, network and server errors.

    Raises:
        RangeError: a negative number.
    """
    return RetryPolicy(max_retries, base_delay_ms, max_retry_after_ms)
