"""The types of providers an agent file may name: which wire each speaks, where it is, where its key is, what it takes."""

from __future__ import annotations

import os
from typing import Literal, get_args

import msgspec

TypeName = Literal[
    "openai",
    "openai-responses",
    "anthropic",
    "ollama",
    "openrouter",
    "groq",
    "deepseek",
    "gemini",
    "mistral",
    "together",
    "xai",
    "vllm",
    "llamacpp",
    "scripted",
]
WireName = Literal["chat", "responses", "anthropic", "script"]

_HTTP = frozenset(
    {
        "base_url",
        "api_key_env",
        "headers",
        "headers_env",
        "extra_body",
        "connect_timeout",
        "first_byte_timeout",
        "idle_timeout",
        "proxy",
        "ca_file",
    }
)
FIELDS: dict[WireName, frozenset[str]] = {
    "chat": _HTTP | {"empty_content", "reasoning_field", "stream_options"},
    "responses": _HTTP,
    "anthropic": _HTTP | {"max_tokens", "prompt_cache"},
    "script": frozenset({"turns", "turns_file", "repeat_last"}),
}
"""The fields of ``provider`` that hold for a wire, besides ``type``, ``model`` and ``price``, which hold for all."""


class ProviderType(msgspec.Struct, frozen=True):
    """What is filled in for a type.

    base_url: where it is; None for where its wire is at home, which a variable may move (``OPENAI_BASE_URL``,
    ``ANTHROPIC_BASE_URL``). keys: the variables its key may be in, in the order they are asked; none needs no key.
    model: what stands in where no model is named; None where one must be. slashes: whether its models may have a
    slash in their names. host_env: a variable that moves the address of a server that is not at home. token: a variable
    whose value goes as a bearer's, besides or instead of the key.
    """

    wire: WireName
    base_url: str | None = None
    keys: tuple[str, ...] = ()
    model: str | None = None
    slashes: bool = False
    host_env: str = ""
    token: str = ""


TYPES: dict[TypeName, ProviderType] = {
    "openai": ProviderType("chat", None, ("OPENAI_API_KEY",), slashes=True),
    "openai-responses": ProviderType("responses", None, ("OPENAI_API_KEY",), slashes=True),
    "anthropic": ProviderType("anthropic", None, ("ANTHROPIC_API_KEY",), token="ANTHROPIC_AUTH_TOKEN"),  # noqa: S106  # its name
    "ollama": ProviderType("chat", "http://127.0.0.1:11434/v1", slashes=True, host_env="OLLAMA_HOST"),
    "openrouter": ProviderType("chat", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",), slashes=True),
    "groq": ProviderType("chat", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), slashes=True),
    "deepseek": ProviderType("chat", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "gemini": ProviderType(
        "chat", "https://generativelanguage.googleapis.com/v1beta/openai", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), slashes=True
    ),
    "mistral": ProviderType("chat", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "together": ProviderType("chat", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",), slashes=True),
    "xai": ProviderType("chat", "https://api.x.ai/v1", ("XAI_API_KEY",)),
    "vllm": ProviderType("chat", "http://127.0.0.1:8000/v1", slashes=True),
    "llamacpp": ProviderType("chat", "http://127.0.0.1:8080/v1", model="default", slashes=True),
    "scripted": ProviderType("script", model="scripted"),
}

_PORTS = {"http": "80", "https": "443"}

NAMES: tuple[TypeName, ...] = get_args(TypeName)


def key_variables() -> tuple[str, ...]:
    """Every variable that some type finds its key or token in, each once."""
    return tuple(dict.fromkeys(name for kind in TYPES.values() for name in (*kind.keys, kind.token) if name))


def address_of(kind: TypeName, base_url: str | None) -> str | None:
    """Where a server of this type is: what was configured, unless that is only the default and its variable moves it.

    ``OLLAMA_HOST`` is read as Ollama does: with or without scheme and port, and "every address" means this machine.
    """
    preset = TYPES[kind]
    host = os.environ.get(preset.host_env, "").strip() if preset.host_env else ""
    if not host or base_url != preset.base_url:
        return base_url
    scheme, _, rest = host.rpartition("://")
    place, _, path = rest.partition("/")
    name, port = _host_and_port(place)
    name = "127.0.0.1" if name in ("", "0.0.0.0", "[::]") else name  # noqa: S104  # what a server listens on, read here
    under = f"/{path.strip('/')}" if path.strip("/") else ""
    return f"{scheme or 'http'}://{name}:{port or _PORTS.get(scheme, '11434')}{under}/v1"


def _host_and_port(place: str) -> tuple[str, str]:
    if place.startswith("["):
        name, bracket, rest = place.partition("]")
        return name + bracket, rest.removeprefix(":")
    name, colon, port = place.rpartition(":")
    return (name, port) if colon else (port, "")
