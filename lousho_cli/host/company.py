"""What a thread is to others of its host: a lead that has agents run in the background, such an agent, or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lousho_cli.domain.session import Session

if TYPE_CHECKING:
    from lousho_cli.executor.run_agent import RunAgent
    from lousho_cli.host.thread import Thread


class Company:
    """That of a thread that stands alone: nobody hears of it."""

    lead: Thread | None = None
    """The thread that has this one run in the background."""

    @property
    def depth(self) -> int:
        """How many leads are above it."""
        return 0 if self.lead is None else self.lead.company.depth + 1

    def seen(self, thread: Thread, session: Session, *, anew: bool = False) -> None:
        """This host drives ``thread``, and its session is ``session`` now. ``anew``: somebody else changed an agent of it."""

    def dressed(self, thread: Thread, agent: RunAgent) -> RunAgent:
        """The agent of a turn of ``thread`` with what it may do because of this."""
        return agent

    async def idle(self, thread: Thread) -> None:
        """Returns once this host drives neither ``thread`` nor a background agent of it."""
        await thread.idle()

    async def rested(self, thread: Thread) -> None:
        """This host drives ``thread`` no more, for now. Never raises an ``SDKError``."""


ALONE = Company()
