"""What a session becomes in each form, judged by others: the packages of ATIF, OpenAI and Anthropic, and a Markdown parser."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest
from atif.trajectory import Trajectory
from eventful_session import HOSTILE, PIXEL, at, calls, eventful, unanswered
from markdown_it import MarkdownIt
from wire_judges import pairs_on_anthropic, pairs_on_openai, plain, taken

from lousho_cli.app.exporting import Form, export
from lousho_cli.app.exporting_messages import anthropic_messages, openai_messages
from lousho_cli.app.plain_sessions import Kept, PlainSessions
from lousho_cli.core.fold import fold
from lousho_cli.core.states import state_from
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_line
from lousho_cli.domain.cut_answers import continuation
from lousho_cli.domain.messages import Message, user
from lousho_cli.interchange.reading.atif import read as read_trajectory
from lousho_cli.interchange.session_lines import Header, header_of, session_lines
from lousho_cli.interchange.writing.atif import trajectory
from lousho_cli.interchange.writing.markdown import code, fenced, markdown
from lousho_cli.interchange.writing.subject import subject_of
from lousho_cli.stores.memory import MemoryStore


def test_json_lines_are_a_header_and_the_log_batch_by_batch() -> None:
    batches = eventful()
    first, *rest = b"".join(session_lines(Header("shop-1"), batches)).splitlines()
    assert header_of(first) == Header("shop-1")
    read = [decode_line(line) for line in rest]
    assert tuple(read) == batches
    assert fold(batch for batch in read if batch is not None) == fold(batches)
    assert header_of(rest[0]) is None
    assert header_of(b"\xff{") is None
    assert header_of(b'{"type":"lousho.export","session":"s","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}") is None


# ATIF


def read(subject: Any) -> Trajectory:
    return Trajectory.model_validate(json.loads(json.dumps(trajectory(subject, "1.0"))))


def test_a_trajectory_is_one_to_the_package_and_has_all_that_was_said() -> None:
    whole = read(subject_of("shop-1", eventful()))
    assert (whole.session_id, whole.agent.name, whole.agent.model_name, whole.agent.version) == ("shop-1", "shop", "big", "1.0")
    assert [step.source for step in whole.steps] == ["system", "user", "agent", "agent", "agent", "user", "agent"]
    seen = whole.steps[1].message
    assert isinstance(seen, list)
    assert [part.text for part in seen] == ["The stock is low.", None, "[file notes.txt, text/plain]"]
    assert seen[1].source is not None
    assert seen[1].source.path == f"data:image/png;base64,{PIXEL}"
    asks = whole.steps[2]
    assert asks.reasoning_content == "Let me see.\n\nAnd then."
    assert asks.timestamp == "2026-01-02T03:01:00.000Z"
    assert asks.tool_calls is not None
    assert [call.arguments for call in asks.tool_calls] == [{"item": "lamp", "n": 12345678901234567890}, {}]
    assert asks.tool_calls[1].extra == {"arguments_text": "no json"}
    assert asks.observation is not None
    assert [(one.source_call_id, (one.extra or {}).get("is_error")) for one in asks.observation.results] == [("one", None), ("two", True)]
    assert [(one.extra or {})["timestamp"][14:16] for one in asks.observation.results] == ["04", "03"]
    assert asks.metrics is not None
    assert (asks.metrics.prompt_tokens, asks.metrics.cached_tokens, asks.metrics.cost_usd) == (100, 60, 0.01)
    assert whole.final_metrics is not None
    assert (whole.final_metrics.total_prompt_tokens, whole.final_metrics.total_cost_usd) == (460, None)  # the last call said nothing


def test_a_trajectory_holds_its_sub_agents_and_theirs() -> None:
    whole = read(subject_of("shop-1", eventful()))
    results = whole.steps[3].observation.results if whole.steps[3].observation else []
    assert [[ref.trajectory_id for ref in one.subagent_trajectory_ref or ()] for one in results] == [["one"]]
    assert whole.subagent_trajectories is not None
    [scout] = whole.subagent_trajectories
    assert (scout.trajectory_id, scout.agent.name, [step.source for step in scout.steps]) == ("one", "scout", ["user", "agent", "agent"])
    assert scout.subagent_trajectories is not None
    [digger] = scout.subagent_trajectories
    assert (digger.trajectory_id, digger.agent.name, digger.steps[-1].message) == ("one/deep", "digger", "The stock is low.")


def test_a_sub_agent_whose_call_is_gone_is_in_every_form_that_holds_them() -> None:
    subject = subject_of("shop-1", (*eventful(), r.Batch(14, 1, "2026-01-02T04:00:00.000Z", (r.Splice(1, (user("Anew."),)),))))
    whole = read(subject)
    assert [step.message for step in whole.steps[1:]] == ["Anew."]
    assert [one.agent.name for one in whole.subagent_trajectories or ()] == ["scout"]
    assert "Sub-agent `scout`" in "".join(markdown(subject))


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [('{"a":1,"a":2}', {}), ('{"a":' * 150 + "1" + "}" * 150, None), ('{"n":1e400,"m":1}', {"n": "Infinity", "m": 1}), ("[1]", {})],
)
def test_arguments_that_a_trajectory_can_not_hold_stand_in_it_as_text(arguments: str, kept: Any) -> None:
    subject = subject_of("s", at([[r.Created("a"), r.RunStarted("i")], [r.Turn(calls(("c", "f", arguments)))]]))
    [step] = read(subject).steps
    assert step.tool_calls is not None
    assert step.tool_calls[0].extra == {"arguments_text": arguments}
    assert kept in (None, step.tool_calls[0].arguments)
    [again] = read_trajectory(json.loads(json.dumps(trajectory(subject, "1"))), "s")
    assert [call.arguments for entry in again.entries() for call in entry.message.tool_calls] == [arguments]


def test_a_fork_says_what_it_copied_and_what_it_was_forked_from() -> None:
    before = fold(eventful()[:5])
    fork = at([[r.Forked("shop-1", 5, 1, state_from(before))], [r.Turn(Message("assistant", "Other."), "stop", "big"), r.Mark(2)]])
    subject = subject_of("shop-2", fork)
    whole = read(subject)
    assert [step.is_copied_context for step in whole.steps] == [True, True, True, None]
    assert (whole.extra or {})["lousho"]["parent"] == "shop-1"
    assert whole.steps[2].metrics is not None
    assert whole.steps[2].metrics.prompt_tokens == 100  # what the run used so far is known of its state
    assert [(taken.run, taken.usage.step) for taken in subject.steps] == [(1, 1), (1, 2)]


def test_an_answer_that_was_cut_is_there_and_our_note_is_not() -> None:
    batches = at(
        [
            [r.Created("shop"), r.InputReceived("in-1", (user("Go"),)), r.InputApplied("in-1"), r.RunStarted("in-1")],
            [r.Splice(1, continuation("One, tw"))],
            [r.Turn(Message("assistant", "o, three."), "stop", "big"), r.Mark(1, "finished")],
        ]
    )
    subject = subject_of("cut", batches)
    assert [step.message for step in read(subject).steps] == ["Go", "One, tw", "o, three."]
    assert "cut off" in "".join(markdown(subject))


async def test_numbers_of_any_size_and_depths_of_any_kind_are_taken() -> None:
    deep = '{"a":' * 3000 + "1" + "}" * 3000
    odd = [f'{{"n":{10**40},"x":1.10}}', '{"n":1e400}', '{"n":NaN}', deep, f'{{"n":{"9" * 5000}}}', '{"n":"\\ud800"}']
    asks = calls(*((f"c{n}", "f", text) for n, text in enumerate(odd)))
    batches = at([[r.Created("a"), r.InputReceived("i", (user("Go"),)), r.InputApplied("i"), r.RunStarted("i")], [r.Turn(asks), r.Mark(1)]])
    store = MemoryStore()
    claim = await store.claim("s", "here")
    await store.append(claim, batches)
    for form in get_args(Form):
        _, data, _ = await export(store, "s", form)
        assert form == "html" or (b"1" + b"0" * 40 in data)
        assert form in {"html", "atif"} or b"1.10" in data
    whole = Trajectory.model_validate_json((await export(store, "s", "atif"))[1])
    [first, *_] = whole.steps[1].tool_calls or ()
    assert first.arguments == {"n": 10**40, "x": 1.1}


async def test_checkpoints_alone_are_exported_in_every_form() -> None:
    store = MemoryStore()
    claim = await store.claim("shop-1", "here")
    await store.append(claim, eventful())
    await store.release(claim)
    kept = PlainSessions((Kept(store.checkpoints, store.approvals),))
    for form in get_args(Form):
        told, data, _ = await export(kept, "shop-1", form)
        assert (told.session, told.messages > 5, b"Done." in data) == ("shop-1", True, True)
    assert b"Done." not in (await export(kept, "shop-1@1/3", "jsonl"))[1]


# Messages


@pytest.mark.parametrize("batches", [eventful(), eventful(HOSTILE), unanswered()], ids=["eventful", "hostile", "unanswered"])
def test_the_packages_take_the_messages_and_every_call_has_its_result(batches: Any) -> None:
    subject = subject_of("shop-1", batches)
    chat, _ = openai_messages(subject)
    assert taken("openai", plain(chat)) == plain(chat)
    assert pairs_on_openai(chat)
    turns, _ = anthropic_messages(subject)
    read = plain(turns)["messages"]
    assert taken("anthropic", read) == read
    assert pairs_on_anthropic(read)


def test_the_messages_are_what_a_run_would_send() -> None:
    subject = subject_of("shop-1", eventful())
    chat, _ = openai_messages(subject)
    assert [message["role"] for message in chat] == "system user assistant tool tool assistant tool assistant user assistant".split()
    assert chat[2]["tool_calls"][1]["function"] == {"name": "stock", "arguments": "no json"}
    turns, _ = anthropic_messages(subject)
    assert turns["system"] == "You run a shop."
    blocks = plain(turns)["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text", "tool_use", "tool_use"]
    assert (blocks[0]["signature"], blocks[3]["input"]) == ("signed", {"INVALID_JSON": "no json"})


def test_what_the_messages_do_not_hold_is_said() -> None:
    for made in (openai_messages, anthropic_messages):
        assert ["2 transcripts of sub-agents are left out" in said for said in made(subject_of("s", eventful()))[1]] == [True]
        [said] = made(subject_of("s", unanswered()))[1]
        assert "call a of slow had no result" in said


def test_a_session_that_says_nothing_and_one_that_a_model_began() -> None:
    nothing = subject_of("s", at([[r.Created("shop"), r.RunStarted("in-1", instructions="Be brief.")]]))
    assert openai_messages(nothing) == ([{"role": "system", "content": "Be brief."}], ())
    assert anthropic_messages(nothing) == ({"system": "Be brief.", "messages": []}, ())
    begun, left = anthropic_messages(
        subject_of("s", at([[r.Created("shop"), r.RunStarted("in-1")], [r.Turn(Message("assistant", "Hi."))]]))
    )
    assert [turn["role"] for turn in begun["messages"]] == ["user", "assistant"]
    assert left == ("the user's turn in front is not of the session: this wire begins with one",)


# Markdown


def test_nothing_that_was_said_gets_out_of_its_fence() -> None:
    batches = at(
        [
            [r.Created(HOSTILE), r.InputReceived("in-1", (user(HOSTILE),)), r.InputApplied("in-1"), r.RunStarted("in-1", agent_id=HOSTILE)],
            [r.Turn(calls((HOSTILE, HOSTILE, json.dumps({HOSTILE: HOSTILE}))), "tool_calls", HOSTILE), r.Mark(1)],
            [
                r.ToolFinished(HOSTILE, HOSTILE),
                r.Turn(Message("assistant", HOSTILE), "stop", HOSTILE),
                r.InputSettled("in-1", "failed", HOSTILE),
            ],
        ]
    )
    text = "".join(markdown(subject_of("s", batches)))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = {child.type for token in tokens for child in token.children or ()}
    assert inline <= {"text", "code_inline", "softbreak"}
    assert "html_block" not in {token.type for token in tokens}
    fences = [token for token in tokens if token.type == "fence"]
    assert [token.content.rstrip("\n") == HOSTILE for token in fences if token.info == "text"] == [True] * 4
    assert [json.loads(token.content) for token in fences if token.info == "json"] == [{HOSTILE: HOSTILE}]
    heads = [tokens[n + 1].content.split()[0] for n, token in enumerate(tokens) if token.type == "heading_open"]
    assert heads == ["`s`", "User:", "Assistant:", "Result", "Assistant:"]


def test_markdown_tells_who_said_what_and_what_it_cost() -> None:
    text = "".join(markdown(subject_of("shop-1", eventful())))
    assert "- Agent: `shop`\n- Status: finished, completed\n" in text
    assert "| 1 | 2 | `big` | 160 | 9 | 0.020000 |" in text
    assert text.count("The stock is low.") == 7
    assert "### Sub-agent `scout`" in text
    assert "##### Sub-agent `scout / digger`" in text
    assert "## Error of `stock`" in text
    assert '```json\n{\n  "item": "lamp",\n  "n": 12345678901234567890\n}\n```' in text
    assert fenced("a ```` b").startswith("`````text\n")
    assert (code("a`b"), code("`"), code("a\n|b"), code("")) == ("``a`b``", "`` ` ``", "`a \\|b`", "` `")


def test_a_time_that_is_none_gets_out_of_no_form() -> None:
    batches = tuple(msgspec.structs.replace(batch, at="<img src=x>\n# Free") for batch in eventful())
    subject = subject_of("s", batches)
    tokens = MarkdownIt("commonmark").enable("table").parse("".join(markdown(subject)))
    assert {child.type for token in tokens for child in token.children or ()} <= {"text", "code_inline", "softbreak"}
    assert [token.tag for token in tokens if token.type == "heading_open"].count("h1") == 1
    assert {step.timestamp for step in read(subject).steps} == {None}


def test_a_result_nested_deep_makes_no_text_many_times_as_long() -> None:
    deep = "[" * 300 + "1," * 1000 + "1" + "]" * 300
    asks = [r.Turn(calls(("c", "f", "{}"))), r.ToolFinished("c", deep)]
    text = "".join(markdown(subject_of("s", at([[r.Created("a"), r.RunStarted("i")], asks]))))
    assert deep in text
    assert len(text) < 2 * len(deep)
