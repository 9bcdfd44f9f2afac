"""Waiting for an owner that does not take what was left for it."""

from __future__ import annotations

import pytest

from lousho_cli.app import leaving
from lousho_cli.ports.log_store import Owner


def test_whom_a_decision_waits_for_is_said_once_and_only_where_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    owner = Owner(host="there", pid=7, since="noon", epoch=1)
    with leaving.patient(said.append) as looks:
        looks(owner)
        assert said == []
    monkeypatch.setattr(leaving, "_SILENT_S", 0.0)
    with leaving.patient(said.append) as looks:
        looks(owner)
        looks(owner)
    assert said == ["left for there, pid 7, since noon, which has not taken it yet"]
