"""trim, prune, drift and delete --keep-history, from the command line, on every store of logs that a URL can name."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(params=[".lousho", "sqlite:store.db"])
def there(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, folder: Any) -> None:
    monkeypatch.setenv("LOUSHO_STORE", request.param)


def test_a_trimmed_session_is_the_same_and_goes_on(lousho: Any, there: None) -> None:
    lousho("run", "trip")
    shown, ring = lousho("show", "trip", "--json").data, lousho("history", "trip", "--json").data
    done = lousho("trim", "trip", "--yes", "--json")
    assert (done.code, done.data["trimmed"], done.data["checkpoints"]) == (0, True, 3)
    assert lousho("show", "trip", "--json").data == shown
    assert lousho("history", "trip", "--json").data == ring
    assert lousho("show", "trip#1").code == 3
    assert lousho("trim", "trip", "--yes", "--json").data["trimmed"] is False
    assert lousho("fork", "trip", "--from-step", "1", "--run", "-q").code == 0
    assert lousho("run", "trip", "Again", "-s", "trip").code == 0
    assert lousho("history", "trip", "--json").data[0]["address"].startswith("trip@2/")


def test_a_waiting_session_that_was_trimmed_is_decided(lousho: Any, there: None) -> None:
    lousho("run", "booking")
    assert lousho("trim", "booking", "--yes").code == 4
    assert lousho("prune", "--older-than", "1ms", "--yes", "--json").data["sessions"] == []
    assert lousho("drift", "-q").out == "booking none\n"
    assert lousho("trim", "booking", "--yes", "--force").code == 0
    approval = lousho("pending", "--json").data[0]["id"]
    assert lousho("approve", approval).code == 0
    assert lousho("trim", "booking", "--yes").code == 0
    assert lousho("approve", approval).code == 3
    done = lousho("prune", "--older-than", "1ms", "--yes", "--json").data
    assert (done["sessions"], done["approvals"]) == (["booking"], 1)
    assert lousho("list", "--all", "--json").data == []


def test_a_kept_history_lists_forks_and_is_extended(lousho: Any, there: None) -> None:
    lousho("run", "trip")
    assert lousho("delete", "trip", "--keep-history", "--yes").code == 0
    assert lousho("list", "--json").data == []
    (kept,) = lousho("list", "--all", "--json").data
    assert (kept["id"], kept["cleared"]) == ("trip", True)
    assert lousho("fork", "trip", "--from-step", "1", "-q").out == "trip.fork-1\n"
    assert lousho("run", "trip", "-s", "trip").code == 0
    ring = [entry["address"] for entry in lousho("history", "trip", "--json").data]
    assert ring == ["trip@2/2.1", "trip@2/1.2", "trip@2/1.1", "trip@1/2.1", "trip@1/1.2", "trip@1/1.1"]
    assert lousho("delete", "trip", "--yes").code == 0
    assert [session["id"] for session in lousho("list", "--all", "--json").data] == ["trip.fork-1"]
