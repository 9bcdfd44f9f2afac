"""Adding to logs: of one batch to one log, or of whatever else waits."""

from __future__ import annotations

from lousho_cli.stores.postgres.functions.language import NOT_AWAITED, WRITES

_AS_ASKED = f"IF NOT durable THEN {NOT_AWAITED} END IF;"

# Moves the end of a log that is as its owner knows it, and adds the line; says whether it was.
APPEND_ONE = f"""CREATE FUNCTION {{s}}.append_one(log bigint, by text, under bigint, behind bigint, line text, durable boolean)
        RETURNS boolean {WRITES} AS $$
    BEGIN
        UPDATE {{s}}.logs SET head = behind + 1, head_epoch = under, synced = CASE WHEN durable THEN behind + 1 ELSE synced END, due_ms = 0
            WHERE no = log AND owner = by AND epoch = under AND head = behind;
        IF NOT FOUND THEN RETURN false; END IF;
        INSERT INTO {{s}}.records VALUES (log, behind + 1, under, line);
        {_AS_ASKED}
        RETURN true;
    END $$"""

# The same for several logs, of which each gets as many of the lines as ``counts`` says, in order; gives the numbers of those that moved.
APPEND_SOME = f"""CREATE FUNCTION {{s}}.append_some(numbers bigint[], holders text[], epochs bigint[], behind bigint[], counts bigint[],
        lines text[], durable boolean) RETURNS SETOF bigint {WRITES} AS $$
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
        {_AS_ASKED}
    END $$"""
