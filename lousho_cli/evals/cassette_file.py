"""The file of a cassette: what it holds, how it is read, how it is replaced as a whole.

    {"version": 1, "sdkVersion", "recordedAt", "provider": {"name", "defaultModel"}, "entries": [
        {"kind": "stream", "request": {...}, "response": {...} or "error": {...}}]}

``open`` is true while the run that is recorded has not ended. ``lane`` and ``beside`` of an entry say which
conversation it belongs to and which others went on at that moment (see ``cassette_matching``).
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from lousho_cli.domain.messages import Native, Reasoning
from lousho_cli.errors import CassetteError

VERSION = 1

INVALID = "LOUSHO_CASSETTE_INVALID"
UNWRITABLE = "LOUSHO_CASSETTE_UNWRITABLE"

_WAIT = msgspec.Meta(ge=0)


class Wrapped(msgspec.Struct, frozen=True, rename="camel"):
    """The provider that was recorded."""

    name: str
    default_model: str | None = None


class RequestCall(msgspec.Struct, frozen=True):
    """A call of an earlier answer, as a request tells it: without its id."""

    name: str
    args: Any = "{}"


class RequestMessage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A message of a request. ``attachments``: a line each, never their bytes."""

    role: str
    content: str
    name: str | None = None
    tool_name: str | None = None
    is_error: bool = False
    attachments: tuple[str, ...] = ()
    tool_calls: tuple[RequestCall, ...] = ()


class RequestTool(msgspec.Struct, frozen=True):
    """A tool that was offered."""

    name: str
    description: str = ""
    parameters: Any = None


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """What the model was asked, normalised and redacted. The last two are kept where another program wrote them."""

    model: str | None
    messages: tuple[RequestMessage, ...]
    tools: tuple[RequestTool, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None


class Chunk(msgspec.Struct, frozen=True, rename="camel"):
    """A piece of an answer, and how long after the one before it came. Ours are ``{"text"}`` or ``{"reasoning"}``."""

    delay_ms: int | float = 0
    chunk: Any = None


class Usage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the server counted, in the words of ``domain.usage.CallUsage``; a count it did not give is left out."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None


class ResponseCall(msgspec.Struct, frozen=True):
    """A call of the answer; ``args`` is the model's exact text."""

    id: str
    name: str
    args: Any = "{}"


class Response(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A whole answer. From ``model`` on all is ours: the further parts of a message, as a log has them."""

    text: str
    finish_reason: str
    usage: Usage | None = None
    tool_calls: tuple[ResponseCall, ...] = ()
    chunks: tuple[Chunk, ...] | None = None
    model: str = ""
    reasoning: tuple[Reasoning, ...] = ()
    native: Native | None = None
    metadata: dict[str, Any] | None = None


class Failure(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A call that failed. Beyond ``name`` and ``message`` all is ours: what a ``ProviderError`` says, and what came before it."""

    name: str
    message: str
    category: str = ""
    code: str = ""
    hint: str = ""
    retryable: bool = False
    retry_after_ms: Annotated[int, _WAIT] | Annotated[float, _WAIT] | None = None
    partial: bool = False
    chunks: tuple[Chunk, ...] = ()


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call of the model. It has a response or an error."""

    kind: Literal["generate", "stream"]
    request: Request
    response: Response | None = None
    error: Failure | None = None
    lane: int = 0
    beside: tuple[int, ...] = ()


class CassetteFile(msgspec.Struct, frozen=True, rename="camel"):
    """The whole file."""

    version: int
    entries: tuple[Entry, ...]
    sdk_version: str = ""
    recorded_at: str = ""
    provider: Wrapped | None = None
    open: bool = False


def read_cassette(path: Path) -> CassetteFile | None:
    """What is in a file, None where there is none.

    Raises:
        CassetteError: it can not be read, is not JSON, has another version, or something in it is not what it has to be.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise invalid(path, "is no file", "Name a file; it is made where there is none.")
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise invalid(
            path, f"can not be read: {getattr(error, 'strerror', None) or error}", "Check the path and its permissions."
        ) from error
    quick = _read_quickly(text)
    if quick is not None:
        return quick
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid(
            path, f"is not JSON: {error}", "It may have been cut; take an older copy, or delete it and record it again."
        ) from None
    version = value.get("version") if isinstance(value, dict) else None
    if isinstance(version, int | float) and not isinstance(version, bool) and version != VERSION:
        what = f"is of version {version}, and this lousho reads version {VERSION}"
        raise invalid(path, what, "Update lousho, or delete the file and record it again.")
    return _checked(path, value)


def _read_quickly(text: bytes) -> CassetteFile | None:
    """What nearly every file is; None for one that has to be looked at closely, to say what is wrong with it."""
    try:
        file = msgspec.json.decode(text, type=CassetteFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    sound = file.version == VERSION and all((entry.response is None) != (entry.error is None) for entry in file.entries)
    return file if sound else None


def _checked(path: Path, value: Any) -> CassetteFile:
    try:
        file = msgspec.convert(value, CassetteFile)
    except (msgspec.ValidationError, RecursionError) as error:
        raise invalid(path, f"is malformed: {error}", "Mend it there, or delete it and record it again.") from None
    for place, entry in enumerate(file.entries):
        if (entry.response is None) == (entry.error is None):
            raise invalid(
                path,
                f"is malformed: an entry has a response or an error, one of the two - at `$.entries[{place}]`",
                "Mend it there, or delete it and record it again.",
            )
    return file


def invalid(path: Path, what: str, hint: str) -> CassetteError:
    """A cassette that can not be used as it lies there."""
    return CassetteError(f"the cassette {path} {what}", path=str(path), code=INVALID, hint=hint)


Identity = tuple[int, int]
"""What tells one writing of a file from the next."""


def identity_of(path: Path) -> Identity | None:
    """Which writing of a file lies there, None where there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns


def write_cassette(path: Path, file: CassetteFile) -> Identity | None:
    """Puts a file in the place of what is there: whoever reads, and a crash, finds the old one or the new one. Durable on return.

    Raises:
        CassetteError: it could not be written; what was there stands.
    """
    text = json.dumps(msgspec.to_builtins(file), ensure_ascii=False, indent=2) + "\n"
    target, aside = _places(path)
    try:
        _write_new(aside, text.encode("utf-8", "replace"))
        os.replace(aside, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise _unwritable(path, aside, error) from error
    return identity_of(target)


def check_folder(path: Path) -> None:
    """Makes sure that a file can be written where it is going to lie, and makes the folders above it.

    Raises:
        CassetteError: it can not.
    """
    target, aside = _places(path)
    try:
        _make_folder(target.parent)
        _write_new(aside, b"")
        aside.unlink()
    except OSError as error:
        raise _unwritable(path, aside, error) from error


def _places(path: Path) -> tuple[Path, Path]:
    """Where a file really lies, and where it is written aside."""
    target = Path(os.path.realpath(path))
    return target, target.parent / f".{target.name:.100}.{secrets.token_hex(6)}.tmp"


def _unwritable(path: Path, aside: Path, error: OSError) -> CassetteError:
    with suppress(OSError):
        aside.unlink(missing_ok=True)
    return CassetteError(
        f"the cassette {path} can not be written: {error.strerror or error}",
        path=str(path),
        code=UNWRITABLE,
        hint="Check the folder, its permissions and the free space. What was recorded before stands.",
    )


def _make_folder(path: Path) -> None:
    """Makes a folder and those above it, for their owner alone."""
    if not path.is_dir():
        _make_folder(path.parent)
        path.mkdir(0o700, exist_ok=True)


def _write_new(path: Path, data: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
