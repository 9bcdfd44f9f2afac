"""In which order pending sessions are taken: a turn for each tenant and agent, whoever has more."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.core.pending import in_turn, lane_of
from lousho_cli.domain.heads import Head

heads = st.lists(
    st.builds(
        Head,
        id=st.text("abc", min_size=1, max_size=3),
        tenant=st.sampled_from([None, "", "t", '"]', "\0"]),
        agent=st.sampled_from(["a", "b", '","']),
        updated_at=st.sampled_from(["2026-01-01", "2026-01-02", "2026-01-03"]),
    ),
    max_size=30,
    unique_by=lambda head: head.id,
)


@given(heads, st.none() | st.sampled_from(["", '["t","a"]', "zzz"]))
def test_each_lane_has_its_turn_before_any_has_two(some: list[Head], after: str | None) -> None:
    order = in_turn(some, after)
    assert sorted(head.id for head in order) == sorted(head.id for head in some)
    whole = Counter(map(lane_of, some))
    for end in range(len(order) + 1):
        taken = Counter(map(lane_of, order[:end]))
        unfinished = [taken[lane] for lane in whole if taken[lane] < whole[lane]]
        assert max(taken.values(), default=0) - min(unfinished, default=max(taken.values(), default=0)) <= 1
    for lane in whole:
        touched = [head.updated_at for head in order if lane_of(head) == lane]
        assert touched == sorted(touched)


@given(heads)
def test_taken_one_at_a_time_no_lane_waits_longer_than_one_round(some: list[Head]) -> None:
    last, left, waited = None, list(some), Counter[str]()
    while left:
        lanes = {lane_of(head) for head in left}
        first = in_turn(left, last)[0]
        last = lane_of(first)
        left.remove(first)
        waited.update(lanes)
        waited[last] = 0
        assert all(waited[lane] <= len(set(map(lane_of, some))) for lane in lanes)


def test_a_lane_is_a_tenant_and_an_agent_and_nothing_else() -> None:
    assert lane_of(Head(tenant="t", agent="a")) == lane_of(Head(id="x", tenant="t", agent="a", updated_at="2026"))
    lanes = {lane_of(Head(tenant=tenant, agent=agent)) for tenant, agent in [("a", "b"), ('a","b', ""), (None, "b"), ("ab", "")]}
    assert len(lanes) == 4
    assert all("\0" not in lane_of(Head(tenant="\0", agent=agent)) for agent in ("a", "\0"))
