"""A model call as a cassette keeps it, and back: requests, answers, failures. Pure."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal, cast

import msgspec

from lousho_cli.core.answers import answer_from
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Role, ToolCall
from lousho_cli.domain.plain import json_text, text_of
from lousho_cli.domain.usage import CallUsage
from lousho_cli.errors import HookError, ProviderError
from lousho_cli.evals.cassette_file import Chunk, Failure, Request, RequestMessage, RequestTool, Response, ResponseCall, Usage
from lousho_cli.evals.normalise import canonical, canonical_args, normalised
from lousho_cli.evals.redact import Redact, pieces_of, redacted
from lousho_cli.ports.provider import Answer, ModelRequest, ProviderEvent, ReasoningDelta, TextDelta, ToolSpec

Normalize = Callable[[dict[str, Any]], dict[str, Any]]
"""A request as JSON data in, the same without what should not count out: ``model``, ``messages``, ``tools``."""

Piece = tuple[int, Literal["text", "reasoning"], str]
"""A piece of an answer: after how many milliseconds it came, of what, and its text."""


# Requests


def request_of(request: ModelRequest, redact: Redact, normalize: Normalize | None) -> Request:
    """A request as it is stored and compared.

    The caller's ``normalize`` comes first, then secrets go, then what differs from run to run. The name of
    the model is not normalised: one with another date is another model.

    Raises:
        HookError: ``normalize`` or ``redact`` failed.
    """
    if normalize is None:
        model = None if request.model is None else redact(request.model)
        return Request(model, tuple(_clean_message(message, redact) for message in request.messages), _tools(request.tools, redact))
    data: dict[str, Any] = {"model": request.model, "messages": [_message(message) for message in request.messages]}
    data = _asked(normalize, data | {"tools": _plain_tools(request.tools), "temperature": None, "maxTokens": None})
    tools = _clean_tools(data.pop("tools"), redact)
    clean = redacted(data, redact)
    return msgspec.structs.replace(msgspec.convert(normalised(clean) | {"model": clean["model"]}, Request), tools=tools)


def _clean_message(message: Message, redact: Redact) -> RequestMessage:
    if isinstance(message.content, str):
        calls = tuple((call.name, call.arguments) for call in message.tool_calls)
        return _clean_text(message.role, message.content, message.tool_name, message.is_error, calls, redact)
    return msgspec.convert(normalised(redacted(_message(message), redact)), RequestMessage)


@lru_cache(maxsize=4096)  # each call of a run sends all that was said before once more
def _clean_text(
    role: Role, text: str, tool_name: str | None, is_error: bool, calls: tuple[tuple[str, str], ...], redact: Redact
) -> RequestMessage:
    made = tuple(ToolCall("", name, arguments) for name, arguments in calls)
    message = Message(role, text, tool_calls=made, tool_name=tool_name, is_error=is_error)
    return msgspec.convert(normalised(redacted(_message(message), redact)), RequestMessage)


def _tools(tools: tuple[ToolSpec, ...], redact: Redact) -> tuple[RequestTool, ...]:
    try:
        encoded = msgspec.json.encode(tools, order="sorted")
    except TypeError:  # a schema that holds what is not JSON; it is left out
        return _clean_tools(_plain_tools(tools), redact)
    return _tools_of(encoded, redact)


@lru_cache(maxsize=64)  # an agent offers the same tools with each call
def _tools_of(encoded: bytes, redact: Redact) -> tuple[RequestTool, ...]:
    return _clean_tools(_plain_tools(msgspec.json.decode(encoded, type=tuple[ToolSpec, ...])), redact)


def _plain_tools(tools: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    return [{"name": tool.name, "description": tool.description, "parameters": canonical(tool.schema)} for tool in tools]


def _clean_tools(tools: list[dict[str, Any]], redact: Redact) -> tuple[RequestTool, ...]:
    return msgspec.convert(normalised(redacted(tools, redact)), tuple[RequestTool, ...])


def _asked(normalize: Normalize, data: dict[str, Any]) -> dict[str, Any]:
    try:
        changed = normalize(data)
        return dict(msgspec.to_builtins(msgspec.convert(changed, Request)))
    except msgspec.ValidationError as error:
        raise HookError("normalize", f"gave no request: {error}") from error
    except Exception as error:
        raise HookError("normalize", f"failed: {type(error).__name__}: {text_of(error)[:300]}") from error


def _message(message: Message) -> dict[str, Any]:
    data: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.tool_name is not None:
        data["toolName"] = message.tool_name
    if message.is_error:
        data["isError"] = True
    parts = () if isinstance(message.content, str) else message.content
    attachments = [_attachment(part) for part in parts if isinstance(part, ImagePart | FilePart)]
    if attachments:
        data["attachments"] = attachments
    if message.tool_calls:
        data["toolCalls"] = [{"name": call.name, "args": canonical_args(call.arguments)} for call in message.tool_calls]
    return data


def _attachment(part: ImagePart | FilePart) -> str:
    """An attachment in a line: what it is, and its address or a digest of its bytes."""
    if isinstance(part, FilePart):
        return " ".join(filter(None, ("file", part.mime_type, part.filename, digest(part.data))))
    if part.image.startswith(("http://", "https://")):
        return f"image {part.image}"
    head, comma, data = part.image.partition(",")
    mime = part.mime_type or (head.removeprefix("data:").partition(";")[0] if comma else "")
    return " ".join(filter(None, ("image", mime, digest(data if comma else part.image))))


@lru_cache(maxsize=16)
def digest(data: str) -> str:
    """The 32-bit FNV-1a digest of what base64 text stands for, or of the text itself where it is none."""
    try:
        raw = base64.b64decode(data, validate=True)
    except ValueError:
        raw = data.encode("utf-8", "replace")
    number = 0x811C9DC5
    for byte in raw:
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"fnv1a:{number:08x}"


# Answers


def response_of(answer: Answer, pieces: list[Piece], redact: Redact) -> Response:
    """A whole answer as it is stored: redacted, not normalised.

    Raises:
        ProviderError: it has no message that can be used.
        HookError: ``redact`` failed.
    """
    given = answer_from(answer)
    message = given.message
    response = Response(
        text=message.text,
        finish_reason=given.finish_reason,
        usage=_usage(given.usage),
        tool_calls=tuple(ResponseCall(call.id, call.name, call.arguments) for call in message.tool_calls),
        model=given.model,
        reasoning=message.reasoning,
        native=message.native,
        metadata=message.metadata,
    )
    clean = msgspec.convert(redacted(msgspec.to_builtins(response), redact), Response)
    return msgspec.structs.replace(clean, chunks=chunks_of(pieces, redact))


def _usage(given: CallUsage | None) -> Usage | None:
    if given is None:
        return None
    total = None if given.input_tokens is None or given.output_tokens is None else given.input_tokens + given.output_tokens
    return Usage(total_tokens=total, **msgspec.structs.asdict(given))


def piece_of(event: ProviderEvent, delay_ms: int) -> Piece | None:
    """An event of a stream as a piece; None for one that is none."""
    if isinstance(event, TextDelta):
        return delay_ms, "text", text_of(event.text)
    return (delay_ms, "reasoning", text_of(event.text)) if isinstance(event, ReasoningDelta) and event.text else None


def chunks_of(pieces: list[Piece], redact: Redact) -> tuple[Chunk, ...]:
    """The pieces of an answer as they are stored: no row of them tells a secret, wherever it was cut."""
    of = {kind: iter(pieces_of([text for _, its, text in pieces if its == kind], redact)) for kind in ("text", "reasoning")}
    return tuple(Chunk(delay_ms, {kind: next(of[kind])}) for delay_ms, kind, _ in pieces)


def answer_of(response: Response) -> Answer:
    """The answer that was recorded."""
    usage = response.usage
    message = Message(
        role="assistant",
        content=response.text,
        tool_calls=tuple(ToolCall(call.id, call.name, _args(call.args)) for call in response.tool_calls),
        reasoning=response.reasoning,
        native=response.native,
        metadata=response.metadata,
    )
    counts = usage and CallUsage(**{name: getattr(usage, name) for name in CallUsage.__struct_fields__})
    return Answer(message, response.finish_reason, counts or None, response.model)


def _args(given: Any) -> str:
    """The text of arguments, which another program may have kept as a value."""
    return given if isinstance(given, str) else json_text(given)[0]


def pieces_told(response: Response) -> Iterator[tuple[float, ProviderEvent]]:
    """The pieces to play before an answer, with their delays in milliseconds.

    Its text comes at once where none were kept, or they tell another one, as somebody has changed it in the file.
    """
    told = list(_told(response.chunks or ()))
    if response.text == "".join(event.text for _, event in told if isinstance(event, TextDelta)):
        yield from told
        return
    yield from ((delay_ms, event) for delay_ms, event in told if not isinstance(event, TextDelta))
    if response.text:
        yield 0, TextDelta(response.text)


def _told(chunks: Iterable[Chunk]) -> Iterator[tuple[float, ProviderEvent]]:
    for chunk in chunks:
        given = {"text": chunk.chunk} if isinstance(chunk.chunk, str) else chunk.chunk
        if not isinstance(given, dict):
            continue
        for name, kind in (("text", TextDelta), ("reasoning", ReasoningDelta)):
            if isinstance(given.get(name), str) and given[name]:
                yield chunk.delay_ms, kind(given[name])


# Failures


def failure_of(error: Exception, pieces: list[Piece], redact: Redact) -> Failure:
    """A failed call as it is stored: what the error says, never what the server sent.

    Raises:
        HookError: ``redact`` failed.
    """
    failure = Failure(type(error).__name__, text_of(error))
    if isinstance(error, ProviderError):
        failure = Failure(
            name=type(error).__name__,
            message=error.detail,
            category=error.category,
            code=error.code,
            hint=error.hint,
            retryable=error.retryable,
            retry_after_ms=error.retry_after_ms,
            partial=error.partial,
        )
    clean = msgspec.convert(redacted(msgspec.to_builtins(failure), redact), Failure)
    return msgspec.structs.replace(clean, chunks=chunks_of(pieces, redact))


def error_of(failure: Failure) -> Exception:
    """The error that was recorded: a ``ProviderError`` as it was, anything else by its name and message alone."""
    if not failure.category and failure.name != "ProviderError":
        return cast("Exception", _named(failure.name, Exception)(failure.message))
    error = _named(failure.name, ProviderError)(
        failure.message,
        category=failure.category or "unknown",
        retryable=failure.retryable,
        retry_after_ms=failure.retry_after_ms,
        partial=failure.partial,
        code=failure.code or None,
        hint=failure.hint,
    )
    return cast("ProviderError", error)


def _named(name: str, kind: type[Exception]) -> Any:
    """A kind of error under the name it had."""
    return kind if name == kind.__name__ else type(name or "Error", (kind,), {"__module__": "recorded"})


def pieces_before(failure: Failure) -> Iterator[tuple[float, ProviderEvent]]:
    """The pieces to play before a failure."""
    return _told(failure.chunks)
