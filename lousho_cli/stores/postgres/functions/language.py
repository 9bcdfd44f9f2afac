"""In what the functions are written, and how their statements are planned.

One plan does for all values, made for none of them in particular, and reads no table whole; nothing is compiled for it. What a
statement means does not depend on where the caller's search path leads.
"""

from __future__ import annotations

# A small table without a fitting index is read whole all the same, at a price that says never: up to version 17 a server compiles for that.
_PLANNED = "SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off"

WRITES = f"LANGUAGE plpgsql {_PLANNED}"
"""Each of its statements sees what was done until it began."""

READS = f"LANGUAGE plpgsql STABLE {_PLANNED}"
"""All of its statements see the same moment."""

BY_INDEX = "SET enable_bitmapscan = off"
"""What a partial index finds is also read in its order, however little there was when that was planned."""

NOT_AWAITED = "PERFORM set_config('synchronous_commit', 'off', true);"
"""Nobody waits until what was done is on the disk: a server that crashes may lose it, but nothing that was done behind it without it."""
