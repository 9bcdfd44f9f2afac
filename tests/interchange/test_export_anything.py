"""Whatever a log holds, in whatever order, each form of it is one that others take."""

from __future__ import annotations

import json
from typing import Any

from atif.trajectory import Trajectory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from wire_judges import pairs_on_anthropic, pairs_on_openai, plain, taken

from lousho_cli.app.exporting_messages import anthropic_messages, openai_messages
from lousho_cli.app.redacting import taking_out
from lousho_cli.core.fold import fold
from lousho_cli.domain import records as r
from lousho_cli.domain.codec import decode_line
from lousho_cli.domain.cut_answers import continuation, is_synthetic
from lousho_cli.domain.messages import FilePart, ImagePart, Message, Reasoning, TextPart, ToolCall, user
from lousho_cli.domain.usage import CallUsage
from lousho_cli.interchange.session_lines import Header, session_lines
from lousho_cli.interchange.writing.atif import trajectory
from lousho_cli.interchange.writing.markdown import markdown
from lousho_cli.interchange.writing.redacting import redacted_batches
from lousho_cli.interchange.writing.subject import subject_of

IDS = st.sampled_from(["a", "b", "", "call " * 20, "é|`"])
TEXTS = st.sampled_from(["", " ", "secret", "``` \n# x", "<b>", '{"a":"secret"}', "[1.50]", "\u202e\x1b", "é" * 70])
NAMES = TEXTS.filter(lambda text: "secret" not in text)
CALLS = st.lists(st.builds(ToolCall, IDS, NAMES, TEXTS), max_size=3).map(tuple)
PARTS = st.lists(
    st.one_of(st.builds(TextPart, TEXTS), st.just(ImagePart("https://x/y.png")), st.just(FilePart("aGk=", "text/plain"))), max_size=3
).map(tuple)
THOUGHTS = st.lists(st.builds(Reasoning, TEXTS, st.none() | st.just("signed")), max_size=2).map(tuple)
ANSWERS = st.builds(Message, st.just("assistant"), TEXTS, CALLS, reasoning=THOUGHTS)
USED = st.none() | st.builds(CallUsage, st.none() | st.just(5), st.none() | st.just(7), cost_usd=st.none() | st.just(0.5))
OWN: Any = st.one_of(
    st.builds(r.Turn, ANSWERS, st.sampled_from(["stop", "tool_calls", "length"]), NAMES, USED),
    st.builds(r.Turn, ANSWERS, st.just("tool_calls"), NAMES, USED),
    st.builds(r.ToolFinished, IDS, TEXTS, st.booleans()),
    st.builds(lambda n, text: r.InputReceived(f"i{n}", (user(text),)), st.integers(0, 3), TEXTS),
    st.builds(lambda n, parts: r.InputReceived(f"i{n}", (Message("user", parts),)), st.integers(0, 3), PARTS),
    st.builds(lambda n: r.InputApplied(f"i{n}"), st.integers(0, 3)),
    st.builds(r.RunStarted, IDS, instructions=st.none() | TEXTS),
    st.builds(r.Mark, st.integers(1, 3), st.sampled_from(["in-progress", "finished"])),
    st.builds(lambda keep, text: r.Splice(keep, continuation(text)), st.integers(0, 4), TEXTS),
    st.builds(r.Splice, st.integers(0, 3), st.lists(ANSWERS | st.builds(user, TEXTS), max_size=2).map(tuple)),
    st.builds(r.InputSettled, IDS, st.sampled_from(["completed", "failed"]), TEXTS),
    st.builds(r.BusinessState, TEXTS),
    st.builds(r.Partial, TEXTS),
    st.just(r.Cleared()),
)
WITHIN = st.builds(r.Within, st.lists(IDS, min_size=1, max_size=2).map(tuple), st.lists(OWN, min_size=1, max_size=4).map(tuple))
LOGS = st.lists(st.lists(OWN | WITHIN, min_size=1, max_size=4).map(tuple), min_size=1, max_size=10)


def without_notes(messages: Any) -> list[Message]:
    return [message for message in messages if not is_synthetic(message)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LOGS)
def test_each_form_is_taken_whatever_happened(log: list[tuple[r.Record, ...]]) -> None:
    batches = tuple(r.Batch(n + 1, 1, "2026-01-02T03:04:05.000Z", records) for n, records in enumerate(log))
    clean = tuple(redacted_batches(batches, taking_out(["secret"])))
    for one in (batches, clean):
        lines = b"".join(session_lines(Header("s"), one)).splitlines()[1:]
        assert tuple(map(decode_line, lines)) == one
        assert b"secret" not in b"".join(lines) or one is batches
        subject = subject_of("s", one)
        whole = without_notes(fold(one).messages)
        assert [said.message for said in subject.lead.said][: len(whole)] == whole
        Trajectory.model_validate(json.loads(json.dumps(trajectory(subject, "1"))))
        chat = plain(openai_messages(subject)[0])
        assert taken("openai", chat) == chat
        assert pairs_on_openai(chat)
        turns = plain(anthropic_messages(subject)[0])["messages"]
        assert taken("anthropic", turns) == turns
        assert pairs_on_anthropic(turns)
        tokens = MarkdownIt("commonmark").enable("table").parse("".join(markdown(subject)))
        assert {child.type for token in tokens for child in token.children or ()} <= {"text", "code_inline", "softbreak"}
        assert "html_block" not in {token.type for token in tokens}
