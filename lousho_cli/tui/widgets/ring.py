"""The ring of a session: a plot of what it used, its checkpoints, and its family of forks."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from textual import work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from lousho_cli.app.families import Member
from lousho_cli.app.moments import age
from lousho_cli.app.ring import Ring, entry_at
from lousho_cli.errors import NotFoundError, SDKError
from lousho_cli.tui.messages import CheckpointChosen
from lousho_cli.tui.plain import content, line
from lousho_cli.tui.session_reading import SessionReader
from lousho_cli.tui.state.fork_tree import Branch, branches
from lousho_cli.tui.state.ring_rows import Row, cost_plot, lines_of, tokens_plot
from lousho_cli.tui.widgets.fork_tree import ForkTree
from lousho_cli.tui.widgets.pane import Pane
from lousho_cli.tui.widgets.ring_list import RingList

if TYPE_CHECKING:
    from lousho_cli.tui.program import Lousho

_AGAIN_S = 0.25
"""How long a session is left alone between two looks, at least."""
_SHARE = 4
"""A look is followed by a rest of so many times what it took."""
_FAMILY_S = 3.0
"""How long a family is left alone."""
_TOLD = 4
"""So many of the things that happened are told in full."""
_TALL = 30
"""From so many lines on there is room for words under the plots."""


class RingPane(Pane):
    """Shows the ring of one session; posts ``CheckpointChosen``. It looks again and again for as long as the program follows."""

    DEFAULT_CSS = """
    RingPane #ring-plot { height: auto; padding: 0 1 0 0; }
    RingPane #ring-nothing { height: auto; padding: 1 1; color: $foreground 70%; }
    RingPane #ring-detail { height: 6; color: $foreground 80%; border-top: solid $foreground 30%; }
    RingPane.-low #ring-detail { height: 2; }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._session: str | None = None
        self._ring: Ring | None = None
        self._wanted: str | None = None
        self._branches: tuple[Branch, ...] = ()
        self._looks = 0
        self._plotted = 0  # so many lines below its first the plot has

    def compose(self) -> ComposeResult:
        yield Static(id="ring-plot", markup=False)
        yield RingList()
        yield Static(id="ring-nothing", markup=False)
        yield ForkTree()
        yield Static(id="ring-detail", markup=False)

    def on_mount(self) -> None:
        self.can_focus = False  # what is in it takes the keys
        self.border_title = "ring"
        self._say_nothing("")

    def take_focus(self) -> None:
        self.query_one(RingList).focus()

    def show(self, session_id: str | None, address: str | None = None) -> None:
        """Shows the ring of another session; None for none.

        Args:
            address: the checkpoint to be at; None is the newest, and wherever it goes on to.
        """
        self._session, self._ring, self._wanted = session_id, None, address
        self.border_title = "ring" if session_id is None else content(f"ring of {line(session_id, 60)}")
        self._branches = ()
        self.query_one(ForkTree).show(())
        self._say_nothing("")
        self._looks += 1
        if session_id is not None:
            self.border_subtitle = "reading …"
            self._look(self.program.reader.session(session_id), self._looks)

    def changed(self) -> None:
        """Another process wrote to the session that is shown. It is looked at all the time; without that, once more now."""
        if self._session is not None and not self.program.follow:
            self._looks += 1
            self._look(self.program.reader.session(self._session), self._looks)

    @work(group="ring")
    async def _look(self, session: SessionReader, mine: int) -> None:
        """Reads the ring again and again until another one is to be shown; shows what changed."""
        known: Ring | None = None
        members: tuple[Member, ...] | None = None
        family_at, troubled = 0.0, False
        while self._goes_on(mine):
            began = time.monotonic()
            try:
                ring = await session.ring()
                if not self._goes_on(mine):
                    return
                if ring is not known or troubled:
                    troubled = False
                    self._show(ring)
                    known = ring
                if not family_at or began - family_at > _FAMILY_S:
                    family_at = began
                    read = await session.family()
                    if not self._goes_on(mine):
                        return
                    if read != members:
                        members = read
                        self._branches = branches(members, session.session_id)
                        self.query_one(ForkTree).show(self._branches, tall=self._tall)
            except SDKError as error:
                if not self._goes_on(mine):
                    return
                troubled = True
                self._say_trouble(error)
            if not self.program.follow:
                return
            await asyncio.sleep(max(_AGAIN_S, _SHARE * (time.monotonic() - began)))

    def _goes_on(self, mine: int) -> bool:
        """Whether a look is still wanted: no other one was begun, and the program was not left."""
        return self._looks == mine and bool(self.query(RingList))

    def _show(self, ring: Ring) -> None:
        before, self._ring = self._ring, ring
        rows = self.query_one(RingList)
        lines = lines_of(ring)
        self._say(Content("" if lines else "No checkpoint is kept."))
        wanted = entry_at(ring, self._wanted) if self._wanted is not None else None
        keep = wanted.entry.address if wanted is not None else None
        if keep is None and rows.current is not None and not rows.at_newest:
            keep = rows.current.address
        self._wanted = None
        at_end = rows.current is not None and rows.current.address == ring.session
        rows.show(lines, self.program.now(), keep)
        self._plot()
        count = len(ring.entries)
        damaged = "! damaged · " if ring.damage else "! newer · " if ring.newer else ""
        self.border_subtitle = f"{damaged}{count} checkpoint{'' if count == 1 else 's'}"
        current = rows.current
        if current is not None:
            self._detail(current)
            if before is not None and at_end and current.address == ring.session:
                self.post_message(CheckpointChosen(ring.session, ring.session))  # the end of the session has moved on

    def _say_trouble(self, error: SDKError) -> None:
        """Says why it can not be read. What was read stays, unless the session itself is gone."""
        if self._ring is None or isinstance(error, NotFoundError):
            self._say_nothing(error.detail)
            return
        self._say(content(f"! {error.detail}"))

    def _say_nothing(self, why: str) -> None:
        """Shows no ring, and says why where that is known."""
        self.query_one(RingList).show((), self.program.now(), None)
        self._say(content(why))
        self.query_one("#ring-detail", Static).update(layout=False)
        self.border_subtitle = ""

    def _say(self, why: Content) -> None:
        """Says something in place of the rows, or below them; nothing where it is empty."""
        nothing = self.query_one("#ring-nothing", Static)
        nothing.display = bool(why)
        if why:
            nothing.update(why)

    @property
    def _tall(self) -> bool:
        """Whether there is room for more than the rows."""
        return self.size.height >= _TALL

    def on_resize(self) -> None:
        self.set_class(not self._tall, "-low")
        self._plot()
        self.query_one(ForkTree).show(self._branches, tall=self._tall)
        row = self.query_one(RingList).current
        if row is not None:
            self._detail(row)

    def _plot(self) -> None:
        """The plots of tokens and money, with their words; in a low pane that of tokens and its sum."""
        ring, tall = self._ring, self._tall
        width = max(self.size.width - 9, 8) if tall else max(self.size.width - 15, 4)
        plots = [] if ring is None else [("tokens", tokens_plot(ring, width)), ("cost", cost_plot(ring, width))]
        parts: list[tuple[str, str]] = []
        for name, plot in plots if tall else plots[:1]:
            if plot is not None:
                told = plot.said if len(plot.said) <= self.size.width - 7 else plot.sum
                words = f"\n{'':<7}{told}\n" if tall else f" {plot.sum}\n"
                parts += [(f"{name:<7}", "$foreground 60%"), (plot.bars, "$secondary"), (words, "$foreground 60%")]
        told_all = Content.assemble(*parts).rstrip()
        box, high = self.query_one("#ring-plot", Static), told_all.plain.count("\n")
        box.display = bool(parts)
        box.update(told_all, layout=high != self._plotted)
        self._plotted = high

    def _detail(self, row: Row) -> None:
        """The whole of the row at the cursor, in words."""
        box = self.query_one("#ring-detail", Static)
        if not row.at:  # the session as it stands now
            box.update(content(" · ".join(line(part, 300) for part in (row.status, row.added) if part)), layout=False)
            return
        when = age(row.at, self.program.now())
        used = ", ".join(part for part in (f"{row.tokens} tokens" if row.tokens else "", row.cost) if part)
        facts = " · ".join(part for part in (row.status, f"{when} ago" if when else "", row.size, used) if part)
        cut = [one for one in row.happened if cell_len(one) > self.size.width - 6]  # the rest can be read in its own line
        told = [line(row.address, 200), facts, *(line(one, 300) for one in cut[:_TOLD])]
        box.update(content("\n".join(told) if self._tall else line(facts, self.size.width)), layout=False)

    def on_ring_list_moved(self, message: RingList.Moved) -> None:
        message.stop()
        if self._session is not None:
            self._detail(message.row)
            self.post_message(CheckpointChosen(self._session, message.row.address, opened=message.opened))

    @property
    def program(self) -> Lousho:
        return cast("Lousho", self.app)
