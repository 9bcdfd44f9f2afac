"""Who may write a log: taking it, giving it back, and whose it is."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from lousho_cli.domain.times import stamp
from lousho_cli.errors import SessionBusyError
from lousho_cli.ports.log_store import Owner
from lousho_cli.stores.postgres.hand import NOW_MS, Hand
from lousho_cli.stores.postgres.postgres_claim import PostgresClaim
from lousho_cli.stores.postgres.presence import Presence
from lousho_cli.stores.postgres.schema import VERSION
from lousho_cli.stores.row_claim import Held

_GIVEN = "epoch = l.epoch + 1, owner = %s, grip = %s, host = %s, since = %s, ttl_ms = %s, offered_ms = 0, waits = false"
_TAKE = f"UPDATE {{s}}.logs AS l SET {_GIVEN} WHERE l.id = %s RETURNING l.no, l.epoch, l.head, l.synced"
_LOCKED = "SELECT no, epoch, head, synced, owner, grip, host, since, ttl_ms FROM {s}.logs WHERE id = %s FOR UPDATE"
_OF_TOKEN = f"SELECT pid, place, renewed_ms, {NOW_MS} FROM {{s}}.owners WHERE token = %s FOR UPDATE"
_GRIPPED = "SELECT no, epoch FROM {s}.logs WHERE id = %s AND owner = %s AND grip = %s"
_OWNED = "SELECT 1 FROM {s}.logs WHERE no = %s AND owner = %s AND epoch = %s"


class Taken(NamedTuple):
    """A log that is ours, and where it ended then."""

    held: Held
    head: int
    synced: int


class Taking:
    """One attempt at a log. Begun again after a lost connection, it knows what it took already by the mark it leaves.

    asked: whether the server may have heard of it.
    """

    def __init__(self, presence: Presence, log_id: str, host: str, ttl_ms: int) -> None:
        self._presence, self._id = presence, log_id
        self._grip = secrets.token_hex(8)
        self.asked = False
        self._values = (presence.token, self._grip, host, stamp(datetime.now(UTC)), ttl_ms)

    def __call__(self, hand: Hand) -> Taken:
        """Makes this process the owner of the log.

        Raises:
            SessionBusyError: another owner lives.
        """
        here = self._presence
        here.prepare(hand)
        self.asked = True
        ((*taken, version, least),) = hand.call("take_free", self._id, here.token, os.getpid(), here.place, *self._values[1:], VERSION)
        here.is_entered(hand, int(version), int(least))
        return self._taken(*map(int, taken)) if taken[0] is not None else self._from_owner(hand)

    def give_up(self, hand: Hand, channel: str) -> None:
        """Frees the log if this attempt took it after all. Where the server is still at it, as it waits for its standby, it waits too."""
        self._presence.write(hand)
        for no, epoch in hand.rows(_GRIPPED, (self._id, self._presence.token, self._grip)):
            give_back(hand, Held(no, self._presence.token, epoch), channel, keep_wake=True)

    def _taken(self, no: int, epoch: int, head: int, synced: int) -> Taken:
        return Taken(Held(no, self._presence.token, epoch), head, synced)

    def _from_owner(self, hand: Hand) -> Taken:
        """Its owner's row is locked too, so that a renewal that comes now waits, and then sees that it came too late."""
        with hand.transaction():
            ((no, epoch, head, synced, token, grip, host, since, ttl_ms),) = hand.rows(_LOCKED, (self._id,))
            if grip == self._grip:
                return Taken(Held(no, token, epoch), head, synced)
            for pid, place, renewed_ms, now_ms in hand.rows(_OF_TOKEN, (token,)) if token is not None else ():
                if not self._presence.is_gone(token, place) and now_ms < renewed_ms + ttl_ms:
                    raise SessionBusyError(self._id, Owner(host, pid, since, epoch).describe())
            return self._taken(*hand.rows(_TAKE, (*self._values, self._id))[0])  # it is locked


def living_owner(hand: Hand, presence: Presence, log_id: str) -> Owner | None:
    """Who owns a log; None where nobody does, its owner is dead or its time is up."""
    for host, since, epoch, ttl_ms, token, pid, place, renewed_ms, now_ms in hand.call("owner_of", log_id):
        if not presence.is_gone(token.decode(), place.decode()) and int(now_ms) < int(renewed_ms) + int(ttl_ms):
            return Owner(host.decode(), int(pid), since.decode(), int(epoch))
    return None


def is_owner(hand: Hand, held: Held) -> bool:
    """Whether a log is still ours."""
    return bool(hand.rows(_OWNED, held))


def require_owner(hand: Hand, claim: PostgresClaim) -> None:
    """Lets only an owner pass whose writer is alive.

    Raises:
        OwnershipLostError: the log is another's, or was given back.
        StorageError: an earlier write of this claim failed.
    """
    claim.require()
    if not is_owner(hand, claim.held):
        raise claim.lose()


def lost_among(hand: Hand, claims: Sequence[PostgresClaim]) -> set[PostgresClaim]:
    """Those of some claims whose logs others took."""
    ours = hand.rows(
        "SELECT no, epoch FROM {s}.logs WHERE no = ANY(%s) AND owner = ANY(%s)",
        ([claim.held.no for claim in claims], [claim.held.token for claim in claims]),
    )
    still = set(ours)
    return {claim for claim in claims if (claim.held.no, claim.held.epoch) not in still}


def give_back(
    hand: Hand, held: Held, channel: str, *, wake_at: str | None = None, due_ms: int | None = None, synced: int = 0, keep_wake: bool = False
) -> None:
    """Frees a log that is still ours.

    Args:
        wake_at: when it wants to be taken up; whoever waits for work is told. keep_wake: else the wake that was set stays.
        due_ms: when somebody should look at it; None leaves that as it is.
        synced: up to which seq it is known to be durable.
    """
    hand.call("give_back", *held, wake_at, keep_wake, due_ms, synced, channel)


def beat(hand: Hand, host_id: str, ttl_ms: int) -> None:
    """Says that a host with a stable id lives."""
    until = f"{NOW_MS} + %s"
    hand.run(
        f"INSERT INTO {{s}}.hosts (id, until_ms) VALUES (%s, {until}) ON CONFLICT (id) DO UPDATE SET until_ms = excluded.until_ms",
        (host_id, ttl_ms),
    )


def lives(hand: Hand, host_id: str) -> bool:
    """Whether a host said within its time that it lives."""
    return bool(hand.rows(f"SELECT 1 FROM {{s}}.hosts WHERE id = %s AND until_ms > {NOW_MS}", (host_id,)))
