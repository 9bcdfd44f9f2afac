"""Which model an agent asks: its file's provider, or the one a person chose with ``provider/model``."""

from __future__ import annotations

from typing import Any

import msgspec

from lousho_cli.app.agent_spec import AgentFile, ProviderSpec
from lousho_cli.app.provider_types import NAMES, TYPES, address_of
from lousho_cli.app.suggestions import TYPED, nearest
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
    word, slash, name = model.partition("/")
    kind = next((known for known in NAMES if slash and known == word), None)
    if kind is None:
        if slash and not TYPES[spec.type].slashes:
            near = nearest(word, NAMES, TYPED)
            told = f"Did you mean {near}?" if near else f"Known are {', '.join(NAMES)}."
            raise ConfigurationError(f"there is no provider {word!r}", field="model", hint=told)
        kind, name = spec.type, model
    if not name:
        raise ConfigurationError(f"{model!r} names no model", field="model", hint="Write it as provider/model.")
    if kind == spec.type:
        return msgspec.structs.replace(spec, model=name)
    if kind == "scripted":
        raise ConfigurationError("a scripted model needs its turns in the agent file", field="model")
    return ProviderSpec(kind, name, base_url=TYPES[kind].base_url, api_key_env=TYPES[kind].keys)


def _built(spec: ProviderSpec) -> Provider:
    """The provider. Each wire is imported where it is asked for: a scripted run needs none of them."""
    wire = TYPES[spec.type].wire
    if wire == "script":
        from lousho_cli.providers.scripted import ScriptedProvider

        return ScriptedProvider(spec.turns, spec.model, spec.repeat_last)
    options: dict[str, Any] = {"base_url": address_of(spec.type, spec.base_url), "api_key_env": spec.api_key_env, **spec.options}
    if wire == "anthropic":
        from lousho_cli.providers.anthropic.provider import AnthropicProvider

        return AnthropicProvider(spec.model, **options)
    if wire == "responses":
        from lousho_cli.providers.responses.provider import OpenAIResponsesProvider

        return OpenAIResponsesProvider(spec.model, **options)
    from lousho_cli.providers.chat.provider import OpenAIProvider

    return OpenAIProvider(spec.model, dialect=spec.type, **options)
