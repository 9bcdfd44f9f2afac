"""Fork from a checkpoint, with a change; what would run again is said before it does."""

from __future__ import annotations

import asyncio
from typing import Any

from textual import work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Checkbox, Input, Select, Static

from lousho_cli.app.forking import ForkOrder, Ready, fork, go_on_with, look
from lousho_cli.app.people import login_name
from lousho_cli.app.preparing import RunFlags
from lousho_cli.app.showing import Shown, show
from lousho_cli.errors import SDKError
from lousho_cli.tui.acting import said_of
from lousho_cli.tui.deeds import Act, Deed
from lousho_cli.tui.plain import content, line
from lousho_cli.tui.screens.act import ASKS_MODEL, ActScreen, button, label
from lousho_cli.tui.state.commands import fork_command
from lousho_cli.tui.state.patching import Call, calls_of
from lousho_cli.tui.state.story import ahead_of
from lousho_cli.tui.widgets.json_editor import JsonEditor
from lousho_cli.tui.widgets.tick import Tick
from lousho_cli.tui.widgets.typed_line import TypedLine

_REST_S = 0.25
"""So long nothing is typed before it is looked again at what would run."""


class ForkScreen(ActScreen):
    """Makes a new session; the source never changes.

    Args:
        address: a checkpoint, as ``fork`` takes it.
    """

    where = "fork"

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.shown: Shown | None = None
        self.ready: Ready | None = None
        self._calls: tuple[Call, ...] = ()
        self._trouble = ""
        self._looked: ForkOrder | None = None

    def fields(self) -> ComposeResult:
        yield Static(Content.assemble(("from       ", "$foreground 60%"), (line(self.address), "bold")), markup=False)
        yield label("another result of a call")
        yield Select[str]([], prompt="none", id="call", compact=True)
        yield JsonEditor(id="result", title="its result, as JSON", objects=False)
        yield label("something to say besides")
        yield TypedLine(id="append")
        yield JsonEditor(id="state", title="other business state, as JSON", objects=False)
        yield label("id of the fork")
        yield TypedLine(placeholder="the next free one", id="as")
        yield Tick("go on with it at once", id="run")
        yield Tick("yes, run those again that must not run twice", id="yes")

    def buttons(self) -> ComposeResult:
        yield button("fork", "fork")

    def fill_in(self) -> None:
        self.query_one("#result").display = False
        self.query_one("#yes").display = False
        self._read()

    @work(group="read")
    async def _read(self) -> None:
        """Reads the checkpoint: its calls, and its business state."""
        address = self.address
        try:
            shown, _ = await self.program.reader.look(lambda store: show(store, address))
        except SDKError as error:
            self._trouble = said_of(error)
            if not self.gone:
                self.explain()
            return
        if self.gone:
            return
        self.shown, self._calls = shown, calls_of(shown)
        select: Select[str] = self.query_one("#call", Select)
        select.set_options([(content(line(call.said, 120)), call.id) for call in self._calls])
        self.query_one("#state", JsonEditor).show(shown.business_state)
        select.focus()
        self.explain()

    def on_select_changed(self, event: Select.Changed) -> None:
        event.stop()
        editor = self.query_one("#result", JsonEditor)
        call = self._chosen
        editor.display = call is not None
        if call is not None:
            editor.show(call.result)
            editor.focus()
        self.explain()

    @property
    def _chosen(self) -> Call | None:
        chosen = self.query_one("#call", Select).value
        return next((call for call in self._calls if call.id == chosen), None)

    def _patch(self) -> dict[str, Any]:
        patch: dict[str, Any] = {}
        call, result, state = self._chosen, self.query_one("#result", JsonEditor), self.query_one("#state", JsonEditor)
        if call is not None and (result.changed or not call.answered):
            patch["tool_result"] = {"tool_call_id": call.id, "result": result.now.value}
        if said := self.query_one("#append", Input).value:
            patch["append_input"] = said
        if state.changed:
            patch["business_state"] = state.now.value
        return patch

    def _order(self) -> ForkOrder:
        flags = RunFlags(yes=self._agreed, by=login_name())
        new_id = self.query_one("#as", Input).value.strip() or None
        return ForkOrder(
            self.address, None, self._patch(), new_id, self.query_one("#run", Checkbox).value, flags, self.program.actor.choice
        )

    @property
    def _agreed(self) -> bool:
        box = self.query_one("#yes", Checkbox)
        return bool(box.display) and box.value

    @property
    def _problems(self) -> list[str]:
        editors = [self.query_one("#state", JsonEditor), *([self.query_one("#result", JsonEditor)] if self._chosen is not None else [])]
        return [problem for editor in editors if editor.changed for problem in editor.now.problems]

    def on_json_editor_edited(self) -> None:
        self.explain()

    def explain(self) -> None:
        if self.shown is None or self._problems:
            self.may("fork", able=False)
            self.say([(f"! {one}", "$error") for one in [self._trouble, *self._problems] if one])
            return
        order = self._order()
        if order != self._looked:
            self._look(order)
        self._say(order)

    @work(group="look", exclusive=True)
    async def _look(self, order: ForkOrder) -> None:
        """Asks what the fork would be and run; nothing is written and nothing runs."""
        await asyncio.sleep(_REST_S)
        try:
            self.ready, self._trouble = await self.program.actor.ask(lambda: look(order)), ""
        except SDKError as error:
            self.ready, self._trouble = None, said_of(error)
        self._looked = order
        if self.gone:
            return
        self.query_one("#yes").display = bool(self.ready is not None and self.ready.unrepeatable)
        self.explain()

    def _say(self, order: ForkOrder) -> None:
        said: list[tuple[str, str]] = [(f"! {self._trouble}", "$error")] if self._trouble else []
        ready = self.ready
        if order != self._looked:
            said.append(("looking at what it would do …", "$foreground 60%"))
            self.may("fork", able=False)
            self.say(said, fork_command(order))
            return
        never = ready.unrepeatable if ready is not None and order.run else ()
        if never:
            calls = ", ".join(f"{name} ({call_id})" for call_id, name in never)
            said.append((f"! must not run twice, and would run again: {calls}", "bold $warning"))
        if order.run and ready is not None and ready.ahead is not None:
            said += [(f"{words}: {calls}", "") for words, calls in ahead_of(ready.ahead)]
            said.append((f"Makes a new session and goes on with it: {ASKS_MODEL}.", ""))
        elif not order.run and ready is not None:
            said.append(("Makes a new session; nothing runs. The one it comes from never changes.", ""))
        able = ready is not None and (not never or self._agreed)
        self.may("fork", able=able)
        self.say(said, fork_command(order))

    def press(self, button: str) -> None:
        if self.ready is None:
            return
        order = self._order()
        self.begin(Deed(f"fork {self.address}", fork_command(order), self.address), _forking(order))


def _forking(order: ForkOrder) -> Act:
    async def act(deed: Deed) -> Any:
        ready = await look(order)  # the session may have moved on since
        made = await fork(order, ready)
        forked = made.forked
        deed.session, deed.goes_on = forked.session, made.next
        deed.tell(f"{forked.session}: forked from step {forked.step} of {forked.parent}")
        if made.behind is not None:
            count, step = made.behind
            many = f"{count} messages behind the change were said without it and stay" if count > 1 else "1 message behind it stays"
            deed.warn(f"{many}; fork from step {step} to leave {'them' if count > 1 else 'it'} out")
        if order.run:
            return await go_on_with(made, ready, order, deed.on_event, deed.tell, deed.ahead)
        deed.ended = f"made {forked.session}"
        return None

    return act
