"""Completion: commands, options, and from the heads alone session ids, steps and approval ids."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.cli.completing import (
    complete_addresses,
    complete_agents,
    complete_approvals,
    complete_models,
    complete_sessions,
    complete_targets,
)


class _Context:
    obj = None
    info_name = "show"

    def find_root(self) -> _Context:
        return self


def test_ids_steps_and_approvals_complete_from_the_heads(store: Any, trip: Any, waiting: Any) -> None:
    store("trip", trip())
    store("booking", waiting())
    context = _Context()
    assert dict(complete_sessions(context, [], "")) == {"trip": "finished", "booking": "awaiting-approval"}
    assert [value for value, _ in complete_addresses(context, [], "trip@")] == ["trip@2", "trip@1"]
    assert [value for value, _ in complete_addresses(context, [], "trip#")] == ["trip#5", "trip#4", "trip#3", "trip#2", "trip#1"]
    assert complete_approvals(context, [], "") == [("7f3a9c1e2b4d", "book_table in booking")]
    assert [value for value, _ in complete_agents(context, [], "")] == ["booking", "trip"]


def test_sessions_are_offered_newest_first(store: Any, trip: Any) -> None:
    for day, name in enumerate(("b", "c", "a"), 1):
        store(name, trip(), at=f"2026-01-0{day}T00:00:00.000Z")
    assert [value for value, _ in complete_sessions(_Context(), [], "")] == ["a", "c", "b"]


def test_answer_is_offered_only_what_asks_for_an_answer(store: Any, waiting: Any) -> None:
    import msgspec

    *before, (opened, mark) = waiting("aaaa1111bbbb")
    question = msgspec.structs.replace(opened, approval=msgspec.structs.replace(opened.approval, kind="question"))
    store("asks", [*before, [question, mark]])
    store("books", waiting("cccc2222dddd"))
    context = _Context()
    assert {value for value, _ in complete_approvals(context, [], "")} == {"aaaa1111bbbb", "cccc2222dddd"}
    context.info_name = "answer"
    assert [value for value, _ in complete_approvals(context, [], "")] == ["aaaa1111bbbb"]


def test_targets_are_demos_agent_files_and_folders(folder: Any) -> None:
    (folder / "agents").mkdir()
    (folder / "agents" / "a.yaml").touch()
    (folder / "mine.yaml").touch()
    (folder / "notes.txt").touch()
    assert [value for value, _ in complete_targets(_Context(), [], "")] == ["trip", "booking", "agents/", "mine.yaml"]
    assert complete_targets(_Context(), [], "agents/") == [("agents/a.yaml", "file")]
    assert complete_targets(_Context(), [], "gone/") == []


def test_models_are_offered_by_their_providers() -> None:
    assert [value for value, _ in complete_models(_Context(), [], "open")] == ["openai/", "openai-responses/", "openrouter/"]
    assert "scripted/" not in dict(complete_models(_Context(), [], ""))


def test_a_store_that_can_not_be_read_offers_nothing(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOUSHO_STORE", "nonsense://x")
    assert complete_sessions(_Context(), [], "") == []


def test_a_shell_is_answered(process: Any, store: Any, trip: Any) -> None:
    store("trip", trip())
    store("other", trip(), path="there")

    def offered(words: str) -> list[str]:
        environ = {"_LOUSHO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
        return process(environ=environ).stdout.decode().split()

    assert offered("lousho sho") == ["show"]
    assert offered("lousho show t") == ["trip"]
    assert offered("lousho --store there show ") == ["other"]
