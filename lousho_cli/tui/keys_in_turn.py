"""Keys one after the other: the next is looked at only when all that the one before changes has changed.

Textual hands each key to whatever has the focus when it comes. Of two that come within milliseconds, the second would go
to where the person was before the first: the first letter behind the key that opens a filter would be lost, or be a
command of the list. So it waits until the one before is through, and the screen that it opened is there.
"""

from __future__ import annotations

from collections import deque
from functools import partial

from textual.app import App
from textual.events import Event, Key, Paste
from textual.message import Message

_LAPS = 3
"""What a key began often says so by a message that goes the way of the key: so that way is gone again behind it."""

_LOOK_S = 0.005
"""How often it is looked whether a new screen is there."""

_PATIENCE_S = 1.0
"""After so long the next key no longer waits: who got the one before may be gone."""


class Through(Message):
    """Goes the way of a key, behind it: from what had the focus up to the app."""

    def __init__(self, key: Event, lap: int) -> None:
        self.key = key
        self.lap = lap
        super().__init__()


class KeysInTurn(App[None]):
    """An app in which a key, and a text that is pasted, means what it means where the person is when all before it is done."""

    def __init__(self) -> None:
        super().__init__()
        self._under_way: Event | None = None
        self._keys: deque[Event] = deque()
        self._came_up = False
        self._patient = False

    @property
    def keys_wait(self) -> bool:
        """Whether something that was typed is still to be done."""
        return self._under_way is not None

    @property
    def _left(self) -> bool:
        """Whether the person has left: there may be no screen any more."""
        return self._exit or not self.screen_stack

    async def on_event(self, event: Event) -> None:
        if isinstance(event, Key | Paste) and self._left:
            return
        if event is self._under_way:
            self._came_up = True
        if not isinstance(event, Key | Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self._under_way is None:
            await self._begin(event)
        else:
            if not self._keys:
                self._wait_for(self._under_way)
            self._keys.append(event)

    async def _begin(self, key: Event) -> None:
        self._under_way, self._came_up = key, False
        await super().on_event(key)
        await self._follow(Through(key, 1))

    async def on_through(self, message: Through) -> None:
        if not self._came_up:  # such as a letter, which a field of text keeps for itself
            await self._end(message.key)
        else:
            await self._follow(Through(message.key, message.lap + 1))

    async def _follow(self, message: Through) -> None:
        if message.key is not self._under_way or self._left:
            return
        if not self.screen.is_mounted:
            self.set_timer(_LOOK_S, partial(self._follow, message))
        elif message.lap > _LAPS:
            self.call_after_refresh(self._end, message.key)  # a part of the screen that is shown again can take the keys then
        elif not (self.focused or self.screen).post_message(message):
            await self._end(message.key)

    async def _end(self, key: Event) -> None:
        if key is not self._under_way or self._left:
            return
        self._under_way = None
        if self._keys:
            await self._begin(self._keys.popleft())

    def _wait_for(self, key: Event) -> None:
        """Looks after a while whether a key is through, and for as long as others wait for one."""
        if not self._patient:
            self._patient = True
            self.set_timer(_PATIENCE_S, partial(self._waited_for, key))

    async def _waited_for(self, key: Event) -> None:
        self._patient = False
        await self._end(key)
        if self._keys and self._under_way is not None:
            self._wait_for(self._under_way)
