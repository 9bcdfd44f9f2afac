"""What is left for the owner of a session."""

from __future__ import annotations

from lousho_cli.stores.postgres.functions.language import READS, WRITES
from lousho_cli.stores.postgres.hand import NOW_MS

# Leaves a post, and tells who listens in the same moment; says whether it is new. A session that is given to nobody for a while, as there
# was nothing to do, is given again.
PUT_POST = f"""CREATE FUNCTION {{s}}.put_post(name text, post_id text, said text, channel text) RETURNS boolean {WRITES} AS $$
    DECLARE
        log bigint;
    BEGIN
        INSERT INTO {{s}}.logs AS l (id, due_ms) VALUES (name, 0) ON CONFLICT (id) DO UPDATE
            SET due_ms = 0, offered_ms = CASE WHEN l.offered_ms > {NOW_MS} THEN 0 ELSE l.offered_ms END RETURNING l.no INTO log;
        INSERT INTO {{s}}.posts (no, id, post) VALUES (log, post_id, said) ON CONFLICT (no, id) DO NOTHING;
        IF NOT FOUND THEN RETURN false; END IF;
        PERFORM pg_notify(channel, name);
        RETURN true;
    END $$"""

INBOX_OF = f"""CREATE FUNCTION {{s}}.inbox_of(name text) RETURNS TABLE (number bigint, said text) {READS} AS $$
    DECLARE
        log bigint;
    BEGIN
        SELECT l.no INTO log FROM {{s}}.logs l WHERE l.id = name;
        RETURN QUERY SELECT p.n, p.post FROM {{s}}.posts p WHERE p.no = log ORDER BY p.n;
    END $$"""

# In one order, whoever asks: so that of two who remove the same none waits for the other and is waited for.
# Awaited: a wish to stop that came back with a server that crashed would stop the next run.
DISCARD = f"""CREATE FUNCTION {{s}}.discard(name text, post_ids text[]) RETURNS void {WRITES} AS $$
    DECLARE
        log bigint;
        post_id text;
    BEGIN
        SELECT l.no INTO log FROM {{s}}.logs l WHERE l.id = name;
        FOR post_id IN SELECT unnest(post_ids) ORDER BY 1 LOOP
            DELETE FROM {{s}}.posts p WHERE p.no = log AND p.id = post_id;
        END LOOP;
    END $$"""
