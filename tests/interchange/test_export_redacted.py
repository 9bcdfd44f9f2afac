"""What is taken out of a session is out of every form of it, and what holds it together stays."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from eventful_session import at, calls, eventful

from lousho_cli.app.exporting_messages import anthropic_messages, openai_messages
from lousho_cli.app.redacting import taking_out
from lousho_cli.core.fold import fold
from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_record, encode_line
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Native, Reasoning, ToolCall
from lousho_cli.errors import ConfigurationError
from lousho_cli.interchange.writing.atif import trajectory
from lousho_cli.interchange.writing.markdown import markdown
from lousho_cli.interchange.writing.redacting import redacted_batches
from lousho_cli.interchange.writing.subject import subject_of

KEY = "sk-ant-api03-abcdefghijklmnop"


def redacted(batches: tuple[r.Batch, ...], *patterns: str) -> tuple[r.Batch, ...]:
    return tuple(redacted_batches(batches, taking_out(patterns)))


def all_forms(batches: tuple[r.Batch, ...]) -> dict[str, str]:
    subject = subject_of("shop-1", batches)
    return {
        "jsonl": b"".join(map(encode_line, batches)).decode(),
        "atif": json.dumps(trajectory(subject, "1")),
        "openai": msgspec.json.encode(openai_messages(subject)[0]).decode(),
        "anthropic": msgspec.json.encode(anthropic_messages(subject)[0]).decode(),
        "markdown": "".join(markdown(subject)),
    }


@pytest.mark.parametrize("said", [f"The key is {KEY}.", json.dumps({"k": KEY}), json.dumps(json.dumps({KEY: [KEY]}))])
def test_a_key_is_out_of_every_form(said: str) -> None:
    batches = eventful(said)
    assert all(KEY in text for text in all_forms(batches).values())
    clean = redacted(batches)
    assert [form for form, text in all_forms(clean).items() if KEY in text] == []
    assert all("[REDACTED]" in text for text in all_forms(clean).values())


def test_what_stands_under_a_key_that_names_a_secret_is_out_of_every_form() -> None:
    batches = eventful(json.dumps({"password": "hunter2", "max_tokens": 7}))
    assert all("hunter2" in text for text in all_forms(batches).values())
    assert [form for form, text in all_forms(redacted(batches)).items() if "hunter2" in text or "7" not in text] == []
    state = {"login": {"password": "hunter2", "Ward": "B", "beds": 7, "pwd": 471100, "pass": 1200}}
    (clean,) = redacted_batches(at([[r.BusinessState(state)]]), taking_out((), ("ward",)))
    login = {"password": "[REDACTED]", "Ward": "[REDACTED]", "beds": 7, "pwd": "[REDACTED]", "pass": 1200}
    assert clean.records == (r.BusinessState({"login": login}),)


def test_the_persons_own_patterns_go_and_what_holds_the_session_together_stays() -> None:
    batches = eventful("The shop of Ada sells lamps.")
    clean = redacted(batches, "(?i)ada", "shop|one|stock|big|2026")
    before, after = fold(batches), fold(clean)
    assert "Ada" not in b"".join(map(encode_line, clean)).decode()
    assert after.messages[2].text == "The [REDACTED] of [REDACTED] sells lamps."
    assert [message.tool_calls and [(call.id, call.name) for call in message.tool_calls] for message in after.messages] == [
        message.tool_calls and [(call.id, call.name) for call in message.tool_calls] for message in before.messages
    ]
    assert (after.agent, after.run.input_id, after.created_at) == (before.agent, before.run.input_id, before.created_at)
    assert [mark.address for mark in after.marks] == [mark.address for mark in before.marks]
    assert after.business_state == {"order": "The [REDACTED] of [REDACTED] sells lamps."}


def test_what_nothing_is_taken_out_of_stays_as_it_was() -> None:
    assert redacted(eventful()) == eventful()


def test_a_form_of_a_wire_and_a_signature_go_with_the_text_they_are_of() -> None:
    answer = Message(
        "assistant", "", tool_calls=(ToolCall("c", "f", json.dumps({"key": KEY})),),
        reasoning=(Reasoning(f"It is {KEY}", "signed"), Reasoning("So.", "kept")), native=Native("anthropic", json.dumps([{"text": KEY}])),
    )  # fmt: skip
    [batch] = redacted(at([[r.Turn(answer)]]))
    [record] = batch.records
    assert isinstance(record, r.Turn)
    message = record.message
    assert message.native is None
    assert message.reasoning == (Reasoning("It is [REDACTED]"), Reasoning("So.", "kept"))
    assert json.loads(message.tool_calls[0].arguments) == {"key": "[REDACTED]"}


def test_pieces_of_an_answer_are_emptied_and_files_of_text_are_looked_into() -> None:
    picture = ImagePart("aGFsbG8=", "image/png")
    file = FilePart(base64.b64encode(f"key: {KEY}".encode()).decode(), "text/plain", f"{KEY}.txt")
    batches = at([[r.Partial("The key is sk-ant-"), r.Partial("api03-abc")], [r.InputReceived("i", (Message("user", (picture, file)),))]])
    partials, received = redacted(batches)
    assert partials.records == (r.Partial(""), r.Partial(""))
    [record] = received.records
    assert isinstance(record, r.InputReceived)
    kept, clean = record.messages[0].content
    assert kept == picture
    assert isinstance(clean, FilePart)
    assert (base64.b64decode(clean.data), clean.filename) == (b"key: [REDACTED]", "[REDACTED].txt")


def test_secrets_of_the_environment_go(monkeypatch: Any) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "correct horse battery")
    text = all_forms(redacted(eventful("It is correct horse battery.")))["jsonl"]
    assert "correct horse" not in text


@pytest.mark.parametrize(("pattern", "why"), [("(", "is not valid"), ("x*", "matches where nothing is")])
def test_a_pattern_that_is_none_is_named(pattern: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why) as raised:
        taking_out([pattern])
    assert repr(pattern) in str(raised.value)


def test_the_open_calls_that_a_fork_carries_are_looked_into() -> None:
    before = fold(at([[r.Created("shop"), r.RunStarted("in-1")], [r.Turn(calls(("a", "slow", json.dumps({"key": KEY})))), r.Mark(1)]]))
    batches = at([[r.Forked("shop", 2, 1, state_from(before))]])
    assert encode_line(batches[0]).decode().count(KEY) == 2
    [clean] = redacted(batches)
    assert KEY not in encode_line(clean).decode()
    turn = fold([clean]).turn
    assert turn is not None
    assert [(call.id, call.name, json.loads(call.arguments)) for call in turn.calls] == [("a", "slow", {"key": "[REDACTED]"})]


@pytest.mark.parametrize("kind", ["application/toml", "TEXT/X-INI", "application/octet-stream"])
def test_a_file_that_is_text_is_looked_into_whatever_it_is_said_to_be(kind: str) -> None:
    files = tuple(FilePart(base64.b64encode(data).decode(), kind) for data in (f"key = {KEY}".encode(), b"\xff\x00" + KEY.encode()))
    [batch] = redacted(at([[r.InputReceived("i", (Message("user", files),))]]))
    [record] = batch.records
    assert isinstance(record, r.InputReceived)
    clean, binary = record.messages[0].content
    assert isinstance(clean, FilePart)
    assert base64.b64decode(clean.data) == b"key = [REDACTED]"
    assert binary == files[1]


@pytest.mark.parametrize("beside", ["[" * 700 + "]" * 700, "1e999"])
def test_a_record_of_others_that_can_not_be_taken_apart_keeps_no_secret(beside: str) -> None:
    def record(said: str) -> Any:
        return decode_record(f'{{"type":"shop.audit","note":"{said}","beside":{beside}}}'.encode())

    told, untold = record(KEY), record("nothing")
    clean, same = redacted(at([[told, untold]]))[0].records
    assert KEY.encode() not in encode_line(at([[clean]])[0])
    assert same == untold


def test_data_nested_too_deep_to_be_gone_through_keeps_no_secret() -> None:
    deep: Any = [KEY]
    for _ in range(700):
        deep = [deep]
    [batch] = redacted(at([[r.BusinessState(deep), r.BusinessState(deep[0][0])]]))
    assert KEY not in encode_line(batch).decode()
    assert "[REDACTED]" in encode_line(batch).decode()


def test_two_keys_of_which_the_same_is_left_keep_their_values() -> None:
    [batch] = redacted(at([[r.BusinessState({KEY: 1, f"{KEY}q": 2, "b": 3})]]))
    assert batch.records == (r.BusinessState({"[REDACTED]": 1, "[REDACTED]*1": 2, "b": 3}),)
