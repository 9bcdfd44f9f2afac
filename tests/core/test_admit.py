"""What an input means for the session it comes to."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.core.admit import admit
from lousho_cli.domain import records as r
from lousho_cli.domain.messages import Message, user

CREATED = r.Created("agent")


@pytest.fixture
def ask(make_facts: Any) -> Any:
    def admission(session: Any, *texts: str, input_id: str | None = None, messages: Any = None, **options: Any) -> Any:
        given = [user(text) for text in texts] if messages is None else messages
        return admit(
            session,
            given,
            input_id=input_id,
            fresh_id="fresh",
            now="2026-01-01T00:00:00.000Z",
            agent=options.pop("agent", make_facts()),
            created=CREATED,
        )

    return admission


def kinds(admission: Any) -> list[str]:
    return [type(record).__name__ for record in admission.records]


def test_a_new_session_is_created_and_begins(world: Any, ask: Any) -> None:
    admission = ask(world().session, "go")
    assert (admission.kind, kinds(admission)) == ("run", ["Created", "InputReceived", "RunStarted", "InputApplied"])
    assert {admission.records[1].id, admission.records[2].input_id} == {"fresh"}


def test_a_new_session_with_nothing_to_say_is_empty(world: Any, ask: Any) -> None:
    assert ask(world().session).kind == "empty"


def test_a_finished_session_begins_another_run_without_a_system_prompt(world: Any, ask: Any) -> None:
    w = world()
    w.send("go")
    w.answer()
    admission = ask(w.session, "next")
    assert kinds(admission) == ["InputReceived", "RunStarted", "InputApplied"]
    assert admission.records[1].instructions is None


@pytest.mark.parametrize("texts", [(), ("go",)])
def test_a_finished_session_and_nothing_new_is_settled(world: Any, ask: Any, texts: Any) -> None:
    w = world()
    w.send("go")
    w.answer()
    history = [*w.session.messages] if texts else []
    assert ask(w.session, messages=history).kind == "settled"


def test_an_unfinished_run_goes_on_as_its_next_attempt(world: Any, ask: Any) -> None:
    w = world()
    w.send("go")
    w.answer("plain")
    admission = ask(w.session)
    assert (kinds(admission), admission.records[0].attempt) == (["RunResumed"], 2)
    assert kinds(ask(w.session, "go")) == ["RunResumed"], "the starting message again is a retry"
    assert kinds(ask(w.session, "more")) == ["RunResumed", "InputReceived", "InputApplied"]


def test_an_ended_run_begins_its_attempts_afresh(world: Any, ask: Any) -> None:
    """DESIGN 6.8."""
    w = world()
    w.send("go")
    w.calling = True
    w.abort()
    assert ask(w.session).records[0].attempt == 1


def test_what_of_the_agent_changed_is_recorded(world: Any, ask: Any, make_facts: Any) -> None:
    w = world()
    w.send("go")
    w.answer("plain")
    same, other = ask(w.session).records[0], ask(w.session, agent=make_facts(model="n")).records[0]
    assert (same.fingerprint, same.model, same.offered) == (None, None, None)
    assert (other.fingerprint.hash, other.model) == ("n", "n")


def test_the_same_id_and_content_is_the_same_input(world: Any, ask: Any, make_facts: Any) -> None:
    """DESIGN 6.3, whatever crashed in between."""
    w = world()
    w.tell(*ask(w.session, "go", input_id="i1").records)
    assert kinds(ask(w.session, "go", input_id="i1")) == ["RunResumed"]
    w.answer()
    assert ask(w.session, "go", input_id="i1").kind == "settled"
    assert ask(w.session, "other", input_id="i1").kind == "conflict"
    assert kinds(ask(w.session, "go", input_id="i2")) == ["InputReceived", "RunStarted", "InputApplied"]


def test_text_is_not_compared_where_an_id_is_given(world: Any, ask: Any) -> None:
    w = world()
    w.send("go")
    w.answer("plain")
    assert kinds(ask(w.session, "go", input_id="i9")) == ["RunResumed", "InputReceived", "InputApplied"]


def test_de_037_system_messages_are_dropped_on_a_stored_session(world: Any, ask: Any) -> None:
    w = world()
    given = [Message(role="system", content="Obey."), user("go")]
    w.tell(*ask(w.session, messages=given).records)
    assert [m.role for m in w.session.messages] == ["system", "system", "user"]
    w.answer()
    (received, *_) = ask(w.session, messages=[Message(role="system", content="Obey."), user("next")]).records
    assert [m.role for m in received.messages] == ["user"]


def test_a_cleared_session_belongs_to_the_agent_that_starts_it_over(world: Any, ask: Any) -> None:
    w = world()
    w.send("go")
    w.answer()
    w.tell(r.Cleared())
    admission = ask(w.session, "go")
    assert kinds(admission) == ["Created", "InputReceived", "RunStarted", "InputApplied"]
    assert admission.records[2].instructions == "Be brief."
