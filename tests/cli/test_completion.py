"""Completion: commands, options, and from the heads alone session ids, steps and approval ids."""

from __future__ import annotations

from typing import Any

import pytest

from lousho_cli.cli.completing import complete_addresses, complete_agents, complete_approvals, complete_sessions


class _Context:
    obj = None

    def find_root(self) -> _Context:
        return self


def test_ids_steps_and_approvals_complete_from_the_heads(store: Any, trip: Any, waiting: Any) -> None:
    store("trip", trip())
    store("booking", waiting())
    context = _Context()
    assert dict(complete_sessions(context, [], "")) == {"trip": "finished", "booking": "awaiting-approval"}
    assert [value for value, _ in complete_addresses(context, [], "trip@")] == ["trip@1", "trip@2"]
    assert complete_approvals(context, [], "") == [("7f3a9c1e2b4d", "book_table in booking")]
    assert [value for value, _ in complete_agents(context, [], "")] == ["booking", "trip"]


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
