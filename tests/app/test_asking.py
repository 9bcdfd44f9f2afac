"""How often a worker asks its store for work, and what becomes of it when the store is slow or away."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from lousho_cli.app.asking import Asking
from lousho_cli.domain.heads import Head
from lousho_cli.errors import StorageError
from lousho_cli.executor.clock import SystemClock
from lousho_cli.stores.memory import MemoryStore


class Hands(SystemClock):
    """A clock that stands still until somebody sleeps; sleeping takes no time."""

    def __init__(self) -> None:
        super().__init__()
        self.time, self.slept = 1000.0, [0.0]

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds

    def chance(self) -> float:
        return 0.5


class Store(MemoryStore):
    """A store that takes its time, or is away, and is told of work at once."""

    def __init__(self, clock: Hands) -> None:
        super().__init__()
        self.clock = clock
        self.takes_s, self.away, self.tells, self.passes = 0.001, False, True, False
        self.work: tuple[Head, ...] = ()

    async def pending(self, limit: int, now: str, without: Collection[str] = (), strange: Collection[str] = ()) -> tuple[Head, ...]:
        self.clock.time += self.takes_s
        if self.away:
            error = StorageError("the server is away")
            error.retryable = self.passes
            raise error
        return self.work[:limit]

    async def wait_for_work(self, timeout_ms: int) -> bool:
        if not self.tells:
            self.clock.time += timeout_ms / 1000
        return self.tells


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
def store(clock: Hands) -> Store:
    return Store(clock)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def asking(store: Store, clock: Hands, said: list[str]) -> Asking:
    return Asking(store, clock, said.append)


async def rounds(asking: Asking, clock: Hands, times: int) -> list[float]:
    """The pauses between so many questions."""
    pauses = []
    for _ in range(times):
        await asking.some(4, ())
        at = clock.time
        await asking.more()
        pauses.append(clock.time - at)
    return pauses


async def test_an_idle_worker_asks_now_and_then(asking: Asking, store: Store, clock: Hands) -> None:
    store.tells = False
    assert await rounds(asking, clock, 3) == pytest.approx([3.0] * 3)


async def test_told_of_work_that_others_took_it_asks_less_soon_each_time(asking: Asking, store: Store, clock: Hands) -> None:
    assert await rounds(asking, clock, 6) == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0])
    store.work = (Head(id="s"),)
    assert await rounds(asking, clock, 1) == pytest.approx([0.1])


async def test_a_slow_store_is_asked_less(asking: Asking, store: Store, clock: Hands) -> None:
    store.takes_s = 0.2
    assert (await rounds(asking, clock, 1))[0] == pytest.approx(2.0)
    await asking.some(4, ())
    before = clock.time
    await asking.some(4, ())
    assert clock.time - before == pytest.approx(0.4), "also where there is room: as long a pause as it took"
    store.takes_s = 4.0
    await asking.some(4, ())
    assert (await rounds(asking, clock, 1))[0] == pytest.approx(3.0)


async def test_a_store_that_fails_is_asked_less_and_less_and_it_is_said_once(
    asking: Asking, store: Store, clock: Hands, said: list[str]
) -> None:
    await asking.some(4, ())
    store.away = True
    assert await rounds(asking, clock, 9) == pytest.approx([0.5, 1, 2, 4, 8, 16, 30, 30, 30])
    assert len(said) == 1
    assert "the server is away" in said[0]
    store.away = False
    await asking.some(4, ())
    assert said[1:] == ["the store can be read again"]
    store.away = True
    await asking.some(4, ())
    assert len(said) == 3


async def test_the_very_first_question_may_fail(asking: Asking, store: Store) -> None:
    store.away = True
    with pytest.raises(StorageError):
        await asking.some(4, ())


async def test_a_store_that_is_away_to_begin_with_is_waited_for_up_to_a_limit(store: Store, clock: Hands, said: list[str]) -> None:
    asking = Asking(store, clock, said.append, wait_s=20.0)
    store.away = store.passes = True
    assert await rounds(asking, clock, 4) == pytest.approx([0.5, 1, 2, 4])
    assert [line.partition(" more: ")[0] for line in said[:2]] == [f"the store is not there yet, and is waited for {n} s" for n in (20, 19)]
    store.away = False
    await asking.some(4, ())
    assert said[4:] == ["the store can be read now"]
    asking = Asking(store, clock, said.append, wait_s=14.0)
    store.away, begun = True, clock.time
    with pytest.raises(StorageError):
        await rounds(asking, clock, 100)
    assert clock.time - begun == pytest.approx(14.0, abs=0.01), "and once more in the end"


async def test_what_will_not_pass_is_not_waited_for(store: Store, clock: Hands, said: list[str]) -> None:
    store.away = True
    with pytest.raises(StorageError):
        await Asking(store, clock, said.append, wait_s=20.0).some(4, ())
    assert said == []


async def test_how_long_the_store_took(asking: Asking, store: Store, clock: Hands) -> None:
    for store.takes_s in (0.001, 0.002, 0.009):
        await asking.some(4, ())
    times = await asking.times(ask=True)
    assert times is not None
    assert (times.questions, times.median_ms, times.max_ms) == (3, 2.0, 9.0)
    again = await asking.times(ask=True)
    assert again is not None
    assert again.questions == 1, "a small one is put where there was none"
    assert await asking.times(ask=False) is None
