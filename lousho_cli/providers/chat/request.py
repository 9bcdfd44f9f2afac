"""A model request as the body of a chat-completions call.

The same transcript gives the same bytes, in every process: keys have a fixed order and tools
come as given. So a server's prompt cache keeps hitting, also after a resume. For that, what a
message becomes hangs on itself, the server and the tools, and never on what follows it.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from itertools import zip_longest
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from lousho_cli.domain.messages import FilePart, ImagePart, Message, Part, TextPart, ToolCall
from lousho_cli.ports.provider import ModelRequest, ToolSpec
from lousho_cli.providers.chat.dialects import PLAIN, Dialect
from lousho_cli.providers.chat.extras import THINKING, Extras, extras_of
from lousho_cli.providers.wire.asked import asked
from lousho_cli.providers.wire.calls import argument_object, wire_word
from lousho_cli.providers.wire.surrogates import whole

RESERVED = frozenset({"model", "messages", "tools", "stream", "stream_options"})
"""Keys of the body that the run itself fills in."""

NO_REASONING = " "
"""What stands for reasoning where DeepSeek demands some and there is none; it takes nothing shorter."""

BRIDGE = "OK."
"""The answer between a tool's result and a person's message, as after an abort, where Mistral demands one."""

UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What Gemini takes for the signature of a call that it did not make itself."""

_SIGNING = re.compile(r"gemini-([3-9]|[1-9][0-9])")
_LONGEST_ID = 40  # of OpenAI
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")


def endpoint(base_url: str) -> str:
    """The address of chat completions under ``base_url``: with or without a final slash, a bare host gets ``/v1``."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        path = (path or "/v1") + "/chat/completions"
    return urlunsplit(parts._replace(path=path))


class Form(msgspec.Struct, frozen=True):
    """How bodies are written for one server.

    dialect: what it takes. wire: the name its own extras are kept under. extra_body: further fields. empty_content:
    what an answer that is only calls has as its content. tools, signed: set for one request, see ``form_for``.
    """

    dialect: Dialect = PLAIN
    wire: str = "chat"
    extra_body: dict[str, Any] = {}
    empty_content: str | None = None
    tools: bool = False
    signed: bool = False

    def form_for(self, request: ModelRequest, model: str) -> Form:
        """The form of one request: whether tools are in play, and whether the model wants calls to be signed."""
        if not (self.dialect.thinks_with_tools or self.dialect.signed_calls):
            return self
        tools = bool(request.tools) or any(message.tool_calls for message in request.messages)
        return msgspec.structs.replace(self, tools=tools, signed=self.dialect.signed_calls and bool(_SIGNING.search(model)))


def encode_request(request: ModelRequest, model: str, form: Form) -> bytes:
    """The body."""
    form = form.form_for(request, model)
    messages: list[dict[str, Any]] = []
    for message in request.messages:
        if (wire := wire_message(message, form)) is None:
            continue
        if form.dialect.answers_results and wire["role"] == "user" and messages and messages[-1]["role"] == "tool":
            messages.append({"role": "assistant", "content": BRIDGE})
        messages.append(wire)
    body: dict[str, Any] = {"model": model, "messages": messages}
    if request.tools:
        body["tools"] = [wire_tool(tool) for tool in request.tools]
    body |= {**form.extra_body, **asked(request, "reasoning_effort"), "stream": True}
    if form.dialect.stream_options:
        body["stream_options"] = {"include_usage": True}
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return whole(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema}}


def wire_message(message: Message, form: Form) -> dict[str, Any] | None:
    """One message on the wire; None for an answer that says nothing, which servers refuse."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": _call_id(message.tool_call_id or "", form), "content": message.text}
    if message.role == "assistant":
        return _wire_answer(message, form)
    if message.role == "user" and not isinstance(message.content, str):
        parts = [_wire_part(part) for part in message.content if not isinstance(part, TextPart) or part.text]
        return {"role": "user", "content": parts or ""}
    return {"role": message.role, "content": message.text}


def _wire_answer(message: Message, form: Form) -> dict[str, Any] | None:
    if not message.text and not message.tool_calls:
        return None
    extras = extras_of(message, form.wire)
    wire: dict[str, Any] = {"role": "assistant", "content": message.text or form.empty_content}
    wire |= _reasoning(message, extras, form)
    if extras.extra:
        wire["extra_content"] = extras.extra
    if message.tool_calls:
        signatures = extras.calls or ((UNSIGNED,) if form.signed else ())
        wire["tool_calls"] = [_wire_call(call, extra, form) for call, extra in zip_longest(message.tool_calls, signatures)]
    return wire


def _wire_call(call: ToolCall, extra: dict[str, Any] | None, form: Form) -> dict[str, Any]:
    checked = form.dialect.checks_calls
    function = {
        "name": wire_word(call.name) if checked else call.name,
        "arguments": call.arguments if checked else msgspec.json.encode(argument_object(call.arguments)).decode(),
    }
    wire = {"id": _call_id(call.id, form), "type": "function", "function": function}
    return {**wire, "extra_content": extra} if extra else wire


def _reasoning(message: Message, extras: Extras, form: Form) -> dict[str, Any]:
    """The fields in which reasoning goes back: those it came in, else the one in which this server takes another's."""
    if extras.details:
        return {"reasoning_details": list(extras.details)}
    dialect = form.dialect
    text = "".join(block.text for block in message.reasoning)
    field = extras.field if dialect.echo and extras.field else dialect.reasoning
    if dialect.thinks_with_tools:
        return {field: text or NO_REASONING} if form.tools else {}
    if not text or field == "none":
        return {}
    if field != THINKING:
        return {field: text}
    parts: list[dict[str, Any]] = [{"type": THINKING, THINKING: [{"type": "text", "text": text}]}]
    return {"content": parts + ([{"type": "text", "text": message.text}] if message.text else [])}


def _call_id(call_id: str, form: Form) -> str:
    """The id, or where the server does not take it as it is, another in its place, always the same."""
    if form.dialect.checks_calls and len(call_id) > _LONGEST_ID:
        return wire_word(call_id, _LONGEST_ID)
    if not form.dialect.short_ids or _SHORT_ID.fullmatch(call_id):
        return call_id
    return sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]


def _wire_part(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": _image_address(part)}}
    return {"type": "file", "file": {"filename": part.filename or "file", "file_data": _data_address(part)}}


def _image_address(part: ImagePart) -> str:
    if part.image.startswith(("http://", "https://", "data:")):
        return part.image
    return f"data:{part.mime_type or 'image/png'};base64,{part.image}"


def _data_address(part: FilePart) -> str:
    return f"data:{part.mime_type};base64,{part.data}"
