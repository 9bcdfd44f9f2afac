"""What each kind of statement costs a server, as ``simulate.py --calibrate`` measured it."""

from __future__ import annotations

import msgspec


class Costs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Microseconds of one processor of the server, summed over all its processes, unless a line says else.

    renew: the lease of a host. claim: taking a session of a few records, with all that is read for it. step: the appends of a
    model turn with one call and its 1 KiB result; ``commits`` of them wait for the disk. rest: everything else about driving a
    session, from being found to being given back. posted: looking for the sessions for which anything was left.
    post: leaving something, with its notification, and no listener. told: one listener that is told.
    find: asking for work where there is none; per_found: each session that is found. tidy: freeing what dead owners hold where none
    does; per_owner: each living one that is looked at for it, with a session that it drives.
    flush: a commit's wait for the disk, of which no processor is used.
    """

    renew: float = 440.0
    claim: float = 1050.0
    step: float = 640.0
    commits: float = 2.0
    rest: float = 3300.0
    posted: float = 170.0
    post: float = 350.0
    told: float = 6.7
    find: float = 255.0
    per_found: float = 100.0
    tidy: float = 280.0
    per_owner: float = 2.1
    flush: float = 1000.0


MEASURED = Costs()
"""On 2026-11-30, PostgreSQL 18 and a Xeon of which the server had 2 processors together with its client: the mean of three times, most
of which were up to a third apart. Two are not from there: ``flush``, where it was 130, is that of a disk in a network; and ``rest``
was 3810 before a host made five calls less, which took 100 each. Measured again beside other work, it was a fifth to two fifths less.
"""
