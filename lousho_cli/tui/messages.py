"""What widgets and workers say to those above them. Each names what it is about, and nothing else."""

from __future__ import annotations

from textual.message import Message

from lousho_cli.tui.deeds import Deed
from lousho_cli.tui.state.session_rows import Sessions


class SessionsRead(Message):
    """The list of sessions was read again; only where something in it changed."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        super().__init__()

    def can_replace(self, message: Message) -> bool:
        """A newer list makes an older one needless."""
        return isinstance(message, SessionsRead)


class StoreTrouble(Message):
    """The store could not be read; ``detail`` says why, '' that it can be again."""

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__()


class SessionChosen(Message):
    """The person moved to a session. ``opened``: and wants to go on into its ring."""

    def __init__(self, session_id: str, *, opened: bool = False) -> None:
        self.session_id = session_id
        self.opened = opened
        super().__init__()


class CheckpointChosen(Message):
    """The person moved to a checkpoint. ``address`` is as ``show`` takes it; ``opened``: and wants to read it."""

    def __init__(self, session_id: str, address: str, *, opened: bool = False) -> None:
        self.session_id = session_id
        self.address = address
        self.opened = opened
        super().__init__()


class DeedMoved(Message):
    """Something that is being done has something new to show."""

    def __init__(self, deed: Deed) -> None:
        self.deed = deed
        super().__init__()
