"""Which model an agent asks: its file's provider, or the one a person chose with ``provider/model``."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import msgspec

from lousho_cli.app.agent_files import PRESETS
from lousho_cli.app.agent_spec import AgentFile, ProviderSpec
from lousho_cli.app.suggestions import nearest
from lousho_cli.errors import ConfigurationError
from lousho_cli.ports.provider import Provider


def build_provider(file: AgentFile, model: str | None = None) -> Provider:
    """The provider of an agent file.

    Args:
        model: ``provider/model``, or a model of the file's own provider; None for what the file says.

    Raises:
        ConfigurationError: there is no such provider, or it can not be configured so.
    """
    spec = file.provider
    if not isinstance(spec, ProviderSpec):
        if model is not None:
            raise ConfigurationError(
                f"the provider of {file.name} is made by its module, so --model can not change it", field="model", hint="Change the module."
            )
        given: Provider = spec
        return given
    return _built(_chosen(spec, model) if model else spec)


def _chosen(spec: ProviderSpec, model: str) -> ProviderSpec:
    """The spec with another model. Of the file's own provider the address, the key and the rest stay."""
    kind, slash, name = model.partition("/")
    kinds = get_args(get_type_hints(ProviderSpec)["type"])
    if not slash or kind not in kinds:
        if slash and spec.type not in ("openrouter", "openai"):  # their models may have a slash in their own names
            near = nearest(kind, kinds)
            told = f"Did you mean {near}?" if near else f"Known are {', '.join(kinds)}."
            raise ConfigurationError(f"there is no provider {kind!r}", field="model", hint=told)
        kind, name = spec.type, model
    if not name:
        raise ConfigurationError(f"{model!r} names no model", field="model", hint="Write it as provider/model.")
    if kind == spec.type:
        return msgspec.structs.replace(spec, model=name)
    if kind == "scripted":
        raise ConfigurationError("a scripted model needs its turns in the agent file", field="model")
    base_url, key = PRESETS[kind]
    return msgspec.convert({"type": kind, "model": name, "base_url": base_url, "api_key_env": key}, ProviderSpec)


def _built(spec: ProviderSpec) -> Provider:
    if spec.type == "scripted":
        from lousho_cli.providers.scripted import ScriptedProvider

        return ScriptedProvider(spec.turns, spec.model, spec.repeat_last)
    from lousho_cli.providers.chat.provider import OpenAIProvider

    options: dict[str, Any] = dict(spec.options)
    return OpenAIProvider(spec.model, base_url=spec.base_url, api_key_env=spec.api_key_env, **options)
