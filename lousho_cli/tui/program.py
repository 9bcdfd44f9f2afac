"""The program: its screens, its colours, and the one loop that keeps the list of sessions fresh."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work
from textual.app import SystemCommand
from textual.reactive import reactive
from textual.screen import Screen
from textual.worker import WorkerFailed

from lousho_cli.errors import SDKError
from lousho_cli.tui.acting import Actor
from lousho_cli.tui.deeds import Act, Deed
from lousho_cli.tui.keys import KEYS, bindings, display
from lousho_cli.tui.keys_in_turn import KeysInTurn
from lousho_cli.tui.messages import DeedMoved, SessionsRead, StoreTrouble
from lousho_cli.tui.plain import line
from lousho_cli.tui.reading import Reader
from lousho_cli.tui.screens.help import HelpScreen
from lousho_cli.tui.screens.main import MainScreen
from lousho_cli.tui.screens.waiting_room import WaitingRoom
from lousho_cli.tui.state.session_rows import Sessions
from lousho_cli.tui.themes import THEMES, first_theme

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from lousho_cli.app.results import PendingItem

_AGAIN_S = 1.0
"""How long the list is left alone between two looks, at least."""

_PAGE_S = 0.1
"""How long the screen has for itself between two pages of a long list."""

_FIRST_S = 0.3
"""How long the first screen has for itself, where it has sessions to show."""

_DRAW_S = 0.06
"""How much of what is being done is gathered before it is drawn."""

_SHARE = 8
"""A look at the list is followed by a rest of so many times what it took, so that a large store costs little."""


class Lousho(KeysInTurn):
    """``lousho tui``.

    Args:
        reader: asks the store.
        session: what to open at the start, an id or an address; None begins with the list.
        sessions: those that were read already; None where none were.
        now: the clock that ages are told by.
        follow: whether to keep looking; False reads everything once.

    Attributes:
        failure: what went wrong, where the program ended because of a fault of its own.
    """

    CSS_PATH = Path(__file__).parent / "styles.tcss"
    TITLE = "lousho"
    BINDINGS = bindings("everywhere")
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]

    sessions: reactive[Sessions | None] = reactive(None)
    """What is listed; None until it was read once."""
    trouble: reactive[str] = reactive("")
    """Why the store can not be read; '' while it can."""
    marked: reactive[tuple[str, ...]] = reactive(())
    """What is marked for a comparison, at most two addresses."""

    def __init__(
        self,
        reader: Reader,
        session: str | None = None,
        *,
        sessions: Sessions | None = None,
        agents: Sequence[str] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        follow: bool = True,
    ) -> None:
        super().__init__()
        self.reader = reader
        self.now = now
        self.follow = follow
        self.failure: BaseException | None = None
        self.actor = Actor(reader.flag, agents, self._deed_moved)
        self._first = session
        self.set_reactive(Lousho.sessions, sessions)
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = first_theme(self.console.color_system)

    def get_default_screen(self) -> Screen[None]:
        return MainScreen(self._first)

    def on_mount(self) -> None:
        self.look_at_sessions()

    def on_unmount(self) -> None:
        self.reader.close()

    @work(exclusive=True, group="sessions")
    async def look_at_sessions(self) -> None:
        """Reads the list, again and again while the program follows; posts what changed."""
        if self.sessions is not None:
            await asyncio.sleep(_FIRST_S)
        while True:
            began = time.monotonic()
            left = 0
            try:
                sessions = await self.reader.sessions()
            except SDKError as error:
                self.post_message(StoreTrouble(error.detail))
            else:
                self.post_message(StoreTrouble(""))
                if sessions is not None:
                    left = sessions.left
                    self.post_message(SessionsRead(sessions))
            if left:
                await asyncio.sleep(_PAGE_S)
                continue
            if not self.follow:
                return
            await asyncio.sleep(max(_AGAIN_S, _SHARE * (time.monotonic() - began)))

    def on_sessions_read(self, message: SessionsRead) -> None:
        self.sessions = message.sessions

    def on_store_trouble(self, message: StoreTrouble) -> None:
        self.trouble = message.detail

    def _deed_moved(self, deed: Deed) -> None:
        self.post_message(DeedMoved(deed))  # from any thread

    def on_deed_moved(self, message: DeedMoved) -> None:
        """Shows how a deed goes, soon: an answer comes in many pieces."""
        deed = message.deed
        self.set_timer(_DRAW_S, lambda: self._show_deed(deed))

    def _show_deed(self, deed: Deed) -> None:
        """Wherever it is looked at; says how it came out where it is not."""
        deed.shown = True  # first: what is told from here on is shown the next time
        seen = False
        for screen in self.screen_stack:
            if getattr(screen, "deed", deed) is deed and (again := getattr(screen, "again", None)) is not None:
                again()
                seen = seen or screen is self.screen
        if deed.state != "runs" and not seen:
            self.say(f"{deed.words}: {deed.ended}")

    def begin(self, deed: Deed, act: Act) -> None:
        """Begins a deed, and shows how it goes in place of the screen on which it was asked for."""
        from lousho_cli.tui.screens.deed import DeedScreen

        self.switch_screen(DeedScreen(self.actor.do(deed, act)))

    def say(self, text: str) -> None:
        """A sentence for the person, for a while."""
        self.notify(line(text, 400), markup=False)

    def copy(self, text: str) -> None:
        """Puts a text into the terminal's clipboard; shows it for whose terminal has none."""
        self.copy_to_clipboard(text)
        self.say(f"copied: {text}")

    def decision_screen(self, item: PendingItem, verb: str) -> Screen[None]:
        """The screen on which a person decides what waits."""
        driven = next((row.driven for row in self.sessions.rows if row.id == item.session), None) if self.sessions is not None else None
        if item.kind in ("question", "secret"):
            from lousho_cli.tui.screens.answer import AnswerScreen

            return AnswerScreen(item, driven, declines=verb == "reject")
        from lousho_cli.tui.screens.decide import DecideScreen

        return DecideScreen(item, "reject" if verb == "reject" else "approve", driven)

    def action_deeds(self) -> None:
        """Shows what was done here."""
        from lousho_cli.tui.screens.deeds import DeedsScreen

        if not isinstance(self.screen, DeedsScreen):
            self.push_screen(DeedsScreen())

    def action_help(self) -> None:
        """Shows every key, those that hold where the person is first."""
        around = self.focused.ancestors_with_self if self.focused is not None else (self.screen, self)
        hold = {(binding.key, binding.action, binding.description) for node in around for _, binding in node._bindings}
        not_here = {key.where for key in KEYS if not hold.issuperset((one, key.action, key.words) for one in key.pressed.split(","))}
        self.push_screen(HelpScreen({key.where for key in KEYS} - not_here))

    def action_waiting_room(self) -> None:
        """Shows what waits for a person; from there, goes back."""
        if isinstance(self.screen, WaitingRoom):
            self.screen.dismiss(None)
        elif isinstance(main := self.screen, MainScreen):
            self.push_screen(WaitingRoom(), lambda session_id: None if session_id is None else main.open(session_id))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The waiting room is a step aside from the panes, and from nothing that is about to be done."""
        return action != "waiting_room" or not self.screen_stack or isinstance(self.screen, MainScreen | WaitingRoom)

    def action_next_theme(self) -> None:
        """Goes through the colours there are."""
        names = [theme.name for theme in THEMES]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every key of the table that holds where the person is, by its words; then what Textual has."""
        for key in KEYS:
            for node in screen.focused.ancestors_with_self if screen.focused is not None else (screen, self):
                if _does(node, key.action) and any(binding.action == key.action for _, binding in node._bindings):
                    yield SystemCommand(key.words.capitalize(), f"{key.where}; key {display(key)}", self._pressing(key.action, node))
                    break
        yield from (command for command in super().get_system_commands(screen) if command.title not in {"Quit", "Keys"})

    def _pressing(self, action: str, node: DOMNode) -> Callable[[], None]:
        """What the key of an action does."""

        def press() -> None:
            self.run_worker(self.run_action(action, node))

        return press

    def _handle_exception(self, error: Exception) -> None:
        """Ends the program; whoever started it says what went wrong, in a line."""
        self.failure = error.error if isinstance(error, WorkerFailed) else error
        super()._handle_exception(error)
        self._exit_renderables.clear()


def _does(node: DOMNode, action: str) -> bool:
    """Whether a node carries an action out itself, or names who does; else one around it does."""
    name = action.partition("(")[0]
    return "." in name or hasattr(node, f"action_{name}")
