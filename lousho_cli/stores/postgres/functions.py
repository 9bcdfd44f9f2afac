"""What is done on the server by a function: an append, of one batch of one log or of whatever else waits, and putting a log to rest.

The server plans what stands in a function once for a connection, also behind a pooler that bears no prepared statements; planned anew
each time, the same two statements cost it two to four times as much. A plan that was made while there were few logs must do for a
million, so it may not be one that reads them all. A function is never changed after a release: what a later version needs has another
name, so that an older one goes on beside it.
"""

from __future__ import annotations

from lousho_cli.stores.postgres.hand import NOW_MS

_LANGUAGE = "LANGUAGE plpgsql SET enable_seqscan = off"
_NOT_AWAITED = "IF NOT durable THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;"

# Moves the end of a log that is as its owner knows it, and adds the line; says whether it was.
_ONE = f"""CREATE FUNCTION {{s}}.append_one(log bigint, by text, under bigint, behind bigint, line text, durable boolean) RETURNS boolean
    {_LANGUAGE} AS $$
    BEGIN
        UPDATE {{s}}.logs SET head = behind + 1, head_epoch = under, synced = CASE WHEN durable THEN behind + 1 ELSE synced END, due_ms = 0
            WHERE no = log AND owner = by AND epoch = under AND head = behind;
        IF NOT FOUND THEN RETURN false; END IF;
        INSERT INTO {{s}}.records VALUES (log, behind + 1, under, line);
        {_NOT_AWAITED}
        RETURN true;
    END $$"""

# The same for several logs, of which each gets as many of the lines as ``counts`` says, in order; gives the numbers of those that moved.
_SOME = f"""CREATE FUNCTION {{s}}.append_some(numbers bigint[], holders text[], epochs bigint[], behind bigint[], counts bigint[],
        lines text[], durable boolean) RETURNS SETOF bigint {_LANGUAGE} AS $$
    DECLARE
        line bigint := 0;
    BEGIN
        FOR i IN 1 .. cardinality(numbers) LOOP
            UPDATE {{s}}.logs SET head = behind[i] + counts[i],
                head_epoch = CASE WHEN counts[i] > 0 THEN epochs[i] ELSE head_epoch END,
                synced = CASE WHEN durable THEN behind[i] + counts[i] ELSE synced END,
                due_ms = CASE WHEN counts[i] > 0 THEN 0 ELSE due_ms END
                WHERE no = numbers[i] AND owner = holders[i] AND epoch = epochs[i] AND head = behind[i];
            IF FOUND THEN
                FOR k IN 1 .. counts[i] LOOP
                    INSERT INTO {{s}}.records VALUES (numbers[i], behind[i] + k, epochs[i], lines[line + k]);
                END LOOP;
                RETURN NEXT numbers[i];
            END IF;
            line := line + counts[i];
        END LOOP;
        {_NOT_AWAITED}
    END $$"""

# A log that rests is looked at by nobody before its time, so what was left for it must not be overlooked. Its row is locked first: a post
# that comes in the same moment, which writes that row too, is there for the second statement to see, or comes behind and says so.
# Unless it is to wake later its time is over on the clock of the server, whatever that of the host says.
_REST_OWN = f"""CREATE FUNCTION {{s}}.rest_own(log bigint, by text, under bigint, at bigint, due bigint, later boolean, beside text,
        sum bigint, said text) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
        PERFORM 1 FROM {{s}}.logs WHERE no = log AND owner = by AND epoch = under AND head = at FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN; END IF;
        IF EXISTS (SELECT 1 FROM {{s}}.posts WHERE posts.no = log) THEN due := 0; later := false; END IF;
        IF NOT later AND due IS NOT NULL THEN due := least(due, {NOW_MS}); END IF;
        UPDATE {{s}}.logs SET due_ms = due, waits = later, lane = beside WHERE no = log;
        INSERT INTO {{s}}.heads (no, crc, head) VALUES (log, sum, said)
            ON CONFLICT (no) DO UPDATE SET crc = excluded.crc, head = excluded.head;
    END $$"""
_REST_FREE = """CREATE FUNCTION {s}.rest_free(log bigint, was_due bigint, at bigint, due bigint) RETURNS void
        LANGUAGE plpgsql SET enable_seqscan = off AS $$
    BEGIN
        PERFORM 1 FROM {s}.logs WHERE no = log AND due_ms = was_due AND owner IS NULL AND head = at FOR NO KEY UPDATE;
        IF FOUND AND NOT EXISTS (SELECT 1 FROM {s}.posts WHERE posts.no = log) THEN
            UPDATE {s}.logs SET due_ms = due WHERE no = log;
        END IF;
    END $$"""

FUNCTIONS = (_ONE, _SOME, _REST_OWN, _REST_FREE)
"""The statements that make them."""

APPEND_ONE = "SELECT {s}.append_one($1, $2, $3, $4, $5, $6)"
APPEND_SOME = "SELECT {s}.append_some($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7)"
REST_OWN = "SELECT {s}.rest_own(%s, %s, %s, %s, %s, %s, %s, %s, %s)"
REST_FREE = "SELECT {s}.rest_free(%s, %s, %s, %s)"
"""What calls them."""
