"""What a session makes of agents that run beside it."""

from __future__ import annotations

from typing import Any

import msgspec

from lousho_cli.core.background import LONGEST_TEXT, End, Start, Starts, agent_in, agent_session_id, end_of, stopped
from lousho_cli.core.entering import entered
from lousho_cli.core.fold import fold
from lousho_cli.core.heads import head_of
from lousho_cli.core.pending import to_look_after
from lousho_cli.core.recovery import Recovery
from lousho_cli.core.session_ids import is_session_id
from lousho_cli.domain import records as r
from lousho_cli.domain.heads import Head, Post, WaitsFor
from lousho_cli.domain.messages import Message, user
from lousho_cli.domain.session import Session
from lousho_cli.domain.texts import HOST_STOPPED_MESSAGE

NOW = "2026-01-01T00:00:00.000Z"
BEGUN = (r.Created("scout"), r.InputReceived("i", (user("go"),)), r.RunStarted("i"), r.InputApplied("i"))
ENDED = (r.Turn(Message("assistant", "Found it.")), r.Mark(1, "finished", "stop"), r.InputSettled("i", "completed"))


def of(*groups: tuple[r.Record, ...]) -> Session:
    return fold(r.Batch(seq, 1, NOW, group) for seq, group in enumerate(groups, 1))


def post(kind: Any, body: Any) -> Post:
    return Post("p", kind, NOW, "ada", msgspec.to_builtins(body))


def started(*ids: str, group: str | None = None, wake: bool = False) -> tuple[r.Record, ...]:
    agents = tuple(Start(i, "scout", f"t.{i}", (user("look"),), wake=wake) for i in ids)
    return entered(Session(), post("agents", Starts(agents, group)), NOW)


def test_what_was_started_is_not_started_again() -> None:
    first = started("a", "b")
    assert [(type(one), one.id, one.by) for one in first] == [(r.AgentStarted, "a", "ada"), (r.AgentStarted, "b", "ada")]
    again = Starts((Start("b", "scout", "t.b", (user("other"),)), Start("c", "scout", "t.c", (user("look"),))))
    assert [one.id for one in entered(of(first), post("agents", again), NOW)] == ["c"]


def test_an_end_is_told_of_once_and_an_unknown_one_not_at_all() -> None:
    session = of(started("a"))
    records = entered(session, post("agent_ended", End("a", "completed", "Found it.")), NOW)
    assert [type(one) for one in records] == [r.AgentEnded, r.Appended]
    assert entered(of(started("a"), records), post("agent_ended", End("a", "failed")), NOW) == ()
    assert entered(session, post("agent_ended", End("b", "completed")), NOW) == ()


def test_who_is_added_to_a_group_that_was_told_of_is_told_of_too() -> None:
    told = of(started("a", group="g", wake=True), (r.AgentEnded("a", "completed"), r.InputReceived("agents.g", (user("told"),))))
    grown = fold((r.Batch(3, 1, NOW, started("b", group="g", wake=True)),), told)
    ended, note = entered(grown, post("agent_ended", End("b", "completed", "Found it.")), NOW)
    assert isinstance(note, r.InputReceived)
    whole = fold((r.Batch(4, 1, NOW, (ended, note)),), grown)
    assert [text for i in whole.waiting for text in (message.text for message in whole.inputs[i].messages) if "Found it." in text]


def test_a_note_holds_no_more_of_an_answer_than_it_may() -> None:
    ended, note = entered(of(started("a")), post("agent_ended", End("a", "completed", "x" * 5000)), NOW)
    assert isinstance(ended, r.AgentEnded) and isinstance(note, r.Appended)
    assert len(ended.text) == LONGEST_TEXT
    assert note.messages[0].text.count("x") == LONGEST_TEXT - 1


def test_nobody_is_woken_for_what_was_cancelled() -> None:
    session = of(started("a", wake=True))
    (_, woken) = entered(session, post("agent_ended", End("a", "failed", error="no")), NOW)
    (_, noted) = entered(session, post("agent_ended", End("a", "aborted")), NOW)
    assert (type(woken), type(noted)) == (r.InputReceived, r.Appended)


def test_an_agent_has_ended_once_its_run_has_and_its_own_agents_have() -> None:
    assert end_of("a", Session()) is None
    assert end_of("a", of(BEGUN)) is None
    assert end_of("a", of(BEGUN, ENDED)) == End("a", "completed", "Found it.")
    beside = started("b")
    assert end_of("a", of(BEGUN, beside, ENDED)) is None
    assert end_of("a", of(BEGUN, beside, ENDED, (r.AgentEnded("b", "completed"),))) == End("a", "completed", "Found it.")
    assert end_of("a", of(BEGUN, ENDED, (r.InputReceived("j", (user("more"),)),))) is None


def test_what_is_to_be_looked_after_is_told_by_heads() -> None:
    waits = WaitsFor("w", "dig", {}, "d", NOW)
    assert to_look_after(None, NOW)
    assert to_look_after(head_of(of(BEGUN[:2])), NOW)
    assert to_look_after(head_of(of(BEGUN)), NOW)
    assert to_look_after(head_of(of(BEGUN, ENDED)), NOW)
    assert not to_look_after(Head(run=1, status="awaiting-approval", waits_for=waits), NOW)
    assert not to_look_after(head_of(of(BEGUN, started("b"), ENDED)), NOW)


def test_what_is_not_to_run_again_has_failed_but_finished_work_counts() -> None:
    assert stopped(Recovery("run")) == Recovery("settle", "failed", HOST_STOPPED_MESSAGE, "host_stopped")
    done = Recovery("settle", "completed")
    assert stopped(done) is done


def test_any_name_and_id_lead_to_a_session_of_their_own() -> None:
    made = {agent_session_id(lead, name, i) for lead in ("t", "x" * 128) for name in ("scout", "../Späher", "") for i in ("a", "b/\ud800")}
    assert len(made) == 12
    assert all(map(is_session_id, made))
    assert {agent_in(one) for one in made} == {"scout", "-Sp-her", ""}
    assert agent_in("trip.fork-1") == agent_in("trip") == agent_in("a.0123456789abcdef") == ""
