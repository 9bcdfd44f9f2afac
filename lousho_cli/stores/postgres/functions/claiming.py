"""Taking a log, giving it back, and whose it is."""

from __future__ import annotations

from lousho_cli.stores.postgres.functions.language import READS, WRITES
from lousho_cli.stores.postgres.hand import NOW_MS

# Takes a log that is nobody's, and renews the lease of who takes it, also where it is somebody's: then it gives no ``log``. Nothing is
# done where the tables are no longer for the version that whoever asks ``knows``. The log is locked before the lease, as everywhere.
# Awaited: a server that lost it in a crash would give its epoch again, and the number of a new log too, to another log of the same owner.
TAKE_FREE = f"""CREATE FUNCTION {{s}}.take_free(name text, by text, process bigint, spot text, mark text, on_host text, at text, ttl bigint,
        knows bigint) RETURNS TABLE (log bigint, under bigint, ends bigint, safe bigint, there bigint, lowest bigint) {WRITES} AS $$
    BEGIN
        SELECT coalesce(max(v.version), 0), coalesce(max(v.least), 0) INTO there, lowest FROM {{s}}.versions v;
        IF lowest <= knows THEN
            INSERT INTO {{s}}.logs AS l (id, epoch, owner, grip, host, since, ttl_ms) VALUES (name, 1, by, mark, on_host, at, ttl)
                ON CONFLICT (id) DO UPDATE SET epoch = l.epoch + 1, owner = by, grip = mark, host = on_host, since = at, ttl_ms = ttl,
                    offered_ms = 0, waits = false WHERE l.owner IS NULL
                RETURNING l.no, l.epoch, l.head, l.synced INTO log, under, ends, safe;
            INSERT INTO {{s}}.owners (token, pid, place, renewed_ms) VALUES (by, process, spot, {NOW_MS})
                ON CONFLICT (token) DO UPDATE SET renewed_ms = {NOW_MS};
        END IF;
        RETURN NEXT;
    END $$"""

# Frees a log that is still its owner's, and tells who waits for work where it wants to be taken up.
GIVE_BACK = f"""CREATE FUNCTION {{s}}.give_back(log bigint, by text, under bigint, wake text, keeps boolean, due bigint, safe bigint,
        channel text) RETURNS void {WRITES} AS $$
    DECLARE
        name text;
    BEGIN
        UPDATE {{s}}.logs SET owner = NULL, grip = NULL, host = NULL, since = NULL, ttl_ms = NULL,
            wake_at = coalesce(wake, CASE WHEN keeps THEN wake_at END), due_ms = coalesce(due, due_ms), waits = waits OR due IS NOT NULL,
            synced = greatest(synced, least(safe, head))
            WHERE no = log AND owner = by AND epoch = under RETURNING id, wake_at INTO name, wake;
        IF wake IS NOT NULL THEN PERFORM pg_notify(channel, name); END IF;
    END $$"""

OWNER_OF = f"""CREATE FUNCTION {{s}}.owner_of(name text) RETURNS TABLE (on_host text, begun text, under bigint, ttl bigint, holder text,
        process bigint, spot text, renewed bigint, now bigint) {READS} AS $$
    BEGIN
        SELECT l.host, l.since, l.epoch, l.ttl_ms, l.owner INTO on_host, begun, under, ttl, holder FROM {{s}}.logs l WHERE l.id = name;
        SELECT o.pid, o.place, o.renewed_ms, {NOW_MS} INTO process, spot, renewed, now FROM {{s}}.owners o WHERE o.token = holder;
        IF FOUND THEN RETURN NEXT; END IF;
    END $$"""
