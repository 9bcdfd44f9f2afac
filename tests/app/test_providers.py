"""The types of providers: what each fills in, what each takes, and what is built of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from lousho_cli.app.agent_files import agent_from
from lousho_cli.app.agent_schema import Provider, agent_file_json_schema
from lousho_cli.app.agent_spec import ProviderSpec
from lousho_cli.app.provider_types import FIELDS, NAMES, TYPES, TypeName, address_of
from lousho_cli.app.providers import build_provider
from lousho_cli.errors import ConfigurationError
from lousho_cli.providers.anthropic.provider import AnthropicProvider
from lousho_cli.providers.chat.dialects import DIALECTS
from lousho_cli.providers.chat.provider import OpenAIProvider
from lousho_cli.providers.responses.provider import OpenAIResponsesProvider

WHERE = {
    "openai": "https://api.openai.com/v1/chat/completions",
    "openai-responses": "https://api.openai.com/v1/responses",
    "anthropic": "https://api.anthropic.com/v1/messages",
    "ollama": "http://127.0.0.1:11434/v1/chat/completions",
    "openrouter": "https://openrouter.ai/api/v1/chat/completions",
    "groq": "https://api.groq.com/openai/v1/chat/completions",
    "deepseek": "https://api.deepseek.com/v1/chat/completions",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    "mistral": "https://api.mistral.ai/v1/chat/completions",
    "together": "https://api.together.xyz/v1/chat/completions",
    "xai": "https://api.x.ai/v1/chat/completions",
    "vllm": "http://127.0.0.1:8000/v1/chat/completions",
    "llamacpp": "http://127.0.0.1:8080/v1/chat/completions",
}
KEYS = {
    "openai": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)


def agent(folder: Path, kind: str, **fields: Any) -> Any:
    fields = {"model": "m"} | fields if TYPES[kind].model is None else fields  # type: ignore[index]
    return agent_from({"name": "x", "prompt": "y", "provider": {"type": kind, **fields}}, folder=folder, path=folder / "agent.yaml")


def test_every_name_is_in_the_table_and_every_field_in_the_schema() -> None:
    assert tuple(TYPES) == NAMES == get_args(TypeName)
    assert {name for name in NAMES if TYPES[name].wire == "chat"} <= set(DIALECTS)
    every = frozenset[str]().union(*FIELDS.values())
    assert every | {"type", "model", "price"} == set(Provider.model_fields)


@pytest.mark.parametrize("kind", WHERE)
def test_a_type_knows_its_address_its_key_and_its_wire(tmp_path: Path, kind: str) -> None:
    file = agent(tmp_path, kind)
    provider: Any = build_provider(file)
    assert provider.address == WHERE[kind]
    assert provider.settings.keys == file.provider.api_key_env == KEYS.get(kind, ())
    assert provider.name == kind
    wires = {"anthropic": AnthropicProvider, "openai-responses": OpenAIResponsesProvider}
    assert type(provider) is wires.get(kind, OpenAIProvider)


@pytest.mark.parametrize("kind", WHERE)
def test_every_field_that_a_type_takes_is_taken_by_its_provider(tmp_path: Path, kind: str) -> None:
    authorities = tmp_path / "ca"
    authorities.mkdir()
    (authorities / "0a1b2c3d.0").touch()
    every = {
        "base_url": "http://h:1/v1",
        "api_key_env": "MY_KEY",
        "headers": {"x-title": "garden"},
        "headers_env": {"x-team": "TEAM"},
        "extra_body": {"temperature": 0},
        "connect_timeout": "1s",
        "first_byte_timeout": 2,
        "idle_timeout": "3s",
        "proxy": "http://p:1",
        "ca_file": "ca",
        "empty_content": "",
        "reasoning_field": "none",
        "stream_options": False,
        "max_tokens": 77,
        "prompt_cache": False,
    }
    given = {name: value for name, value in every.items() if name in FIELDS[TYPES[kind].wire]}  # type: ignore[index]
    settings = build_provider(agent(tmp_path, kind, **given)).settings  # type: ignore[attr-defined]
    assert settings.where.startswith("http://h:1/v1/")
    assert (settings.keys, settings.headers, settings.headers_env) == (("MY_KEY",), {"x-title": "garden"}, {"x-team": "TEAM"})
    assert (settings.limits.connect_ms, settings.limits.first_byte_ms, settings.limits.idle_ms) == (1000, 2000, 3000)
    assert (settings.route.proxy, settings.route.ca_file) == ("http://p:1", str(authorities)), "paths start where the file is"
    document = {"name": "x", "prompt": "y", "provider": {"type": kind, "model": "m", **given}}
    jsonschema.validate(document, agent_file_json_schema())


def test_a_key_may_be_none(tmp_path: Path) -> None:
    assert agent(tmp_path, "openai", api_key_env="").provider.api_key_env == ()


def test_llamacpp_needs_no_model(tmp_path: Path) -> None:
    assert build_provider(agent(tmp_path, "llamacpp")).model == "default"


def test_a_wrong_ca_file_of_an_agent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_provider(agent(tmp_path, "openai", ca_file="gone.pem"))
    assert (caught.value.field, str(tmp_path / "gone.pem") in caught.value.detail) == ("provider.ca_file", True)


@pytest.mark.parametrize(
    ("said", "spec"),
    [
        ("anthropic/claude-x", ProviderSpec("anthropic", "claude-x", api_key_env=("ANTHROPIC_API_KEY",))),
        (
            "groq/openai/gpt-oss-120b",
            ProviderSpec("groq", "openai/gpt-oss-120b", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
        ),
        ("llamacpp/any", ProviderSpec("llamacpp", "any", "http://127.0.0.1:8080/v1")),
    ],
)
def test_another_provider_by_its_name(tmp_path: Path, said: str, spec: ProviderSpec) -> None:
    chosen: Any = build_provider(agent(tmp_path, "mistral", headers={"x-title": "garden"}), said)
    assert (chosen.name, chosen.model, chosen.settings.keys, chosen.settings.headers) == (spec.type, spec.model, spec.api_key_env, {})
    assert chosen.address == WHERE[spec.type]


def test_another_model_of_the_same_provider_keeps_its_fields(tmp_path: Path) -> None:
    file = agent(tmp_path, "gemini", headers={"x-title": "garden"})
    for said, model in (("gemini/gemini-3-pro", "gemini-3-pro"), ("models/gemini-3-pro", "models/gemini-3-pro")):
        chosen: Any = build_provider(file, said)
        assert (chosen.name, chosen.model, chosen.settings.headers) == ("gemini", model, {"x-title": "garden"})


@pytest.mark.parametrize(
    ("kind", "said", "told"), [("mistral", "antropic/x", "anthropic"), ("anthropic", "nonsense/x", "Known are openai")]
)
def test_a_provider_that_is_not_there(tmp_path: Path, kind: str, said: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_provider(agent(tmp_path, kind), said)
    assert told in caught.value.hint


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("box", "http://box:11434/v1"),
        ("box:99", "http://box:99/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        (":99", "http://127.0.0.1:99/v1"),
        ("[::]:99", "http://127.0.0.1:99/v1"),
        ("[::1]", "http://[::1]:11434/v1"),
        ("https://box", "https://box:443/v1"),
        ("http://box/under/", "http://box:80/under/v1"),
    ],
)
def test_ollama_is_where_its_own_variable_says(tmp_path: Path, host: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert build_provider(agent(tmp_path, "ollama")).address == f"{address}/chat/completions"  # type: ignore[attr-defined]
    assert address_of("ollama", "http://said:1/v1") == "http://said:1/v1"
    assert address_of("vllm", TYPES["vllm"].base_url) == "http://127.0.0.1:8000/v1"


def test_building_a_provider_loads_neither_a_client_nor_a_keyring() -> None:
    code = (
        "import sys, json; from pathlib import Path; from lousho_cli.app.agent_spec import AgentFile, ProviderSpec\n"
        "from lousho_cli.app.providers import build_provider; from lousho_cli.app.provider_types import TYPES\n"
        "for kind in TYPES: build_provider(AgentFile('x', 'y', ProviderSpec(kind, 'm', turns=('hi',)), Path(), Path()))\n"
        "print(json.dumps([name for name in ('httpx', 'keyring', 'pydantic') if name in sys.modules]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == []
