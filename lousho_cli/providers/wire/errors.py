"""Failed HTTP calls as ``ProviderError``: from a status, from an error object, from a broken connection.

Statuses and bodies come in as plain values, so the scripted provider raises exactly what a
server's answer would. No message holds more than 500 characters of what a server said, nor
anything that looks like a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from lousho_cli.core.failures import OUT_OF_QUOTA, Failure, classify
from lousho_cli.core.redaction import without_keys
from lousho_cli.core.retry_after import parse_retry_after, rate_limit_reset, wait_in_body
from lousho_cli.errors import ProviderError
from lousho_cli.providers.wire.error_bodies import body_message, body_value, error_of

if TYPE_CHECKING:
    import httpx

__all__ = ["body_message", "error_of"]

MAX_MESSAGE = 500

_WHO_ASKS = 407  # what a proxy says, and no server behind it
_PROXY_HINT = "Check the proxy, and its user and password."
_CERTIFICATE_HINT = "Name who signed it with provider.ca_file; Python 3.13 and newer also want the extensions of RFC 5280 in it."
_USED_UP = "What the account may use is used up: add to it, then resume."
_HINTS = {
    "rate-limit": "Wait, or ask for a higher limit.",
    "overloaded": "Try again later.",
    "context-length-exceeded": "Use a model with a larger context, or fork from an earlier step.",
    "auth-failure": "Check the key in the environment, and what it may use.",
    "bad-request": "Check base_url and the model's name.",
    "refused": "Say it in other words, or use another model.",
    "network": "Check the connection and base_url, then resume.",
    "timeout": "Resume, or allow more time.",
}


def failure_error(failure: Failure, detail: str, *, retry_after_ms: int | None = None, partial: bool = False) -> ProviderError:
    """The error of a known kind of failure; its hint names the wait a server asked for."""
    hint = _HINTS.get(failure.category, "") if failure != OUT_OF_QUOTA else _USED_UP
    if retry_after_ms is not None and failure.retryable:
        hint = f"The server asks to wait {retry_after_ms / 1000:g} s."
    detail = shortened(without_keys(detail))
    return ProviderError(
        detail, category=failure.category, retryable=failure.retryable, retry_after_ms=retry_after_ms, partial=partial, hint=hint
    )


def status_error(status: int, message: str, *, code: str = "", retry_after_ms: int | None = None) -> ProviderError:
    """The error of an HTTP answer that is no success."""
    said = f": {message}" if message else ""
    return failure_error(classify(status, code, message), f"the model server answered {status}{said}", retry_after_ms=retry_after_ms)


def refused(status: int, headers: Mapping[str, str], body: bytes, now_ms: int) -> ProviderError:
    """The error of an HTTP answer that is no success, with the wait that its headers or its body ask for."""
    code, message = body_message(body)
    if 300 <= status < 400:
        message = "it redirects to another address, where the key is not sent"
    wait = parse_retry_after(headers, now_ms)
    if wait is None:
        wait = wait_in_body(body_value(body), now_ms)
    if wait is None and classify(status, code, message).category == "rate-limit":
        wait = rate_limit_reset(headers, now_ms)
    error = status_error(status, message, code=code, retry_after_ms=wait)
    if status == _WHO_ASKS:
        error.hint = _PROXY_HINT
    return error


def stream_error(code: str, message: str, *, partial: bool) -> ProviderError:
    """The error a server reported inside an answer that had begun as a success."""
    said = f"{message} ({code})" if message and code and code not in message else message or code
    return failure_error(classify(None, code, message), f"the model server broke off with an error: {said}", partial=partial)


def cut_error(*, partial: bool, why: str = "") -> ProviderError:
    """An answer that stopped without its end mark: never an answer, always worth asking again."""
    said = f" ({why})" if why else ""
    return failure_error(Failure("network", True), f"the connection was lost before the answer had ended{said}", partial=partial)


def timeout_error(what: str, *, partial: bool = False) -> ProviderError:
    return failure_error(Failure("timeout", True), f"the model server timed out: {what}", partial=partial)


def malformed_error(what: str, *, partial: bool = False) -> ProviderError:
    """An answer that cannot be read. The next one may be whole."""
    return failure_error(Failure("server", True), f"the model server sent an answer that cannot be read: {what}", partial=partial)


def transport_error(error: httpx.HTTPError | httpx.InvalidURL, where: str, *, partial: bool) -> ProviderError:
    """The error of a connection that could not be made or did not last. ``where`` is the server's address without secrets."""
    import httpx

    text = str(error) or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        return timeout_error(f"no connection to {where}" if isinstance(error, httpx.ConnectTimeout) else where, partial=partial)
    if isinstance(error, httpx.DecodingError):
        return malformed_error("its compression is broken", partial=partial)
    if isinstance(error, httpx.ProxyError) and (status := re.match(r"[45][0-9][0-9]\b", text)):
        return _proxy_error(int(status[0]), where, text, partial=partial)
    if isinstance(error, (httpx.ConnectError, httpx.ProxyError)):
        # A certificate that is refused now is refused again; everything else about a connection may pass.
        failure = Failure("network", "CERTIFICATE_VERIFY_FAILED" not in text)
        found = failure_error(failure, f"no connection to {where}: {text}", partial=partial)
        if not failure.retryable:
            found.hint = _CERTIFICATE_HINT
        return found
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return cut_error(partial=partial, why=text)
    detail = f"the request to {where} could not be sent ({type(error).__name__})"
    return failure_error(Failure("bad-request", False), detail, partial=partial)


def _proxy_error(status: int, where: str, text: str, *, partial: bool) -> ProviderError:
    """A proxy that said no. Nobody asked the model's server, so its own key is not what is wrong."""
    found = failure_error(classify(status), f"no connection to {where}: {text}", partial=partial)
    if not found.retryable:
        found.hint = _PROXY_HINT
    return found


_REQUEST_IDS = ("request-id", "x-request-id", "apim-request-id", "x-amzn-requestid")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.:-]{1,80}")


def with_request_id(error: ProviderError, headers: Mapping[str, str]) -> ProviderError:
    """The same error with the id by which those who run the server find the request, where they gave one."""
    given = next((headers[name] for name in _REQUEST_IDS if name in headers), "").strip()
    if _REQUEST_ID.fullmatch(given) and given not in error.detail:
        error.detail = f"{error.detail} (request {given})"
        error.args = (error.detail,)
    return error


def shortened(text: str, limit: int = MAX_MESSAGE) -> str:
    """At most ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def without_secrets(error: ProviderError, secrets: tuple[str, ...]) -> ProviderError:
    """The same error with each secret blotted out, as it is or as in an address, and one that was cut in two where a text was shortened."""
    detail = error.detail
    for secret in secrets:
        for form in sorted({secret, quote(secret, safe=""), quote(secret), quote_plus(secret)}, key=len, reverse=True):
            detail = detail.replace(form, "[key]")
            if "…" in detail:
                for size in range(len(form) - 1, 3, -1):
                    detail = detail.replace(form[:size] + "…", "[key]…")
    error.detail, error.args = detail, (detail,)
    return error
