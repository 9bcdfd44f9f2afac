from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from lousho_cli.app.agent_files import load_agent_file
from lousho_cli.app.agent_schema import agent_file_json_schema
from lousho_cli.app.agent_spec import Durability, Limits, Policy, ProviderSpec, ToolEntry
from lousho_cli.app.documents import read_document
from lousho_cli.app.preparing import RunFlags, prepare
from lousho_cli.core.retry import RetryPolicy
from lousho_cli.errors import ConfigurationError

LEAST = "name: x\nprompt: y\nprovider: { type: openai, model: m }\n"
SCRIPTED = "name: x\nprompt: y\nprovider: { type: scripted, turns: [{ text: hi }] }\n"

WHOLE = """
name: trip
prompt: You plan trips.
provider: { type: openai, model: gpt-5-mini, base_url: http://127.0.0.1:11434/v1 }
tools:
  - current-date
  - name: weather
    description: Forecast for a city
    command: [python, weather.py]
    input: { type: object, properties: { city: { type: string } }, required: [city] }
    replay: safe
    timeout: 30s
  - python: tools.py:book_table
    needs_approval: true
policy:
  { requires_approval: [shell], limits: { max_steps: 20, max_cost_usd: 1 }, approval_ttl: 3d, tool_concurrency: 4, on_agent_drift: error }
durability:
  { max_attempts: 3, timeout: 30m, replay: never, continue_cut_off: true, history_limit: 5, retry: { max_retries: 1, base_delay: 500ms } }
notify: [./page-me.sh now, [mail, "a b"]]
workspace: host
"""


def load(folder, text, name="agent.yaml"):
    (folder / name).write_text(text)
    return load_agent_file(folder / name)


def refusal(folder, text, name="agent.yaml"):
    with pytest.raises(ConfigurationError) as refused:
        load(folder, text, name)
    return refused.value


def test_every_field_of_the_example(tmp_path):
    agent = load(tmp_path, WHOLE)
    assert (agent.name, agent.prompt, agent.folder, agent.workspace) == ("trip", "You plan trips.", tmp_path, tmp_path)
    assert agent.path == tmp_path / "agent.yaml" and agent.address == str(tmp_path / "agent.yaml")
    assert agent.provider == ProviderSpec("openai", "gpt-5-mini", "http://127.0.0.1:11434/v1", ("OPENAI_API_KEY",))
    assert agent.policy == Policy(
        requires_approval=("shell",),
        limits=Limits(max_steps=20, max_cost_usd=1.0),
        approval_ttl_ms=259_200_000,
        tool_concurrency=4,
        on_agent_drift="error",
    )
    assert agent.durability == Durability(
        max_attempts=3, timeout_ms=1_800_000, replay="never", continue_cut_off=True, history_limit=5, retry=RetryPolicy(1, 500, 900_000)
    )
    assert agent.notify == (("./page-me.sh", "now"), ("mail", "a b"))
    assert agent.tools == (
        ToolEntry("builtin", name="current-date", field="tools.0"),
        ToolEntry(
            "command",
            name="weather",
            description="Forecast for a city",
            command=("python", "weather.py"),
            input={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            replay="safe",
            timeout_ms=30_000,
            field="tools.1",
        ),
        ToolEntry("python", target="tools.py:book_table", needs_approval=True, field="tools.2"),
    )


def test_defaults(tmp_path):
    agent = load(tmp_path, LEAST)
    assert (agent.policy, agent.durability, agent.tools, agent.notify) == (Policy(), Durability(), (), ())
    assert agent.policy.limits.max_steps == 50
    assert agent.durability.retry == RetryPolicy(3, 2000, 900_000)  # on by default for agent files
    assert load(tmp_path, LEAST + "durability: { retry: false }").durability.retry is None
    assert load(tmp_path, LEAST + "policy: { requires_approval: true, tool_concurrency: unbounded }").policy.requires_approval is True


def test_json_is_read_too(tmp_path):
    text = json.dumps({"name": "x", "prompt": "y", "provider": {"type": "ollama", "model": "m"}})
    assert load(tmp_path, text, "agent.json").provider == ProviderSpec("ollama", "m", "http://127.0.0.1:11434/v1", ())


def test_presets_of_the_same_wire(tmp_path):
    given = "provider: { type: openrouter, model: a/b, extra_body: { temperature: 0 }, idle_timeout: 5s }"
    provider = load(tmp_path, LEAST.replace("provider: { type: openai, model: m }", given)).provider
    assert provider == ProviderSpec(
        "openrouter",
        "a/b",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        options={"extra_body": {"temperature": 0}, "idle_timeout_ms": 5000},
    )


@pytest.mark.parametrize("form", ["[{ text: hi }]", "turns: [{ text: hi }]"])
def test_a_script_may_lie_in_a_file_of_its_own(tmp_path, form):
    (tmp_path / "s.yaml").write_text(form)
    agent = load(tmp_path, "name: x\nprompt: y\nprovider: { type: scripted, turns_file: s.yaml, repeat_last: true }\n")
    turns, file = ({"text": "hi"},), tmp_path / "s.yaml"
    assert agent.provider == ProviderSpec("scripted", "scripted", turns=turns, repeat_last=True, turns_file=file)


def test_de_139_a_misspelt_field_is_named_with_the_right_name_and_nothing_else(tmp_path):
    error = refusal(tmp_path, LEAST.replace("prompt", "promt"))
    assert (error.code, error.field) == ("LOUSHO_SPEC_UNKNOWN_FIELD", "promt")
    assert "promt: did you mean prompt?" in error.detail
    assert "prompt: is required" not in error.detail
    assert "policy.limits.max_stepz: did you mean max_steps?" in refusal(tmp_path, LEAST + "policy: { limits: { max_stepz: 3 } }").detail
    assert "tools.0.replai: did you mean replay?" in refusal(tmp_path, LEAST + "tools: [{ name: shell, replai: safe }]").detail
    assert "zzz: unknown field" in refusal(tmp_path, LEAST + "zzz: 1").detail


def test_every_wrong_field_is_named_at_once(tmp_path):
    error = refusal(
        tmp_path,
        """
name: 5
provider: { type: opnai, model: m, api_key: sk-secret-123456 }
policy: { limits: { max_cost_usd: -1, max_steps: "3" }, requires_approval: [shel], tool_concurrency: 0, approval_ttl: soon }
tools: [curent-date, { name: w }, { name: c, command: [] }, { name: p, python: x.py }, { name: http, input: {} }, 5,
  { name: a b, command: [x] }]
notify: [3, ""]
durability: { timeout: 5x, retry: { max_retries: -1 }, history_limit: 1.5 }
workspace: cloud
""",
    )
    assert error.code == "LOUSHO_SPEC_INVALID"
    for words in (
        "name: must be text",
        "prompt: is required",
        "provider.type: must be 'openai', 'openai-responses', 'anthropic', ",
        "'llamacpp' or 'scripted'; did you mean openai?",
        "provider.api_key: no credential belongs in an agent file",
        "policy.limits.max_cost_usd: must be greater than 0",
        "policy.limits.max_steps: must be a whole number",
        "policy.requires_approval.0: there is no tool shel; did you mean shell?",
        "policy.tool_concurrency: must be greater than or equal to 1",
        "policy.approval_ttl: must be a duration",
        "tools.0: there is no built-in tool curent-date; did you mean current-date?",
        "tools.1.command: is required",
        "tools.2.command: must not be empty",
        "tools.3.python: must be file.py:name",
        "tools.4.input: is not for the built-in tool http",
        "tools.5: must be a mapping",
        "tools.6.name: ",
        "notify.0: must be text",
        "notify.1: must not be empty",
        "durability.timeout: must be a duration",
        "durability.retry.max_retries: must be greater than or equal to 0",
        "durability.history_limit: must be a whole number",
        "workspace: must be 'host'",
    ):
        assert words in error.detail, words
    assert "secret" not in str(error) and "<" not in error.detail


@pytest.mark.parametrize(
    ("text", "field", "words"),
    [
        (LEAST.replace(", model: m", ""), "provider.model", "is required"),
        (LEAST.replace("model: m", "model: m, turns: []"), "provider.turns", "is not for a provider of type openai"),
        (SCRIPTED.replace("turns:", "base_url: x, turns:"), "provider.base_url", "is not for a provider of type scripted"),
        (SCRIPTED.replace(", turns: [{ text: hi }]", ""), "provider.turns", "turns or turns_file"),
        (SCRIPTED.replace("text: hi", "txt: hi"), "provider.turns.0.txt", "is not known"),
        (LEAST.replace("model: m", "model: m, headers: { Authorization: x }"), "provider.headers.Authorization", "no credential"),
        (LEAST.replace("model: m", "model: m, headers: { x-api-key: x }"), "provider.headers.x-api-key", "headers_env"),
        (LEAST.replace("model: m", "model: m, headers_env: { x-team: Bearer abc }"), "provider.headers_env.x-team", "must match"),
        (LEAST.replace("model: m", "model: m, api_key_env: sk-key-itself"), "provider.api_key_env", "must match"),
        (LEAST.replace("model: m", "model: m, base_url: 'https://me:word@h/v1'"), "provider.base_url", "no credential"),
        (LEAST.replace("model: m", "model: m, proxy: 'http://me:word@h:1'"), "provider.proxy", "HTTPS_PROXY"),
        (LEAST.replace("model: m", "model: m, max_tokens: 5"), "provider.max_tokens", "is not for a provider of type openai"),
        (LEAST.replace("openai, model: m", "anthropic, model: m, empty_content: ''"), "provider.empty_content", "of type anthropic"),
        (LEAST.replace("openai, model: m", "openai-responses, model: m, prompt_cache: true"), "provider.prompt_cache", "of type openai-r"),
        (LEAST + "tools: [shell, shell]", "tools.1", "another tool is called shell"),
        (LEAST + 'notify: ["it\'s"]', "notify.0", "closing quotation"),
        ("", "(root)", "is empty"),
        ("- 1", "(root)", "must hold a mapping"),
    ],
)
def test_what_does_not_go_together(tmp_path, text, field, words):
    error = refusal(tmp_path, text)
    assert (error.code, error.field) == ("LOUSHO_SPEC_INVALID", field)
    assert words in error.detail
    assert "word" not in error.detail and "itself" not in error.detail


def test_the_json_schema_takes_what_the_reader_takes_and_shows_the_defaults(tmp_path):
    schema = agent_file_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    checker = jsonschema.Draft202012Validator(schema)
    for text in (WHOLE, LEAST, SCRIPTED):
        (tmp_path / "a.yaml").write_text(text)
        assert list(checker.iter_errors(read_document(tmp_path / "a.yaml"))) == []
    assert list(checker.iter_errors({"name": "x", "promt": "y"}))
    assert schema["$defs"]["Limits"]["properties"]["max_steps"]["default"] == 50
    assert schema["$defs"]["Retry"]["properties"]["base_delay"]["default"] == "2s"


def test_a_script_and_a_python_tool_are_named_beside_what_else_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def broken(:\n")
    (tmp_path / "agent.yaml").write_text(
        "nme: x\nprompt: p\n"
        "provider: { type: scripted, turns: [{ txt: a }, { dely: 1 }, [{ wen: {} }]] }\n"
        "tools: [{ python: 'bad.py:broken' }, { python: 'gone.py:tool' }]\n"
    )
    with pytest.raises(ConfigurationError) as caught:
        load_agent_file(tmp_path / "agent.yaml")
    for told in (
        "nme: did you mean name?",
        "provider.turns.0.txt: is not known; did you mean text?",
        "provider.turns.1.dely:",
        "provider.turns.2.0.wen:",
        "tools.0.python: bad.py line 1:",
        "tools.1.python:",
    ):
        assert told in caught.value.detail


def test_a_sub_agent_is_a_file_beside_this_one(tmp_path):
    (tmp_path / "scout.yaml").write_text(LEAST)
    agent = load(
        tmp_path, LEAST + "subagents: { scout: scout.yaml, clerk: { agent: scout.yaml, description: Files things, needs_approval: true } }"
    )
    assert [(one.name, one.description, one.needs_approval) for one in agent.subagents] == [
        ("scout", None, False),
        ("clerk", "Files things", True),
    ]
    assert agent.subagents[0].file.path == tmp_path / "scout.yaml"


@pytest.mark.parametrize(
    ("inner", "said"),
    [("promt: x", "prompt"), (None, "not"), ("subagents: { lead: agent.yaml }", "of itself")],
)
def test_what_is_wrong_with_a_sub_agent_is_named_by_its_place(tmp_path, inner, said):
    if inner is not None:
        (tmp_path / "scout.yaml").write_text(LEAST + inner)
    error = refusal(tmp_path, LEAST + "subagents: { scout: scout.yaml }")
    assert error.field.startswith("subagents.scout")
    assert said in str(error)


def test_what_is_wrong_is_named_with_its_line(tmp_path):
    text = (
        "name: x\npromt: y\nprovider:\n  type: scripted\n  turns:\n    - hi\n    - { text: a,\n        tool_calls: [{ nme: b }] }\n"
        "tools:\n  - current-date\n  - name: t\n    description: d\n    command: ls\n"
    )
    told = refusal(tmp_path, text).detail
    assert "agent.yaml is not a valid agent file: line 2, promt: did you mean prompt?" in told
    assert "line 8, provider.turns.1.tool_calls.0.nme: is not known" in told
    assert "line 13, tools.1.command: must be a list" in told
    as_json = json.dumps({"name": "x", "prompt": "y", "provider": {"type": "openai", "model": 1}}, indent=2)
    assert "line 6, provider.model: must be text" in refusal(tmp_path, as_json, "agent.json").detail
    assert refusal(tmp_path, "name: x\nprompt: y\n").detail == "agent.yaml is not a valid agent file: provider: is required"


def test_what_only_shows_when_the_agent_is_made_ready_is_named_with_file_and_line(tmp_path):
    def refused(text):
        with pytest.raises(ConfigurationError) as caught:
            prepare(load(tmp_path, text), RunFlags())
        return caught.value.detail

    broken = "tools:\n  - name: t\n    description: d\n    command: [ls]\n    input:\n      properties: { a: { type: strng } }\n"
    assert refused(SCRIPTED + broken).startswith("agent.yaml, line 9: tools.0.input.properties.a.type: this is no JSON Schema")
    assert refused(SCRIPTED + "tools:\n  - python: gone.py:tool\n").startswith("agent.yaml, line 5: tools.0.python: ")
    assert refused(LEAST.replace("model: m", "model: m, base_url: here")).startswith("agent.yaml, line 3: provider.base_url is not an http")
    assert refused(SCRIPTED + "subagents:\n\n  scout: gone.yaml\n").startswith("agent.yaml, line 6: subagents.scout: ")
    (tmp_path / "scout.yaml").write_text(SCRIPTED + "tools: [{ python: gone.py:tool }]\n")
    assert refused(SCRIPTED + "subagents: { scout: scout.yaml }\n").startswith("scout.yaml, line 4: tools.0.python: ")
