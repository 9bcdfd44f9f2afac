"""The records of what a person is asked: by a run that stops for it, or by code that goes on. Part of ``domain.records``."""

from __future__ import annotations

from typing import Any

import msgspec

from lousho_cli.domain.approvals import PendingApproval


class _Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    pass


class WaitOpened(_Record, frozen=True, gc=False, tag="lousho.wait_opened"):
    """The run waits for a person."""

    approval: PendingApproval


class WaitTaken(_Record, frozen=True, gc=False, tag="lousho.wait_taken"):
    """The approval was taken through an approval store alone; the mark of the session did not move."""

    id: str


class WaitAnswered(_Record, frozen=True, gc=False, tag="lousho.wait_answered"):
    """A person decided. ``args`` and ``digest`` are there only for an edit; ``post`` where the decision came through the inbox."""

    id: str
    approved: bool
    note: str | None = None
    args: Any = None
    digest: str | None = None
    by: str | None = None
    expired: bool = False
    at: str | None = None
    post: str | None = None


class WaitPutBack(_Record, frozen=True, gc=False, tag="lousho.wait_put_back"):
    """An approval that had been taken waits again: the agent that came to run it was refused."""

    id: str


class AskOpened(_Record, frozen=True, gc=False, tag="lousho.ask_opened"):
    """Running code asks a person and waits; its run goes on meanwhile. One asked in the same place before is forgotten.

    It stands with the lead, whichever agent's call it is of: ``approval.calls`` leads there, ``approval.step`` is its name.
    """

    approval: PendingApproval


class AskAnswered(_Record, frozen=True, gc=False, tag="lousho.ask_answered"):
    """A person answered what running code asked, or declined to, or the time was up.

    ``value``: checked against the schema of the question, as text where it has none. ``hidden``: it was a secret, and is ``[secret]`` here.
    """

    id: str
    approved: bool
    value: Any = None
    note: str | None = None
    by: str | None = None
    expired: bool = False
    hidden: bool = False
    post: str | None = None
