"""Appending to logs that must be ours and end where we know them to: whatever waits, in one statement.

It moves the end of each log that is as its owner knows it, and adds the lines of those alone. A log that did not move is asked
why: the lines stand there already, as the answer to an earlier try was lost; another took the log; or the server itself lost the
last ones, which it had not yet put on its disk, and they are sent again.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lousho_cli.core.trimming import require_base
from lousho_cli.domain.records import Batch
from lousho_cli.errors import SDKError, StorageError
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.logs import lines_of
from lousho_cli.stores.postgres.postgres_claim import Line, PostgresClaim
from lousho_cli.stores.postgres.wire import BINARY, NO, TEXT, YES, bigints, texts

_LOST = "The server lost what it had acknowledged, as a standby that was behind has. Look before you go on: lousho show {}"
_ONE_FORMS = (TEXT,) * 6
_SOME_FORMS = (*(BINARY,) * 6, TEXT)
_APPEND_ONE = "SELECT {s}.append_one($1, $2, $3, $4, $5, $6)"
_APPEND_SOME = "SELECT {s}.append_some($1, $2, $3, $4, $5, $6, $7)"
_STANDING = "SELECT owner, epoch, head FROM {s}.logs WHERE no = %s"
_STAND = """SELECT count(*) FROM unnest(%b::bigint[], %b::text[]) AS v (seq, line)
    JOIN {s}.records r ON r.no = %s AND r.seq = v.seq AND r.epoch = %s AND r.line = v.line"""
_TRIM = """WITH moved AS (
        UPDATE {s}.logs SET base = %s, head = %s, head_epoch = epoch, synced = %s, due_ms = 0
        WHERE no = %s AND owner = %s AND epoch = %s AND head = %s AND base < %s RETURNING no, epoch),
    dropped AS (DELETE FROM {s}.heads USING moved WHERE heads.no = moved.no),
    forgot AS (DELETE FROM {s}.snapshots USING moved WHERE snapshots.no = moved.no)
    INSERT INTO {s}.records AS r (no, seq, epoch, line) SELECT no, %s, epoch, %s FROM moved
    ON CONFLICT (no, seq) DO UPDATE SET epoch = excluded.epoch, line = excluded.line"""


class Append(msgspec.Struct, gc=False):
    """What is to be added to one log behind ``before``; with no lines, what was added before is made durable."""

    claim: PostgresClaim
    before: int
    lines: list[Line]
    durable: bool

    @property
    def after(self) -> int:
        return self.before + len(self.lines)


def append_all(hand: Hand, appends: Sequence[Append]) -> list[SDKError | None]:
    """Adds what is to be added, and says for each append what went wrong, None for nothing. No two are to the same log.

    Doing it again is the same as doing it once.
    """
    durable = any(append.durable for append in appends)
    outcome: list[SDKError | None] = [_allowed(append.claim) for append in appends]
    sent = [append for append, refused in zip(appends, outcome, strict=True) if refused is None]
    moved = _send(hand, sent, durable=durable)
    for index, append in enumerate(appends):
        if outcome[index] is not None:
            continue
        if append.claim.held.no not in moved:
            outcome[index] = _asked_why(hand, append)
        elif durable:
            append.claim.on_disk(append.after)
    return outcome


def _allowed(claim: PostgresClaim) -> SDKError | None:
    """Why a claim may not write, as far as this process knows."""
    try:
        claim.require()
    except SDKError as error:
        return error
    return None


def _send(hand: Hand, appends: Sequence[Append], *, durable: bool) -> set[int]:
    """The numbers of the logs that were as their owners know them."""
    if not appends:
        return set()
    if len(appends) == 1 and len(appends[0].lines) == 1:
        one, ((_, text),) = appends[0], appends[0].lines
        no, token, epoch = one.claim.held
        single = (b"%d" % no, token.encode(), b"%d" % epoch, b"%d" % one.before, text.encode(), YES if durable else NO)
        return {no} if hand.first(_APPEND_ONE, single, _ONE_FORMS) == [YES] else set()
    held = [append.claim.held for append in appends]
    values = (
        bigints([one.no for one in held]),
        texts([one.token for one in held]),
        bigints([one.epoch for one in held]),
        bigints([append.before for append in appends]),
        bigints([len(append.lines) for append in appends]),
        texts([text for append in appends for _, text in append.lines]),
        YES if durable else NO,
    )
    return {int(no) for no in hand.first(_APPEND_SOME, values, _SOME_FORMS)}


def _asked_why(hand: Hand, append: Append) -> SDKError | None:
    """Why a log did not move; None where the lines stand there after all."""
    claim = append.claim
    rows = hand.rows(_STANDING, (claim.held.no,))
    ours = bool(rows) and rows[0][:2] == (claim.held.token, claim.epoch)
    head = rows[0][2] if rows else 0
    if stand(hand, claim, append.lines) and (ours or append.lines) and head >= append.after:
        # What was sent before may have come without waiting for the disk: that is not known, so it is asked for.
        return None if not append.durable or not ours else _refused(hand, claim, [], head)
    if not ours:
        return claim.lose()
    lost = [line for line in claim.tail if head < line[0] <= append.before]
    if head >= claim.synced and len(lost) == append.before - head:
        return _refused(hand, claim, [*lost, *append.lines], head)
    detail = f"the log of session {claim.log_id} ends at {head} and not at {append.before}, as its owner knows it"
    return StorageError(detail, hint=_LOST.format(claim.log_id) if head < append.before else "")


def _refused(hand: Hand, claim: PostgresClaim, lines: list[Line], head: int) -> SDKError | None:
    """Adds lines behind ``head``, durably; the error where the log moved once more."""
    again = Append(claim, head, lines, durable=True)
    if not _send(hand, [again], durable=True):
        return claim.lose()
    claim.on_disk(again.after)
    return None


def stand(hand: Hand, claim: PostgresClaim, lines: Sequence[Line]) -> bool:
    """Whether lines are in the log, every one, as this claim wrote them."""
    values = ([line[0] for line in lines], [line[1] for line in lines], claim.held.no, claim.epoch)
    return not lines or hand.rows(_STAND, values)[0][0] == len(lines)


def trim(hand: Hand, claim: PostgresClaim, base: Batch, head: int) -> None:
    """Makes one batch the whole log, if it is ours and ends at ``head``. What stood before goes in small parts, see ``deleting``.

    Raises:
        OwnershipLostError: it is another's.
        StorageError: it does not end there.
    """
    claim.require()
    require_base(claim.log_id, base, head, claim.epoch)
    ((seq, line),) = lines_of((base,))
    values = (seq, seq, seq, *claim.held, head, seq + (seq == head), seq, line)
    if hand.run(_TRIM, values) or stand(hand, claim, ((seq, line),)):
        return
    rows = hand.rows(_STANDING, (claim.held.no,))
    if not rows or rows[0][:2] != (claim.held.token, claim.epoch):
        raise claim.lose()
    raise StorageError(f"the log of session {claim.log_id} does not end at {head}, as its owner knows it")
