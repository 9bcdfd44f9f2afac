"""Which lines of a log count."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from lousho_cli.domain import records as r
from lousho_cli.domain.codec import encode_line
from lousho_cli.domain.state import State
from lousho_cli.ports.log_store import Hole
from lousho_cli.stores.file.scan import Scan, mark_of, scan

MakeBatch = Callable[..., r.Batch]


def made(seq: int, epoch: int = 1, *records: r.Record, sync: int | None = None) -> r.Batch:
    return r.Batch(seq, epoch, "2026-01-01T00:00:00.000Z", records or (r.Note("n", f"text {seq} {epoch}"),), sync)


def lines(*batches: r.Batch | bytes) -> bytes:
    return b"".join(one if isinstance(one, bytes) else encode_line(one) for one in batches)


def seen(found: Scan) -> list[tuple[int, int]]:
    return [(batch.seq, batch.epoch) for batch in found.batches]


def test_blank_lines_have_no_seq() -> None:
    found = scan(lines(b"\n", made(1), b"\n\n", made(2, 2)))
    assert seen(found) == [(1, 1), (2, 2)]
    assert (found.head, found.epoch, found.voids, found.holes) == (2, 2, [], [])


def test_a_line_without_its_end_is_void() -> None:
    found = scan(lines(made(1), made(2))[:-1])
    assert seen(found) == [(1, 1)]
    assert [void.why for void in found.voids] == ["torn: it has no end of line"]


def test_a_changed_byte_makes_a_line_void() -> None:
    good = encode_line(made(2))
    for at in range(len(good) - 1):
        bad = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
        assert seen(scan(lines(made(1), bad))) == [(1, 1)], at


def test_a_line_of_a_replaced_owner_is_void() -> None:
    found = scan(lines(made(1), made(2, 2), made(2, 1), made(3, 1), made(3, 2)))
    assert seen(found) == [(1, 1), (2, 2), (3, 2)]
    assert [void.seq for void in found.voids] == [2, 3]
    assert not found.holes


def test_a_line_whose_seq_a_later_owner_took_is_void() -> None:
    found = scan(lines(made(1), made(2), made(3, sync=1), made(2, 2, sync=1), made(3, 2)))
    assert seen(found) == [(1, 1), (2, 2), (3, 2)]
    assert {void.seq for void in found.voids} == {2, 3}
    assert not found.holes


def test_a_bad_line_between_dense_seqs_is_no_damage() -> None:
    found = scan(lines(made(1), b"\0" * 50 + b"\n", made(2), made(3)))
    assert seen(found) == [(1, 1), (2, 1), (3, 1)]
    assert not found.holes


def test_what_stands_on_something_never_synced_is_void() -> None:
    found = scan(lines(made(1), b"\0" * 50 + b"\n", made(3, sync=1), made(4, sync=1)))
    assert seen(found) == [(1, 1)]
    assert not found.holes
    assert [void.seq for void in found.voids] == [None, 3, 4]


def test_missing_lines_that_were_synced_are_a_hole() -> None:
    found = scan(lines(made(1), b"garbage\n", made(4), made(5)))
    assert seen(found) == [(1, 1), (4, 1), (5, 1)]
    assert [(hole.first, hole.last) for hole in found.holes] == [(2, 3)]


def test_a_hole_shows_once_a_line_says_it_was_synced() -> None:
    found = scan(lines(made(1), b"garbage\n", made(3, sync=1), made(4)))
    assert seen(found) == [(1, 1), (4, 1)]
    assert [(hole.first, hole.last) for hole in found.holes] == [(2, 3)]


def test_a_log_that_begins_late_needs_a_base() -> None:
    assert [(hole.first, hole.last) for hole in scan(lines(made(5), made(6))).holes] == [(1, 4)]
    found = scan(lines(made(5, 1, r.Base(State(seq=4))), made(6)))
    assert (seen(found), found.holes) == ([(5, 1), (6, 1)], [])


def test_a_byte_order_mark_is_damage() -> None:
    found = scan(b"\xef\xbb\xbf" + lines(made(1), made(2)))
    assert seen(found) == [(2, 1)]
    assert found.holes == [Hole(1, 1, found.holes[0].detail)]


def test_reading_on_gives_what_reading_from_the_beginning_gives() -> None:
    batches = [made(1), made(2), made(3, sync=1), made(4, 2), made(5, 2), made(6, 2)]
    data = lines(*batches)
    whole = scan(data)
    for end in whole.ends:
        first = scan(data[:end])
        rest = scan(data[end:], first.place)
        assert first.batches + rest.batches == whole.batches
        assert (rest.head, rest.epoch, rest.synced, rest.offset) == (whole.head, whole.epoch, whole.synced, whole.offset)


def test_a_tail_that_takes_seqs_back_asks_for_the_whole_log() -> None:
    first = scan(lines(made(1), made(2), made(3)))
    rest = scan(lines(made(2, 2), made(3, 2)), first.place)
    assert rest.rewound


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4), st.none() | st.integers(0, 6)), max_size=12), st.binary(max_size=40))
def test_any_bytes_can_be_scanned(entries: list[tuple[int, int, int | None]], junk: bytes) -> None:
    data = lines(*(made(seq, epoch, sync=sync) for seq, epoch, sync in entries), junk, made(3, 3))
    found = scan(data)
    seqs = [batch.seq for batch in found.batches]
    assert seqs == sorted(set(seqs))
    epochs = [batch.epoch for batch in found.batches]
    assert epochs == sorted(epochs)
    assert found.head == (seqs[-1] if seqs else 0) or found.holes
    assert len(found.ends) == len(found.batches)


def test_a_mark_is_of_the_last_bytes_alone() -> None:
    assert mark_of(b"a" * 9000) == mark_of(b"b" + b"a" * 8000)
    assert mark_of(b"a" * 9000) != mark_of(b"a" * 8999 + b"b")
