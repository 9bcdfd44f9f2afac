"""Reading a log, and what is kept beside it."""

from __future__ import annotations

from lousho_cli.stores.postgres.functions.language import BY_INDEX, NOT_AWAITED, READS, WRITES

# Where the log ends, and the lines behind ``behind``, in one view of the database; of sixteen parts its own is read.
READ_LOG = f"""CREATE FUNCTION {{s}}.read_log(name text, behind bigint)
        RETURNS TABLE (at bigint, under bigint, safe bigint, line text) {READS} {BY_INDEX} AS $$
    DECLARE
        log bigint;
        begins bigint;
    BEGIN
        SELECT l.no, l.base, l.head, l.head_epoch, l.synced INTO log, begins, at, under, safe FROM {{s}}.logs l WHERE l.id = name;
        IF NOT FOUND THEN RETURN; END IF;
        RETURN NEXT;
        RETURN QUERY SELECT r.seq, NULL::bigint, NULL::bigint, r.line FROM {{s}}.records r
            WHERE r.no = log AND r.seq > behind AND r.seq >= begins ORDER BY r.seq;
    END $$"""

END_OF = f"""CREATE FUNCTION {{s}}.end_of(name text) RETURNS TABLE (at bigint, under bigint) {READS} AS $$
    BEGIN
        SELECT l.head, l.head_epoch INTO at, under FROM {{s}}.logs l WHERE l.id = name;
        IF FOUND THEN RETURN NEXT; END IF;
    END $$"""

SNAPSHOT_OF = f"""CREATE FUNCTION {{s}}.snapshot_of(name text) RETURNS TABLE (sum bigint, said text) {READS} AS $$
    DECLARE
        log bigint;
        ends bigint;
    BEGIN
        SELECT l.no, l.head INTO log, ends FROM {{s}}.logs l WHERE l.id = name;
        SELECT p.crc, p.state INTO sum, said FROM {{s}}.snapshots p WHERE p.no = log AND p.seq <= ends;
        IF FOUND THEN RETURN NEXT; END IF;
    END $$"""

# Of a log that is still its owner's; says whether it was. Not awaited: the records are there without it.
SAVE_SNAPSHOT = f"""CREATE FUNCTION {{s}}.save_snapshot(log bigint, by text, under bigint, at bigint, sum bigint, said text) RETURNS boolean
        {WRITES} AS $$
    BEGIN
        PERFORM 1 FROM {{s}}.logs l WHERE l.no = log AND l.owner = by AND l.epoch = under;
        IF NOT FOUND THEN RETURN false; END IF;
        INSERT INTO {{s}}.snapshots (no, seq, crc, state) VALUES (log, at, sum, said)
            ON CONFLICT (no) DO UPDATE SET seq = excluded.seq, crc = excluded.crc, state = excluded.state;
        {NOT_AWAITED}
        RETURN true;
    END $$"""

# The rows that ``heads`` goes by, of those sessions among ``names`` in which something stands.
HEADS_OF = f"""CREATE FUNCTION {{s}}.heads_of(names text[])
        RETURNS TABLE (name text, log bigint, wake text, begins bigint, ends bigint, sum bigint, said text) {READS} AS $$
    BEGIN
        FOREACH name IN ARRAY names LOOP
            SELECT l.no, l.wake_at, l.base, l.head INTO log, wake, begins, ends FROM {{s}}.logs l WHERE l.id = name AND l.head > 0;
            CONTINUE WHEN NOT FOUND;
            SELECT h.crc, h.head INTO sum, said FROM {{s}}.heads h WHERE h.no = log;
            RETURN NEXT;
        END LOOP;
    END $$"""
