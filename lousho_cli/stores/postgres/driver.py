"""The driver, imported by what needs it; without it there is one sentence that says how to get it."""

from __future__ import annotations

from typing import Any

from lousho_cli.errors import ConfigurationError

INSTALL = "pip install 'lousho[postgres]'"

__all__ = ["INSTALL", "STATEMENT_S", "Connection", "Error", "Pool", "Row", "psycopg", "psycopg_pool"]

try:
    import psycopg
    import psycopg_pool
except ImportError as missing:
    raise ConfigurationError(
        f"a store in PostgreSQL needs the extra postgres ({missing.name or 'libpq'} is missing)",
        field="store",
        code="LOUSHO_EXTRA_MISSING",
        hint=f"Install it: {INSTALL}",
    ) from None

Error = psycopg.Error
Pool = psycopg_pool.ConnectionPool
Row = tuple[Any, ...]

STATEMENT_S = 30.0
"""How long one statement may take. A connection that says nothing for longer is given up: nobody may be at its other end."""


class Connection(psycopg.Connection[Row]):
    """A connection on which nothing waits for ever.

    limit_s: how long its next statements may take. given_up: the one it is at is being cancelled.
    """

    limit_s: float | None = None
    given_up = False

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        return super().wait(gen, interval, (self.limit_s or STATEMENT_S) if timeout is None else timeout)
