"""No secret touches the disk, in whatever form the model, a tool or a person writes it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from lousho_cli import HookError, ProviderError, cassette
from lousho_cli.domain.messages import Message, Native, Reasoning, ToolCall
from lousho_cli.evals.normalise import normalised_text
from lousho_cli.evals.redact import redacted, redactor
from lousho_cli.ports.provider import Answer, ModelRequest, ReasoningDelta, TextDelta, ToolSpec

SECRETS = {
    "anthropic": "sk-ant-api03-" + "Ab1_" * 6,
    "openai": "sk-proj-" + "Zz9-" * 6,
    "bearer": "Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc_def-ghi",
    "google": "AIzaSy" + "D4e" * 11,
    "github": "ghp_" + "a1B2" * 9,
    "github-oauth": "gho_" + "a1B2" * 9,
    "github-server": "ghs_" + "a1B2" * 9,
    "github-fine": "github_pat_" + "11AB_cd" * 5,
    "github-user": "ghu_" + "a1B2" * 9,
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws-for-a-while": "ASIA" + "IOSFODNN7EXAMPLE",
    "groq": "gsk_" + "a1B2" * 9,
    "xai": "xai-" + "a1B2" * 9,
    "hugging-face": "hf_" + "a1B2" * 9,
    "perplexity": "pplx-" + "a1B2" * 9,
    "nvidia": "nvapi-" + "a1-_" * 9,
    "payments": "rk_live_" + "a1B2" * 9,
    "gitlab": "glpat-" + "a1B2" * 6,
    "slack": "xoxb-" + "1234567890-a1B2" * 2,
    "token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0In0" + ".dozjgNryP4J3jVmN",
    "dated": "sk-live-2026-01-02-7f3a9c1e-2b4d-4c6d-8e9f-0123456789ab-tail",
}


def escaped(text: str) -> str:
    """A text as JSON may also write it: every character as its number."""
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
async def test_de_131_a_secret_is_stored_as_redacted_wherever_it_stands(bench: Any, tape: Path, secret: str) -> None:
    args = f'{{"key": "{secret}", "{secret}": [1, {{"in": "x {secret}"}}], "e": "{escaped(secret)}"}}'
    call = ToolCall("c1", "tool", args)
    messages = (
        Message("system", f"The key is {secret}."),
        Message("user", f"Use {secret} now"),
        Message("assistant", f"I use {secret}", tool_calls=(call,)),
        Message("tool", json.dumps({"echo": secret, secret: 1}), tool_call_id="c1", tool_name="tool"),
    )
    spec = ToolSpec("tool", f"Takes {secret}", {"type": "object", "properties": {"a": {"default": secret}, secret: {}}})
    middle = len(secret) // 2
    answer = Answer(
        Message(
            "assistant",
            f"so {secret}!",
            tool_calls=(call,),
            reasoning=(Reasoning(f"hm {secret}", "c2ln"),),
            native=Native("w", json.dumps([secret, json.dumps([secret])])),
            metadata={secret: secret},
        ),
        model=f"m {secret}",
    )
    pieces = [TextDelta("so " + secret[:middle]), ReasoningDelta(f"hm {secret[:5]}"), TextDelta(secret[middle:] + "!")]
    pieces += [ReasoningDelta(letter) for letter in secret[5:]]
    failure = ProviderError(f"refused {secret}", category="auth-failure", hint=f"not {secret}")
    asked = ModelRequest(messages, (spec,), f"m {secret}")
    seen: list[str] = []
    provider = cassette(bench.Model([*pieces, answer], [*pieces, failure]), tape, redact=lambda text: seen.append(text) or text)
    live = await bench.events(provider, asked)
    assert live == [*pieces, answer], "who records sees what was said"
    with pytest.raises(ProviderError, match="refused"):
        await bench.events(provider, asked)

    stored = tape.read_text()
    everything = json.dumps(json.loads(stored), ensure_ascii=False).replace("\\", "")
    joined = "".join(
        chunk["chunk"].get("text", "") + chunk["chunk"].get("reasoning", "")
        for entry in json.loads(stored)["entries"]
        for chunk in (entry.get("response") or entry["error"])["chunks"]
    )
    for place in (stored, everything, joined):
        assert secret not in place
        assert secret.removeprefix("Bearer ") not in place
        assert secret[middle:] not in place
        assert "-tail" not in place
    assert escaped(secret)[:24] not in stored
    assert "[REDACTED]" in stored
    assert not any(secret in text for text in seen), "the caller's own comes behind"
    again = cassette(None, tape)
    replayed = await bench.events(again, asked)
    assert replayed[-1].message.content == "so [REDACTED]!"
    assert "".join(event.text for event in replayed if isinstance(event, TextDelta)) == "so [REDACTED]!"
    assert json.loads(replayed[-1].message.tool_calls[0].arguments)["key"] == "[REDACTED]"
    with pytest.raises(ProviderError, match=r"refused \[REDACTED\]"):
        await bench.events(again, asked)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("see https://h/v1?api_key=hunter22&x=1", "see https://h/v1?api_key=[REDACTED]&x=1"),
        ('{"url": "https://h/v1?x=1&access_token=hunter22"}', '{"url": "https://h/v1?x=1&access_token=[REDACTED]"}'),
        ('"postgresql:\\/\\/anna:hunter22@db\\/shop"', '"postgresql://anna:[REDACTED]@db/shop"'),
        ('{"x-api-key": "hunter22hunter"}', '{"x-api-key": "[REDACTED]"}'),
        ("Authorization: Basic aHVudGVyOmh1bnRlcg==", "Authorization: Basic [REDACTED]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n+/4=\n-----END RSA PRIVATE KEY-----\n.", "[REDACTED]\n."),
    ],
)
def test_a_secret_by_what_stands_beside_it(text: str, stored: str) -> None:
    assert redactor()(text) == stored


async def test_the_value_of_a_secret_variable_is_stored_nowhere(bench: Any, tape: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOGETHER_API_KEY", "3f9a8b7c6d5e4f3a")
    monkeypatch.setenv("DB_PASSWORD", "postgres")
    await bench.said(cassette(bench.Model("it is 3f9a8b7c6d5e4f3a of postgres"), tape), "env says 3f9a8b7c6d5e4f3a, for postgres")
    assert "3f9a8b7c6d5e4f3a" not in tape.read_text()
    assert tape.read_text().count("postgres") == 3, "a short one may be any word, and is needed to play it elsewhere"


async def test_a_callers_own_secret_goes_too_before_anything_is_normalised(bench: Any, tape: Path) -> None:
    secret = 'pa"ss 2026-01-02 \n-word'
    model = bench.Model(f"it is {secret}")
    provider = cassette(model, tape, redact=lambda text: text.replace(secret, "***"))
    asked = ModelRequest(
        (
            Message("user", secret),
            Message("assistant", tool_calls=(ToolCall("c", "t", json.dumps({"p": secret})),)),
            Message("tool", json.dumps([secret, json.dumps({"nested": secret})]), tool_call_id="c"),
        )
    )
    await bench.events(provider, asked)
    stored = tape.read_text()
    for part in ("pa\\", "ss 2026", "-word", "<date>"):
        assert part not in stored
    assert stored.count("***") == 6
    assert (await bench.events(cassette(None, tape, redact=lambda text: text.replace(secret, "***")), asked))[
        -1
    ].message.text == "it is ***"


async def test_a_secret_in_a_mismatch_is_not_told(bench: Any, tape: Path) -> None:
    await bench.recorded(tape, "one")
    with pytest.raises(Exception, match=r"REDACTED") as caught:
        await bench.said(cassette(None, tape), f"two {SECRETS['openai']}")
    assert SECRETS["openai"] not in str(caught.value)


@pytest.mark.parametrize(
    "words",
    [
        "task-management-system",
        "the Bearer of it",
        "risk-free",
        "ask-me-anything-now",
        "AKIA",
        "a sk-8",
        "hf_hub_download",
        "a Basic understanding",
    ],
)
def test_plain_words_stay(words: str) -> None:
    assert redactor()(words) == words


@pytest.mark.parametrize("key", [
    "password", "DB_PASSWORD", "dbPassword", "apiKey", "api_key", "X-Api-Key", "token", "access_token", "accessToken", "github_token",
    "authorization", "Authorization", "clientSecret", "passwd", "pwd", "Set-Cookie", "aws_secret_access_key", "private_key", "credentials",
    "proxyAuthorization", "googleAccessToken", "gh_token", "sshKey", "Ocp-Apim-Subscription-Key", "jwt",
])  # fmt: skip
def test_a_text_under_a_key_that_names_a_secret_goes(key: str) -> None:
    word = 'hun"ter\\2'
    pair = json.dumps({key: word})
    for text, clean in (
        (pair, json.dumps({key: "[REDACTED]"})),
        (f"see {pair}", f"see {json.dumps({key: '[REDACTED]'})}"),
        (json.dumps({"said": pair}), json.dumps({"said": json.dumps({key: "[REDACTED]"})})),
        (repr({key: "hunter2"}), repr({key: "[REDACTED]"})),
        (json.dumps(json.dumps({key: "hunter2"}))[1:-1], json.dumps(json.dumps({key: "[REDACTED]"}))[1:-1]),
    ):
        assert redactor()(text) == clean
    assert "hunt" not in redactor()(f'{{"{key}": "hunter')  # what is cut off
    assert redacted({key: word, "n": [{key: word}]}, redactor()) == {key: "[REDACTED]", "n": [{key: "[REDACTED]"}]}


@pytest.mark.parametrize(("text", "clean"), [
    ("PGPASSWORD=hunter2 psql; export API_KEY=abc", "PGPASSWORD=[REDACTED] psql; export API_KEY=[REDACTED]"),
    ("""A_TOKEN="hun ter" B_SECRET='hunter2'; C=1""", """A_TOKEN="[REDACTED]" B_SECRET='[REDACTED]'; C=1"""),
    ("login --password=hunter2 --api-key='abc' -v", "login --password=[REDACTED] --api-key='[REDACTED]' -v"),
    ("db:\n  password: hunter2\n  - api_key: abc # old\n  a: b", "db:\n  password: [REDACTED]\n  - api_key: [REDACTED] # old\n  a: b"),
])  # fmt: skip
def test_a_variable_an_option_or_a_line_goes_by_its_name(text: str, clean: str) -> None:
    assert redactor()(text) == clean
    assert redactor()(json.dumps({"ran": text, "n": 1})) == json.dumps({"ran": clean, "n": 1})
    assert redactor()(clean) == clean


@pytest.mark.parametrize("data", [
    {"Set-Cookie": ["hunter2", "", "hunter2"], "n": 1},
    {"headers": [{"name": "Authorization", "value": "hunter2"}], "env": [{"key": "DB_PASSWORD", "value": "hunter2"}]},
    {"adminPassword": {"value": "hunter2"}, "keys": {"api_keys": {"value": ["hunter2", "hunter2"]}}, "n": {"value": "Rome"}},
])  # fmt: skip
def test_a_list_under_such_a_key_goes_and_a_text_whose_name_stands_beside_it(data: Any) -> None:
    clean = json.loads(json.dumps(data).replace("hunter2", "[REDACTED]"))
    assert redacted(data, redactor()) == clean
    assert redactor()(json.dumps(data)) == json.dumps(clean)
    assert redactor()(json.dumps({"said": json.dumps(data)})) == json.dumps({"said": json.dumps(clean)})
    assert "hunt" not in redactor()(json.dumps(data).partition("er2")[0])  # what is cut off


def test_json_in_which_a_variable_is_named_stays_json() -> None:
    for value in (
        "PASSWORD=",
        'PASSWORD="',
        "PASSWORD='",
        "PASSWORD='x",
        'PASSWORD="x\\',
        "--token=",
        '"password": "\\',
        '"password": ["',
        "password: x",
    ):
        for data in ({"a": value, "b": [value, 1]}, [value, "x"], {"said": json.dumps({"a": value, "b": 1})}):
            for text in (json.dumps(data), json.dumps(data, indent=1), json.dumps(data, separators=(",", ":"))):
                json.loads(redactor()(text))


def test_a_number_that_is_wrapped_in_a_value_goes_in_a_text_as_it_does_in_data() -> None:
    data = {"password": {"value": 471100}, "n": {"value": 471100}}
    clean = {"password": {"value": "[REDACTED]"}, "n": {"value": 471100}}
    assert redacted(data, redactor()) == clean
    assert redactor()(json.dumps(data)) == json.dumps(clean)
    assert redactor()(json.dumps({"said": json.dumps(data)})) == json.dumps({"said": json.dumps(clean)})


def test_a_number_that_may_be_a_password_goes() -> None:
    data = {"password": 471100, "in": {"apiKey": -123456}, "n": 471100, "total_tokens": 471100}
    clean = data | {"password": "[REDACTED]", "in": {"apiKey": "[REDACTED]"}}
    assert redacted(data | {"secrets": [4711, 7]}, redactor()) == clean | {"secrets": ["[REDACTED]", 7]}
    assert redactor()(json.dumps(data)) == json.dumps(clean)
    assert redactor()(repr(data)) == repr(clean)
    assert redactor()(json.dumps({"said": json.dumps(data)})) == json.dumps({"said": json.dumps(clean)})


@pytest.mark.parametrize("data", [
    {"max_tokens": 4096, "tokens": 12, "token": 5, "password": None, "secret": True, "api_key": ""},
    {"password": 3, "secret": 1.5, "input_tokens": 123456, "token": 123456, "usage": {"total_tokens": 123456}, "password_length": 123456},
    {"next_page_token": "abc", "pageToken": "abc", "stop_token": "</s>", "tokenizer": "bpe", "author": "ann", "compass": "north"},
    {"properties": {"password": {"type": "string"}}, "required": ["password", "token"]},
    {"name": "city", "value": "Rome"},
])  # fmt: skip
def test_what_only_looks_like_such_a_key_or_is_no_text_stays(data: Any) -> None:
    assert redactor()(json.dumps(data)) == json.dumps(data)
    assert redacted(data, redactor()) == data
    assert redactor()("connect(password=password, max_token=5); MAX_TOKEN=5") == "connect(password=password, max_token=5); MAX_TOKEN=5"
    for code in ("class A:\n    password: str\n", "{\n  password: args.password,\n}", 'PASSWORD="$OTHER"', "password: see the letter"):
        assert redactor()(code) == code


def test_a_person_has_keys_of_his_own() -> None:
    clean = redactor(keys=("patient", "Akten Nr."))
    assert clean('{"Patient": "Ada", "akten nr.": "7f"}') == '{"Patient": "[REDACTED]", "akten nr.": "[REDACTED]"}'
    assert redacted({"patient": "Ada", "password": "x"}, clean) == {"patient": "[REDACTED]", "password": "[REDACTED]"}
    assert redacted({"patient": 7, "n": 7}, clean) == {"patient": "[REDACTED]", "n": 7}
    assert clean('{"patient": 7.5, "n": 7}') == '{"patient": "[REDACTED]", "n": 7}'


def test_numbers_next_to_a_secret_stay_exact() -> None:
    args = f'{{"n": 9007199254740993, "f": 1.10, "k": "{escaped(SECRETS["openai"])}", "big": {"9" * 400}}}'
    assert redactor()(args) == args.replace(escaped(SECRETS["openai"]), "[REDACTED]")


def test_hostile_text_costs_no_more_than_its_length() -> None:
    begun = time.process_time()
    for text in (
        '"' + '\\"' * 40_000,
        "\\" * 80_000,
        "sk-" * 20_000,
        "Bearer " * 10_000,
        '"\\u' * 10_000,
        "Monday" + " " * 40_000,
        "?key" * 10_000,
        "-----BEGIN PRIVATE KEY-----" * 1500,
        "a://" * 10_000,
        '"password":"' * 10_000,
        '\\"password\\":\\"' * 10_000,
        "A_" * 40_000,
        "PASSWORD='" * 10_000,
        'PASSWORD=\\"' * 10_000,
        '"password":["' * 10_000,
        '"password":["' + '\\"' * 40_000,
        '\\"password\\":\\"' + "\\" * 80_000,
        "\npassword: " * 10_000,
        '"name":"token","value":"' * 5000,
        '"password":{"value":"' * 5000,
        '"password":1' * 10_000,
        '"password":' + "1" * 80_000,
    ):
        normalised_text(redactor()(text))
    assert time.process_time() - begun < 20  # one that grows with the square takes minutes


@pytest.mark.parametrize(
    ("name", "hook"),
    [("redact", lambda text: 1 / 0), ("redact", lambda text: None), ("normalize", lambda given: {}), ("normalize", lambda given: 1 / 0)],
)
async def test_a_hook_that_fails_stops_the_run_before_anything_is_asked_or_written(bench: Any, tape: Path, name: str, hook: Any) -> None:
    model = bench.Model("ok")
    with pytest.raises(HookError, match=name):
        await bench.said(cassette(model, tape, **{name: hook}), "hi")
    assert model.asked == []
    assert not tape.exists()


async def test_normalize_says_what_else_does_not_count(bench: Any, tape: Path) -> None:
    def no_tools_no_numbers(given: dict[str, Any]) -> dict[str, Any]:
        for message in given["messages"]:
            message["content"] = "".join(letter for letter in message["content"] if not letter.isdigit())
        return given | {"tools": []}

    await bench.said(cassette(bench.Model("ok"), tape, normalize=no_tools_no_numbers), "build 17")
    assert await bench.said(cassette(None, tape, normalize=no_tools_no_numbers), "build 18") == "ok"
    assert bench.content(tape)["entries"][0]["request"]["messages"][0]["content"] == "build "
