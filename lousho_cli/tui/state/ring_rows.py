"""The ring of a session as lines: its checkpoints newest first, what happened between them, and a plot of what it used. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from lousho_cli.app.ring import Ring, RingEntry
from lousho_cli.app.ring_marks import MarkKind, RingMark
from lousho_cli.tui.state.paging import number_of, size_of
from lousho_cli.tui.state.usage import about, money

Tone = Literal["good", "waits", "bad", "note", "plain", "runs", "faint"]

STATUS_SIGNS: dict[str, tuple[str, Tone, str]] = {
    "in-progress": ("○", "plain", "in progress"),
    "awaiting-approval": ("?", "waits", "waits"),
    "finished": ("✓", "good", "finished"),
}
"""By status: its sign, its tone, and its word."""

MARK_SIGNS: dict[MarkKind, tuple[str, Tone]] = {
    "run": ("▸", "note"),
    "crash": ("✗", "bad"),
    "takeover": ("⇄", "note"),
    "resume": ("↻", "note"),
    "stopped": ("■", "note"),
    "waits": ("?", "waits"),
    "approved": ("✓", "good"),
    "rejected": ("✗", "bad"),
    "expired": ("⌛", "bad"),
    "drift": ("≠", "waits"),
    "held": ("‖", "bad"),
    "retry": ("↺", "waits"),
    "repair": ("+", "note"),
    "note": ("·", "faint"),
    "abort": ("⊘", "bad"),
    "failed": ("✗", "bad"),
    "limit": ("▲", "bad"),
    "fork": ("⑂", "note"),
    "damage": ("!", "bad"),
    "newer": ("!", "waits"),
}
"""By kind of what happened: its sign and its tone. Its words stand beside it."""

_BARS = "▁▂▃▄▅▆▇█"


class Row(msgspec.Struct, frozen=True):
    """One checkpoint. ``name``: what is behind the ``@``, as short as it can be told apart; ``address``: what ``show`` takes.

    happened: what the lines below it say, each with its sign, newest first.
    """

    address: str
    name: str
    sign: str
    tone: Tone
    status: str
    added: str
    size: str
    tokens: str
    cost: str
    at: str
    happened: tuple[str, ...] = ()


class Line(NamedTuple):
    """A line of the ring: a checkpoint, the session as it stands now, or something that happened."""

    row: Row | None = None
    sign: str = ""
    text: str = ""
    tone: Tone = "plain"


def lines_of(ring: Ring) -> tuple[Line, ...]:
    """All lines, from now back to the oldest kept checkpoint.

    What happened before a checkpoint stands below it, newest first as everything here.
    """
    lines = [*_now(ring), *_marks(ring.open_marks)]
    several = len({entry.run for entry in ring.entries}) > 1
    numbers = {(entry.run, entry.entry.step) for entry in ring.entries if not entry.entry.address.endswith(".1")}
    for entry in ring.entries:
        lines.append(Line(row=_row(entry, several=several, numbered=(entry.run, entry.entry.step) in numbers)))
        lines.extend(_marks(entry.marks))
    if ring.entries and not _from_the_start(ring.entries[-1]):
        lines.append(Line(text=f"older ones are gone: the ring keeps {ring.limit}", sign="…", tone="faint"))
    return tuple(lines)


def _from_the_start(entry: RingEntry) -> bool:
    point = entry.entry.address.rpartition("@")[2]
    return point in {"1/1.1", "1/0.1"}


def _marks(marks: Sequence[RingMark]) -> list[Line]:
    return [Line(sign=MARK_SIGNS[mark.kind][0], text=mark.text, tone=MARK_SIGNS[mark.kind][1]) for mark in reversed(marks)]


def _now(ring: Ring) -> list[Line]:
    """What stands behind the newest checkpoint: who drives the session and what it is at, or that it was cut."""
    newest = ring.entries[0] if ring.entries else None
    moved = newest is None or bool(ring.writing or ring.running or ring.open_marks or ring.driven_by or ring.cut)
    if not moved:
        return []
    if ring.driven_by is not None:
        at = f"runs {', '.join(ring.running)}" if ring.running else "the model answers" if ring.writing else "goes on"
        return [_end(ring, "▶", "runs", at, ring.driven_by), *_drafted(ring)]
    if ring.cut:
        at = f"cut while {', '.join(ring.running)} ran" if ring.running else "cut while the model answered" if ring.writing else "cut"
        return [_end(ring, "✗", "bad", at, "nobody drives it"), *_drafted(ring)]
    if newest is None:
        return [_end(ring, "○", "plain", "no checkpoint yet", "")]
    return []


def _end(ring: Ring, sign: str, tone: Tone, said: str, who: str) -> Line:
    return Line(row=Row(ring.session, "now", sign, tone, said, who, "", "", "", ""))


def _drafted(ring: Ring) -> list[Line]:
    """The last line of the answer that is being written."""
    last = ring.writing.rstrip().rpartition("\n")[2]
    return [Line(sign="…", text=last[-400:], tone="faint")] if last else []


def _row(entry: RingEntry, *, several: bool, numbered: bool) -> Row:
    told = entry.entry
    sign, tone, word = STATUS_SIGNS[told.status]
    point = told.address.rpartition("@")[2]
    run, _, rest = point.partition("/")
    name = rest if numbered else rest.partition(".")[0]
    return Row(
        address=told.address,
        name=f"{run}/{name}" if several else name,
        sign=sign,
        tone="bad" if entry.failed and told.status == "in-progress" else tone,
        status=word,
        added=added(entry),
        size=size_of(told.bytes),
        tokens=number_of(entry.tokens) if entry.tokens is not None else "",
        cost=money(entry.cost_usd) if entry.cost_usd is not None else "",
        at=told.saved_at,
        happened=tuple(f"{one.sign} {one.text}" for one in _marks(entry.marks)),
    )


def added(entry: RingEntry) -> str:
    """What a checkpoint added, in words: the calls, the results, the text."""
    parts = []
    if entry.calls:
        parts.append(f"calls {_counted(entry.calls)}")
    fine = list(entry.results)
    for name in entry.failed:
        fine.remove(name)
    if fine:
        parts.append(f"result of {_counted(fine)}")
    if entry.failed:
        parts.append(f"error of {_counted(entry.failed)}")
    said = " ".join(entry.said[:400].split())
    if said:
        parts.append(f"“{said}”" if not parts else f"“{said[:80]}”")
    return ", ".join(parts) or "nothing new"


def _counted(names: Sequence[str]) -> str:
    counts = dict.fromkeys(names, 0)
    for name in names:
        counts[name] += 1
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())


class Plot(NamedTuple):
    """A small plot of the run's model calls, their sum, and the same in words."""

    bars: str
    sum: str
    said: str


def tokens_plot(ring: Ring, width: int) -> Plot | None:
    """Tokens a step, oldest left; None where no model was asked."""
    values = [step.total_tokens for step in ring.steps]
    if not values:
        return None
    top = max(range(len(values)), key=values.__getitem__)
    whole = about(sum(values), any(step.estimated for step in ring.steps))
    said = f"{whole} tokens"
    if len(values) > 1:
        said += f", most {number_of(values[top])} at step {ring.steps[top].step}"
    return Plot(sparkline(values, width), whole, said)


def cost_plot(ring: Ring, width: int) -> Plot | None:
    """Money a step; None where none of it is known."""
    values = [step.cost_usd for step in ring.steps]
    known = [value for value in values if value is not None]
    if not known or not any(known):
        return None
    total = money(sum(known)) + (" and more" if len(known) < len(values) else "")
    top = max(range(len(values)), key=lambda at: values[at] or 0.0)
    said = total + (f", most {money(values[top])} at step {ring.steps[top].step}" if len(values) > 1 else "")
    return Plot(sparkline([value or 0.0 for value in values], width), total, said)


def sparkline(values: Sequence[float], width: int) -> str:
    """Values as bars of block characters; of more than ``width`` the highest of each part is drawn, of few each is wide."""
    if len(values) > width > 0:
        values = [
            max(values[at * len(values) // width : max((at + 1) * len(values) // width, at * len(values) // width + 1)])
            for at in range(width)
        ]
    most = max(values, default=0)
    wide = 2 if len(values) * 2 <= width else 1
    return "".join((_BARS[min(int(value / most * 8), 7)] if most else _BARS[0]) * wide for value in values)
