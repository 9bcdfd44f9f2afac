"""The tables of a store, and the numbered steps that lead to them.

    logs       a session: its number, the highest epoch ever, up to which seq a flush made it durable, who owns it, and its
               cached head, so that a list reads one table
    batches    its log; the key is the log's number in the upper bits and the seq in the lower 24; ``durable`` where the commit
               that brought it was synced. The rows lie as they came, so that a commit of many sessions writes a few pages at
               the end: ordered by key, each row would be put between two logs and the pages around it divided again,
               measured 35 KB written for a row of one
    snapshots  a cache
    posts      what others left for the owner
    owners     the processes that own something, with the time of their lease; and, as ``host:`` and its id, without a
               boot, hosts with a stable id: until when what they said last holds, in ms since 1970
    checkpoint_history, records    views, for people with a SQL shell

A step runs once, whoever opens the file first, and is never changed after a release.
"""

from __future__ import annotations

import sqlite3

APPLICATION_ID = 0x6C6F7573
"""Says in the header of a file that it is ours."""

_TABLES = (
    """CREATE TABLE logs (
        no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL DEFAULT 0, synced INTEGER NOT NULL DEFAULT 0,
        owner TEXT, host TEXT, since TEXT, ttl_ms INTEGER, wake_at TEXT, followed_ms INTEGER, head_crc INTEGER, head TEXT)""",
    "CREATE TABLE batches (key INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, durable INTEGER NOT NULL, line TEXT NOT NULL)",
    "CREATE TABLE snapshots (no INTEGER PRIMARY KEY, seq INTEGER NOT NULL, crc INTEGER NOT NULL, state TEXT NOT NULL)",
    "CREATE TABLE posts (no INTEGER NOT NULL, n INTEGER NOT NULL, id TEXT NOT NULL, post TEXT NOT NULL, PRIMARY KEY (no, n)) WITHOUT ROWID",
    "CREATE TABLE owners (token TEXT PRIMARY KEY, pid INTEGER NOT NULL, boot TEXT NOT NULL, renewed_ms INTEGER NOT NULL) WITHOUT ROWID",
)

_VIEWS = (
    """CREATE VIEW records AS
        SELECT logs.id AS session_id, batches.key & 4294967295 AS seq, json_extract(line, '$.at') AS at, batches.epoch AS epoch,
            record.key AS n, json_extract(record.value, '$.type') AS type, record.value AS record
        FROM logs
        JOIN batches ON batches.key BETWEEN logs.no << 32 AND (logs.no << 32) + 4294967295
        JOIN json_each(CASE WHEN json_valid(line) THEN line ELSE '{}' END, '$.records') AS record""",
    # The ring: the marks a base brought along and those behind it, without the ones a later mark's limit dropped.
    """CREATE VIEW checkpoint_history AS
        WITH bases AS (
            SELECT session_id, max(seq) AS seq, record FROM records WHERE type IN ('lousho.base', 'lousho.forked') GROUP BY session_id),
        marks AS (
            SELECT session_id, json_extract(mark.value, '$.seq') AS seq, 0 AS behind, mark.key AS n,
                json_extract(mark.value, '$.at') AS saved_at, mark.value AS payload, NULL AS ring
            FROM bases JOIN json_each(record, '$.state.marks') AS mark
            UNION ALL
            SELECT records.session_id, records.seq, 1, n, at, records.record, coalesce(json_extract(records.record, '$.limit'), 50)
            FROM records LEFT JOIN bases ON bases.session_id = records.session_id
            WHERE type = 'lousho.mark' AND records.seq >= coalesce(bases.seq, 0)),
        numbered AS (SELECT *, row_number() OVER (PARTITION BY session_id ORDER BY behind, seq, n) AS place FROM marks),
        dropped AS (SELECT session_id, max(place - ring) AS upto FROM numbered GROUP BY session_id)
        SELECT numbered.session_id AS session_id, json_extract(payload, '$.step') AS step,
            coalesce(json_extract(payload, '$.status'), 'in-progress') AS status, saved_at,
            json_extract(payload, '$.finish_reason') AS finish_reason, json_extract(payload, '$.approval_id') AS approval_id, seq, payload
        FROM numbered JOIN dropped ON dropped.session_id = numbered.session_id
        WHERE place > coalesce(upto, 0)""",
)

_HOSTS = ("CREATE TABLE hosts (id TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) WITHOUT ROWID",)

_BY_ARRIVAL = (
    "DROP VIEW checkpoint_history",
    "DROP VIEW records",
    "ALTER TABLE batches RENAME TO batches_by_key",
    """CREATE TABLE batches (
        n INTEGER PRIMARY KEY, key INTEGER NOT NULL, epoch INTEGER NOT NULL, durable INTEGER NOT NULL, line TEXT NOT NULL)""",
    # A log of more batches than the new key can count would make it null, which is refused: the file then stays as it was.
    """INSERT INTO batches (key, epoch, durable, line)
        SELECT CASE WHEN key & 4294967295 <= 16777215 THEN (key >> 32) << 24 | (key & 4294967295) END, epoch, durable, line
        FROM batches_by_key ORDER BY batches_by_key.key""",
    "DROP TABLE batches_by_key",
    "CREATE UNIQUE INDEX batches_key ON batches (key)",
    _VIEWS[0].replace("4294967295", "16777215").replace("<< 32", "<< 24"),
    _VIEWS[1],
    "INSERT INTO owners (token, pid, boot, renewed_ms) SELECT 'host:' || id, 0, '', until_ms FROM hosts",
    "DROP TABLE hosts",  # so a small file is not larger than it was before the index
)

MIGRATIONS = (_TABLES, _VIEWS, _HOSTS, _BY_ARRIVAL)
"""The steps, in order; ``user_version`` counts those a file has behind it."""

VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Takes the steps behind ``version``. The caller has begun the transaction that they are one of.

    Raises:
        sqlite3.Error: nothing of it counts.
    """
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
