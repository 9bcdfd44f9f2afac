"""The simulation of many hosts gives the same for the same seed, and keeps to what must hold of any."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest


@pytest.fixture(scope="module")
def program() -> Iterator[dict[str, Any]]:
    """What ``simulate.py`` has."""
    before = list(sys.path)
    yield runpy.run_path(str(Path(__file__).with_name("simulate.py")))
    sys.path[:] = before


@pytest.fixture
def figures(program: dict[str, Any]) -> Any:
    """Simulates a little; takes what ``--set`` takes."""

    def run(*settings: str) -> Any:
        return program["simulate"](program["knobs_from"](["hosts=8", "sessions=90000", *settings]))

    return run


def test_a_seed_decides_everything(figures: Any) -> None:
    assert figures() == figures()
    assert figures() != figures("seed=2")


def test_without_deaths_nothing_is_taken_over(figures: Any) -> None:
    found = figures("dead=0")
    assert (found.lost, found.lost_s, found.late) == (0, 0.0, 0)


def test_what_dead_hosts_drove_goes_on_once_their_leases_are_over(figures: Any) -> None:
    found = figures("dead=0.5", "concurrency=40", "sessions=200000", "ttl_s=30", "renew_s=10", "look_every_s=3")
    assert found.lost > 10
    assert 20.0 <= found.lost_s <= 36.0  # a lease was renewed up to ten seconds before, and hosts look every three


def test_hosts_that_always_drive_something_renew_once_in_their_time(figures: Any) -> None:
    found = figures("concurrency=100", "sessions=500000", "renew_s=2", "dead=0")
    assert found.renewals_s == pytest.approx(8 / 2, rel=0.05)


def test_everybody_is_told_of_every_input(figures: Any) -> None:
    found = figures("steady_s=60")
    assert found.told_s == pytest.approx(8 * found.inputs_s, rel=0.05)


def test_sessions_that_wait_cost_nothing(figures: Any) -> None:
    few, many = (figures("every_s=1e12", "hosts=100", "look_every_s=2", f"sessions={sessions}") for sessions in (1_000, 10_000_000))
    assert few.used == many.used
    assert few.asks_s == pytest.approx(100 / 2, rel=0.1)


def test_what_runs_out_is_named(figures: Any) -> None:
    assert figures("sessions=10000000").first == "room"
    assert figures("max_connections=10").first == "connections"
    assert figures("hosts=200", "costs.find=1e6", "max_connections=10000").first == "processors"


def test_a_name_that_is_none_is_refused(program: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match="hostz"):
        program["knobs_from"](["hostz=3"])


def test_a_server_does_no_more_at_once_than_it_has_processors(program: dict[str, Any]) -> None:
    from simulation.server import Server  # type: ignore[import-not-found]

    server = Server(2, 0.5)
    assert [server.serve(0.0, "x", 1e6) for _ in range(4)] == [1.0, 1.0, 2.0, 2.0]
    assert server.longest_queue == 2
    assert server.serve(5.0, "x", 1e6, commits=2) == 7.0
    assert [server.serve(10.0, "x", 1e6, notifies=True) for _ in range(2)] == [11.5, 12.0]


def test_what_was_offered_is_offered_again_only_once_that_lapsed(program: dict[str, Any]) -> None:
    from simulation.pool import Pool, Session  # type: ignore[import-not-found]

    pool, session = Pool(2.0), Session(1)
    pool.add(session, 0.0)
    assert pool.some(0.0, 4) == [session]
    pool.offer([session], 0.0, 0.1)
    assert pool.some(2.0, 4) == []
    assert pool.some(2.2, 4) == [session]
    pool.offer([session], 2.2, 2.3)
    pool.claim(session, "host")
    assert pool.some(9.0, 4) == []
