"""Garbage collection while the program runs."""

from __future__ import annotations

import gc
import weakref

from lousho_cli.tui.collecting import only_what_is_new


class Loop:
    """Holds itself."""

    def __init__(self) -> None:
        self.me = self


def test_what_was_gone_through_is_left_alone_and_new_garbage_is_still_found() -> None:
    callbacks = list(gc.callbacks)
    with only_what_is_new():
        before = gc.get_freeze_count()
        kept = [[number] for number in range(1000)]
        lost = weakref.ref(Loop())
        gc.collect()
        assert lost() is None
        assert gc.get_freeze_count() >= before + len(kept)
        assert not any(one is kept for one in gc.get_objects(generation=2))
    assert gc.callbacks == callbacks and not gc.get_freeze_count()


def test_once_much_more_is_kept_everything_is_gone_through_again() -> None:
    with only_what_is_new():
        old = Loop()
        gc.collect()
        lost = weakref.ref(old)
        del old
        more = [[number] for number in range(2 * gc.get_freeze_count())]
        gc.collect(1)
        for _ in range(40):
            gc.collect()
        assert lost() is None and more
