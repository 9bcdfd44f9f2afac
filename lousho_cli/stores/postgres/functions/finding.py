"""Finding sessions that somebody should drive. What it finds, and in which order, is said in ``pending``."""

from __future__ import annotations

from lousho_cli.stores.postgres.functions.language import BY_INDEX, NOT_AWAITED, WRITES
from lousho_cli.stores.postgres.hand import NOW_MS

AT_ONCE = 500
"""How many rows at most are freed or woken by one call."""

FREE = "l.owner IS NULL AND l.due_ms IS NOT NULL AND NOT l.waits"
"""What the index of those that are due and free holds."""

# First, what waited until now waits no more. Then each lane is stepped to by the index. What another was given meanwhile is seen only
# where its row is locked, so what it must be is said there again. More are looked at than are wanted, as those who ask in the same moment
# pass over each other's. What to do without is looked up by its hash: compared one by one, ten thousand took more than a second. A time
# that is over for the server or for whoever asks is over. The first row says how far it went: the last lane in ``beside`` and how many
# there were in ``log``.
# Not awaited: what was offered before a crash is offered again.
FIND_WORK = f"""CREATE FUNCTION {{s}}.find_work(behind text, most_lanes bigint, wider bigint, most bigint, due bigint, offer bigint,
        without text[], strange text[]) RETURNS TABLE (name text, log bigint, was_due bigint, beside text, posted boolean, wake text,
        begins bigint, ends bigint, sum bigint, said text) {WRITES} {BY_INDEX} AS $$
    DECLARE
        over bigint := greatest(due, {NOW_MS});
        now bigint := {NOW_MS};
        lanes bigint := 0;
        these bigint[];
        picked bigint[] := '{{}}';
        starts bigint[] := '{{}}';
        many bigint[] := '{{}}';
        longest bigint := 0;
        looked bigint := 0;
    BEGIN
        FOR log IN SELECT l.no FROM {{s}}.logs l WHERE l.owner IS NULL AND l.due_ms IS NOT NULL AND l.waits AND l.due_ms <= due
                ORDER BY l.due_ms LIMIT {AT_ONCE} FOR UPDATE SKIP LOCKED LOOP
            UPDATE {{s}}.logs SET waits = false WHERE no = log;
        END LOOP;
        beside := behind;
        WHILE lanes < most_lanes LOOP
            SELECT l.lane INTO name FROM {{s}}.logs l WHERE {FREE} AND l.lane > beside ORDER BY l.lane LIMIT 1;
            EXIT WHEN NOT FOUND;
            beside := name;
            lanes := lanes + 1;
            CONTINUE WHEN EXISTS (SELECT 1 FROM unnest(strange) AS s (ends) WHERE right(beside, length(s.ends)) = s.ends);
            these := ARRAY(SELECT d.no FROM (
                SELECT l.no, l.due_ms FROM {{s}}.logs l WHERE {FREE} AND l.lane = beside AND l.due_ms <= over
                    AND l.offered_ms < now - offer AND l.id NOT IN (SELECT unnest(without))
                    ORDER BY l.due_ms LIMIT wider) d ORDER BY d.due_ms, d.no);
            CONTINUE WHEN cardinality(these) = 0;
            starts := starts || cardinality(picked)::bigint;
            many := many || cardinality(these)::bigint;
            longest := greatest(longest, cardinality(these));
            picked := picked || these;
        END LOOP;
        name := NULL;
        log := lanes;
        RETURN NEXT;
        <<choosing>>
        FOR turn IN 1 .. longest LOOP
            FOR n IN 1 .. cardinality(many) LOOP
                CONTINUE WHEN turn > many[n];
                EXIT choosing WHEN most <= 0 OR looked >= wider;
                looked := looked + 1;
                UPDATE {{s}}.logs g SET offered_ms = {NOW_MS} WHERE g.no = (
                    SELECT l.no FROM {{s}}.logs l WHERE l.no = picked[starts[n] + turn] AND {FREE} AND l.due_ms <= over
                        AND l.offered_ms < now - offer FOR UPDATE SKIP LOCKED)
                    RETURNING g.id, g.no, g.due_ms, g.lane, g.wake_at, g.base, g.head INTO name, log, was_due, beside, wake, begins, ends;
                CONTINUE WHEN NOT FOUND;
                most := most - 1;
                posted := EXISTS (SELECT 1 FROM {{s}}.posts p WHERE p.no = log);
                SELECT h.crc, h.head INTO sum, said FROM {{s}}.heads h WHERE h.no = log;
                RETURN NEXT;
            END LOOP;
        END LOOP;
        {NOT_AWAITED}
    END $$"""

# Frees what dead owners hold: those whose time is over, and those in ``gone``. The row of an owner is locked meanwhile, as for who takes
# one of its logs: so a renewal that comes now sees that it came too late. Gives how many owners drove something lately, and for each free
# log that never rested, and so has no lane, its id and where it ends.
FREE_DEAD = f"""CREATE FUNCTION {{s}}.free_dead(gone text[], due bigint) RETURNS TABLE (name text, ends bigint) {WRITES} {BY_INDEX} AS $$
    DECLARE
        one record;
        log bigint;
        now bigint := {NOW_MS};
    BEGIN
        FOR one IN SELECT o.token, now - CASE WHEN o.token = ANY(gone) THEN 0 ELSE o.renewed_ms END AS silent FROM {{s}}.owners o
                WHERE EXISTS (SELECT 1 FROM {{s}}.logs l WHERE l.owner = o.token
                    AND l.ttl_ms <= now - CASE WHEN o.token = ANY(gone) THEN 0 ELSE o.renewed_ms END OFFSET 0)
                FOR NO KEY UPDATE SKIP LOCKED LOOP
            FOR log IN SELECT l.no FROM {{s}}.logs l WHERE l.owner = one.token AND l.ttl_ms <= one.silent
                    LIMIT {AT_ONCE} FOR UPDATE SKIP LOCKED LOOP
                UPDATE {{s}}.logs l SET owner = NULL, grip = NULL, host = NULL, since = NULL, ttl_ms = NULL WHERE l.no = log;
            END LOOP;
        END LOOP;
        SELECT count(*) INTO ends FROM {{s}}.owners o WHERE o.renewed_ms > now - 600000;
        RETURN NEXT;
        RETURN QUERY SELECT l.id, l.head FROM {{s}}.logs l WHERE {FREE} AND l.lane = '-' AND l.due_ms <= due LIMIT {AT_ONCE};
    END $$"""
