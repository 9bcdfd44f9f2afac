"""Putting a log to rest."""

from __future__ import annotations

from lousho_cli.stores.postgres.functions.language import NOT_AWAITED, WRITES
from lousho_cli.stores.postgres.hand import NOW_MS

# A log that rests is looked at by nobody before its time, so what was left for it must not be overlooked. Its row is locked first: a post
# that comes in the same moment, which writes that row too, is there for the second statement to see, or comes behind and says so.
# Unless it is to wake later its time is over on the clock of the server, whatever that of the host says.
# Not awaited: one that was put to rest for nothing is looked at once more.
REST_OWN = f"""CREATE FUNCTION {{s}}.rest_own(log bigint, by text, under bigint, at bigint, due bigint, later boolean, beside text,
        sum bigint, said text) RETURNS void {WRITES} AS $$
    BEGIN
        PERFORM 1 FROM {{s}}.logs WHERE no = log AND owner = by AND epoch = under AND head = at FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN; END IF;
        IF EXISTS (SELECT 1 FROM {{s}}.posts WHERE posts.no = log) THEN due := 0; later := false; END IF;
        IF NOT later AND due IS NOT NULL THEN due := least(due, {NOW_MS}); END IF;
        UPDATE {{s}}.logs SET due_ms = due, waits = later, lane = beside WHERE no = log;
        INSERT INTO {{s}}.heads (no, crc, head) VALUES (log, sum, said)
            ON CONFLICT (no) DO UPDATE SET crc = excluded.crc, head = excluded.head;
        {NOT_AWAITED}
    END $$"""
REST_FREE = f"""CREATE FUNCTION {{s}}.rest_free(log bigint, was_due bigint, at bigint, due bigint) RETURNS void {WRITES} AS $$
    BEGIN
        PERFORM 1 FROM {{s}}.logs WHERE no = log AND due_ms = was_due AND owner IS NULL AND head = at FOR NO KEY UPDATE;
        IF FOUND AND NOT EXISTS (SELECT 1 FROM {{s}}.posts WHERE posts.no = log) THEN
            UPDATE {{s}}.logs SET due_ms = due WHERE no = log;
            {NOT_AWAITED}
        END IF;
    END $$"""
