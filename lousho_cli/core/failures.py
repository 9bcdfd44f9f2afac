"""Which failed model calls are worth asking again: one table from status, code and text to a category.

Three facts decide what a failure is, in this order of trust: the server's error code, where it is one of
the table; the HTTP status; the text. A text may quote anything ("250000 tokens" is no status 500), so it
counts only where no status was given, and then only by whole words. One exception: a transcript that is
too long is reported in so many ways that only the text tells it.
"""

from __future__ import annotations

import re

import msgspec


class Failure(msgspec.Struct, frozen=True):
    """What kind of failure it was: a category of ``ProviderError``, and whether the same request may succeed later."""

    category: str
    retryable: bool


TOO_LONG = Failure("context-length-exceeded", False)
OUT_OF_QUOTA = Failure("rate-limit", False)
REFUSED = Failure("refused", False)
AUTH = Failure("auth-failure", False)
BAD_REQUEST = Failure("bad-request", False)
UNKNOWN = Failure("unknown", False)
RATE_LIMIT = Failure("rate-limit", True)
OVERLOADED = Failure("overloaded", True)
TIMEOUT = Failure("timeout", True)
NETWORK = Failure("network", True)
SERVER = Failure("server", True)

_CODES: dict[Failure, str] = {
    TOO_LONG: "context_length_exceeded string_above_max_length request_too_large exceed_context_size_error",
    OUT_OF_QUOTA: "insufficient_quota error_quota billing_hard_limit_reached billing_not_active credit_balance_exhausted",
    REFUSED: "content_filter content_policy_violation image_content_policy_violation responsibleaipolicyviolation "
    "moderation invalid_prompt bio_policy misalignment_policy_violation",
    AUTH: "invalid_api_key api_key_invalid authentication_error permission_error permission_denied unauthenticated billing_error "
    "account_deactivated",
    BAD_REQUEST: "invalid_request_error not_found_error invalid_argument failed_precondition out_of_range not_found not_supported_error "
    "model_not_found deploymentnotfound data_residency_mismatch "
    "invalid_image invalid_image_format invalid_base64_image invalid_image_url invalid_image_mode image_too_large image_too_small "
    "image_parse_error image_file_too_large unsupported_image_media_type empty_image_file failed_to_download_image image_file_not_found",
    RATE_LIMIT: "rate_limit_error rate_limit_exceeded ratelimitreached too_many_requests resource_exhausted",
    OVERLOADED: "overloaded_error engine_overloaded slow_down unavailable unavailable_error capacity_exceeded",
    TIMEOUT: "timeout_error deadline_exceeded vector_store_timeout",
    # The last two: the model wrote a call or a JSON text its own server could not read, and may do better next time.
    # "error" is a finish reason.
    SERVER: "api_error server_error internal_server_error internal aborted error tool_use_failed json_validate_failed",
}
"""The error codes and types that servers send, in small letters."""

_BY_CODE = {code: failure for failure, codes in _CODES.items() for code in codes.split()}

_BY_STATUS = {
    401: AUTH,
    402: AUTH,
    403: AUTH,
    407: AUTH,  # a proxy wants to know who asks
    408: TIMEOUT,
    409: SERVER,  # a lock that was not had in time, say those who send it
    413: TOO_LONG,
    425: NETWORK,
    429: RATE_LIMIT,
    498: OVERLOADED,
    499: NETWORK,
    503: OVERLOADED,
    504: TIMEOUT,
    522: TIMEOUT,
    523: NETWORK,
    524: TIMEOUT,
    529: OVERLOADED,
}
"""Any other from 500 is a fault of the server, any other below a bad request."""

_CONTEXT_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size|limit)|maximum (context|model length|prompt length)|(prompt|input) is too long"
    r"|input token count.{0,40}exceeds|reduce the length of the (messages|prompt)",
    re.IGNORECASE,
)

_NO_MONEY = re.compile(r"credit balance is too low", re.IGNORECASE)
"""Anthropic says it as it would of any bad request."""

_BY_TEXT = (
    (OVERLOADED, re.compile(r"overloaded|service[ _-]?unavailable|\b503\b", re.IGNORECASE)),
    (RATE_LIMIT, re.compile(r"rate[ _-]?limit|too[ _-]many[ _-]requests|\b429\b", re.IGNORECASE)),
    (TIMEOUT, re.compile(r"timed[ _-]?out|time-?out|\b504\b", re.IGNORECASE)),
    (NETWORK, re.compile(r"network[ _-]?error|connection[ _-](was )?(reset|refused|lost|error)", re.IGNORECASE)),
    (NETWORK, re.compile(r"socket hang up|fetch failed|\bterminated\b", re.IGNORECASE)),
    (SERVER, re.compile(r"server[ _-]?error|\b50[02]\b", re.IGNORECASE)),
    (AUTH, re.compile(r"(invalid|incorrect|missing)[ _-]api[ _-]key|unauthori[sz]ed", re.IGNORECASE)),
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
        if failure is SERVER and status is not None and status >= 500:
            return _BY_STATUS.get(status, SERVER)  # such a status says more
        if failure is not BAD_REQUEST:  # which says too little: a transcript that is too long is one as well
            return failure
    if status != 429 and _CONTEXT_TOO_LONG.search(text):
        return TOO_LONG
    if status in (None, 400) and _NO_MONEY.search(text):
        return OUT_OF_QUOTA
    if status is not None:
        return _BY_STATUS.get(status) or (SERVER if status >= 500 else BAD_REQUEST)
    said = f"{code} {text}"
    for failure, pattern in _BY_TEXT:
        if pattern.search(said):
            return failure
    return known[0] if known else UNKNOWN
