"""``http``: one request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from lousho_cli.ports.tool import Tool
from lousho_cli.tools.function import Replay, function_tool

if TYPE_CHECKING:
    import httpx

DEFAULT_TIMEOUT_MS = 30_000
MAX_BYTES = 5_000_000
"""The body of an answer is read up to here and no further."""
MAX_REDIRECTS = 5
_TEXT = ("text/", "application/json", "application/xml", "application/javascript", "+json", "+xml", "urlencoded")

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def make(workspace: Path, needs_approval: bool | None = None, replay: Replay | None = None, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> Tool:
    async def http(
        url: Annotated[str, Field(pattern="^https?://", description="http or https")],
        method: Method = "GET",
        headers: Annotated[dict[str, str] | None, Field(description="request headers")] = None,
        body: Annotated[str | None, Field(description="text to send")] = None,
        json: Annotated[Any, Field(description="data to send as JSON, in place of body")] = None,
    ) -> dict[str, Any]:
        """Sends an HTTP request and gives the status, headers and body of the answer."""
        import asyncio

        if body is not None and json is not None:
            raise ValueError("give body or json, not both")
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await _ask(method, url, headers or {}, body, json)
        except TimeoutError as error:
            raise TimeoutError(f"no whole answer within {timeout_ms / 1000:g} s") from error

    # Only a request that changes nothing could simply run again, and the method is the model's choice: left to the run.
    return function_tool(http, replay=replay, needs_approval=True if needs_approval is None else needs_approval)


async def _ask(method: str, url: str, headers: dict[str, str], body: str | None, json: Any) -> dict[str, Any]:
    import httpx

    try:
        async with (
            httpx.AsyncClient(follow_redirects=True, max_redirects=MAX_REDIRECTS, timeout=None) as client,  # noqa: S113 - the caller limits the whole
            client.stream(method, url, headers=headers, content=body, json=json) as answer,
        ):
            data, whole = await _read(answer)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise ConnectionError(f"the request failed: {error or type(error).__name__}") from error
    kind = answer.headers.get("content-type", "")
    told = {"status": answer.status_code, "url": str(answer.url), "headers": dict(answer.headers)}
    content: Any = _decoded(data, answer) if _is_text(kind) else data
    return told | {"body": content} | ({} if whole else {"cut_at_bytes": MAX_BYTES})


async def _read(answer: httpx.Response) -> tuple[bytes, bool]:
    """The body, up to the limit, and whether that was all."""
    data = bytearray()
    async for chunk in answer.aiter_bytes():
        data += chunk
        if len(data) > MAX_BYTES:
            return bytes(data[:MAX_BYTES]), False
    return bytes(data), True


def _is_text(kind: str) -> bool:
    return not kind or any(part in kind for part in _TEXT)


def _decoded(data: bytes, answer: httpx.Response) -> str:
    try:
        return data.decode(answer.charset_encoding or "utf-8", "replace")
    except LookupError:
        return data.decode("utf-8", "replace")
