"""Failed HTTP calls as ``ProviderError``: from a status, from an error object, from a broken connection.

Statuses and bodies come in as plain values, so the scripted provider raises exactly what a
server's answer would. No message holds more than 500 characters of what a server said.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lousho_cli.core.retry import Failure, classify
from lousho_cli.errors import ProviderError

if TYPE_CHECKING:
    import httpx

MAX_MESSAGE = 500

_HINTS = {
    "rate-limit": "Wait, or ask for a higher limit.",
    "overloaded": "Try again later.",
    "context-length-exceeded": "Use a model with a larger context, or fork from an earlier step.",
    "auth-failure": "Check the key in the environment, and what it may use.",
    "bad-request": "Check base_url and the model's name.",
    "network": "Check the connection and base_url, then resume.",
    "timeout": "Resume, or allow more time.",
}


def failure_error(failure: Failure, detail: str, *, retry_after_ms: int | None = None, partial: bool = False) -> ProviderError:
    """The error of a known kind of failure; its hint names the wait a server asked for."""
    hint = _HINTS.get(failure.category, "")
    if retry_after_ms is not None:
        hint = f"The server asks to wait {retry_after_ms / 1000:g} s."
    return ProviderError(
        shortened(detail), category=failure.category, retryable=failure.retryable, retry_after_ms=retry_after_ms, partial=partial, hint=hint
    )


def status_error(status: int, message: str, *, code: str = "", retry_after_ms: int | None = None) -> ProviderError:
    """The error of an HTTP answer that is no success."""
    said = f": {message}" if message else ""
    return failure_error(classify(status, code, message), f"the model server answered {status}{said}", retry_after_ms=retry_after_ms)


def stream_error(code: str, message: str, *, partial: bool) -> ProviderError:
    """The error a server reported inside an answer that had begun as a success."""
    return failure_error(classify(None, code, message), f"the model server broke off with an error: {message or code}", partial=partial)


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
    if isinstance(error, (httpx.ConnectError, httpx.ProxyError)):
        # A certificate that is refused now is refused again; everything else about a connection may pass.
        failure = Failure("network", "CERTIFICATE_VERIFY_FAILED" not in text)
        return failure_error(failure, f"no connection to {where}: {text}", partial=partial)
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return cut_error(partial=partial, why=text)
    detail = f"the request to {where} could not be sent ({type(error).__name__})"
    return failure_error(Failure("bad-request", False), detail, partial=partial)


def error_of(value: Any) -> tuple[str, str] | None:
    """Code (with its type, if both are given) and message of an error object as servers send it; None when there is none.

    Known shapes: ``{"error": {"code", "type", "message"}}``, ``{"error": "text"}``, ``{"detail": …}``,
    ``{"message": "text"}``, and a list that holds one of them.
    """
    if isinstance(value, list):
        return error_of(value[0]) if value else None
    if not isinstance(value, dict):
        return None
    inner = value.get("error") or value.get("detail")
    if not inner and isinstance(value.get("message"), str):
        inner = value
    if not inner:
        return None
    if not isinstance(inner, dict):
        return "", inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
    kinds = [str(kind) for kind in (inner.get("code"), inner.get("type")) if kind]
    message = str(inner.get("message") or inner.get("detail") or "")
    if inner.get("failed_generation"):
        message = f"{message} The model wrote: {inner['failed_generation']}"
    return " ".join(dict.fromkeys(kinds)), message


def body_message(body: bytes) -> tuple[str, str]:
    """Code and message of the body of a failed answer. Of a page or other text only its kind is told."""
    text = body.decode("utf-8", "replace").strip()
    try:
        return error_of(json.loads(text)) or ("", "")
    except (ValueError, RecursionError):
        if text[:1] == "<":
            return "", "an HTML page instead of JSON"
        return "", text.splitlines()[0][:200] if text else ""


def shortened(text: str, limit: int = MAX_MESSAGE) -> str:
    """At most ``limit`` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def without_secrets(error: ProviderError, secrets: tuple[str, ...]) -> ProviderError:
    """The same error with each secret blotted out, also one that the end of a shortened text cut in two."""
    detail = error.detail
    for secret in secrets:
        detail = detail.replace(secret, "[key]")
        cut = next((size for size in range(len(secret) - 1, 3, -1) if detail.endswith(secret[:size] + "…")), 0)
        if cut:
            detail = detail[: -cut - 1] + "[key]…"
    error.detail, error.args = detail, (detail,)
    return error
