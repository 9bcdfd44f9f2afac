"""One server as this process has it open: a pool of connections, the threads that use them, and what is tried again.

An operation may be begun again on another connection when the one it used is lost, so each is written such that doing it
twice, or finding it done, comes to the same. What is found done may have been cut off while the server waited for its standby: so
whatever is acknowledged writes or locks a row again on a second try, and its commit waits for all before it.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import random
from typing import Any, TypeVar

from lousho_cli.domain.no_thread import no_thread
from lousho_cli.errors import StorageError
from lousho_cli.stores.postgres.address import Address
from lousho_cli.stores.postgres.driver import Connection, Error, Pool, psycopg, psycopg_pool
from lousho_cli.stores.postgres.errors import NO_STORE, breaks, may_pass, nobody_there, not_yet, storage_error
from lousho_cli.stores.postgres.hand import Hand
from lousho_cli.stores.postgres.schema import VERSION, known_version, migrate
from lousho_cli.stores.threads import on_thread, started

T = TypeVar("T")
Operation = Callable[[Hand], T]

PATIENCE_S = 15.0
"""How long an operation is tried again while the server is away; all together, as one that was away so long is not waited for by each."""

BRIEFLY_S = 2.0
"""How long the very first connection is tried again where nobody answers: as long as a server is away that is started anew. Longer would
only keep a person waiting who named a wrong address.
"""

_LEAST_S = 0.5

_FIRST_S, _LONGEST_S = 0.02, 1.0
_CANCEL_S = 2.0
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it would say on stderr is said by our errors


class Database:
    """The server at an address. Reading never makes a table."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._opening = threading.RLock()  # the collector may close the store within anything
        self._pool: Pool[Connection] | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._version = 0
        self._first_tried: float | None = None
        self._away: tuple[float, float] | None = None  # when it was found away first, and last
        self._closed = False
        self.settings: dict[str, Any] = {
            "autocommit": True,
            "prepare_threshold": 5 if address.prepare else None,
            **defaults(address.url),
        }

    async def run(self, operation: Operation[T], *, writes: bool = True) -> T:
        """Carries an operation out, on a thread where there is an event loop to keep free. Raises like ``now``."""
        return await self.aside(partial(self.now, operation, writes=writes))

    async def aside(self, work: Callable[[], T]) -> T:
        """Does what asks the server, on a thread where there is an event loop to keep free. Once begun it is done, whoever is cancelled."""
        import asyncio

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return work()  # driven without an event loop, there is nobody to hold up
        return await on_thread(self._executor(), work)

    async def read(self, operation: Operation[T], nothing: T) -> T:
        """``run`` for what only reads; ``nothing`` where there are no tables."""
        return await self.run(partial(self._or_nothing, operation, nothing), writes=False)

    def look(self, operation: Operation[T], nothing: T, *, patience_s: float = PATIENCE_S, limit_s: float | None = None) -> T:
        """``read``, on this thread, and as patient as ``now`` is told to be."""
        return self.now(partial(self._or_nothing, operation, nothing), writes=False, patience_s=patience_s, limit_s=limit_s)

    def _or_nothing(self, operation: Operation[T], nothing: T, hand: Hand) -> T:
        try:
            return operation(hand)
        except NO_STORE as error:
            self._version = 0
            # A newer version may have put other tables in their place: that is not nothing.
            if known_version(hand) and isinstance(error, psycopg.errors.UndefinedFunction):
                return operation(hand)  # they were made in this moment, or are not as this version makes them
            return nothing

    def now(self, operation: Operation[T], *, writes: bool = True, patience_s: float = PATIENCE_S, limit_s: float | None = None) -> T:
        """Carries an operation out on this thread; again, on another connection, where one was lost.

        Args:
            writes: whether the tables are made where they are missing. patience_s: for how long it is begun again.
            limit_s: how long each of its statements may take, ``STATEMENT_S`` where that is None.

        Raises:
            StorageError: the server can not be reached, or refused.
            LogVersionError: a newer version made the tables into what this one does not know.
        """
        begun, pause = time.monotonic(), _FIRST_S
        ends = max(self._away_since(begun) + patience_s, begun + min(patience_s, _LEAST_S))
        while True:
            try:
                done = self._once(operation, writes=writes, within_s=max(ends - time.monotonic(), _LEAST_S), limit_s=limit_s)
            except Error as error:
                if error.sqlstate is None:
                    now = time.monotonic()
                    self._away = (self._away_since(now), now)
                if not may_pass(error) or time.monotonic() + pause > ends:
                    raise storage_error(self.address, error if limit_s else self._reason(error)) from None
            else:
                self._away = None
                return done
            time.sleep(pause * (0.5 + random() / 2))  # noqa: S311 - so that those who wait do not come back together
            pause = min(pause * 2, _LONGEST_S)

    def _away_since(self, now: float) -> float:
        first, last = self._away or (now, now)
        return first if now - last < PATIENCE_S else now

    def _once(self, operation: Operation[T], *, writes: bool, within_s: float, limit_s: float | None) -> T:
        pool = self._pool or self._open()
        connection = pool.getconn(min(within_s, _LONGEST_S))
        connection.limit_s = limit_s
        try:
            hand = Hand(connection, self.address.schema)
            self._prepare(hand, writes=writes)
            return operation(hand)
        except Error as error:
            if isinstance(error, NO_STORE):
                self._version = 0  # the tables went: what stands there now is looked at before anything else
            if breaks(error):
                self._give_up(pool, connection)
            raise
        except BaseException:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.close()
            raise
        finally:
            if not connection.given_up:
                _put_back(pool, connection)

    def _give_up(self, pool: Pool[Connection], connection: Connection) -> None:
        """Closes a connection. What the server still does for it is cancelled first: it would go on for nobody, and hold what it holds."""
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.ACTIVE:
            connection.close()
            return
        connection.given_up = True
        cancel = partial(_cancel, pool, connection)
        try:
            started(cancel, "lousho-cancel")
        except StorageError:
            cancel()

    def _prepare(self, hand: Hand, *, writes: bool) -> None:
        """Sees once that the tables are what this version works with; makes them where something is to be written."""
        if self._version >= VERSION:
            return
        version = known_version(hand)
        if version < VERSION and writes:
            with self._opening:
                self._migrate(hand, version)
            version = VERSION
        self._version = version

    def _migrate(self, hand: Hand, version: int) -> None:
        try:
            migrate(hand)
        except psycopg.errors.InsufficientPrivilege:
            there = f"version {version} of the tables" if version else "no tables"
            detail = (
                f"{self.address.shown}: there is {there} in the schema {hand.schema}, and this user may not bring it to version {VERSION}"
            )
            raise StorageError(detail, hint="Do it once as a user who may: lousho worker --once") from None

    def _open(self) -> Pool[Connection]:
        """Opens the pool. The first connection is made here: so a wrong password is told at once, not after trying for long."""
        with self._opening:
            if self._closed:
                raise StorageError(f"the store {self.address.shown} was closed", hint="Make a new one to go on.")
            if self._pool is None:
                self._connect().close()
                pool = Pool(
                    self.address.url,
                    connection_class=Connection,
                    kwargs=self.settings,
                    min_size=0,
                    max_size=self.address.connections,
                    max_idle=60.0,
                    reconnect_timeout=0.1,  # the pool's own pauses grow to many seconds; ours do not
                    num_workers=2,
                    open=False,
                )
                try:
                    pool.open()
                except RuntimeError as error:
                    pool.close(timeout=0)
                    raise no_thread(StorageError, error) from error
                self._pool = pool
            return self._pool

    def _connect(self) -> Connection:
        if self._first_tried is None:
            self._first_tried = time.monotonic()
        try:
            return Connection.connect(self.address.url, **self.settings)
        except Error as error:
            if not_yet(error) or (nobody_there(error) and time.monotonic() - self._first_tried < BRIEFLY_S):
                raise  # a moment more, and it is there
            raise storage_error(self.address, error) from None

    def _reason(self, error: Error) -> Error:
        """Why the pool gave no connection: it does not say."""
        if not isinstance(error, psycopg_pool.PoolTimeout):
            return error
        try:
            Connection.connect(self.address.url, **self.settings).close()
        except Error as reason:
            return reason
        return error

    def _executor(self) -> ThreadPoolExecutor:
        with self._opening:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self.address.connections - 2, "lousho-postgres")
            return self._threads

    def close(self) -> None:
        """Closes every connection."""
        with self._opening:
            self._closed = True
            pool, self._pool, threads, self._threads = self._pool, None, self._threads, None
        if threads is not None:
            threads.shutdown(wait=False)
        if pool is not None:
            pool.close(timeout=2.0)

    def abandon(self) -> Any:
        """In a forked child: forgets what is the parent's, and gives it, to be kept."""
        kept, self._pool, self._threads = (self._pool, self._threads), None, None
        return kept


def _cancel(pool: Pool[Connection], connection: Connection) -> None:
    with contextlib.suppress(Error):
        connection.cancel_safe(timeout=_CANCEL_S)
    connection.close()
    _put_back(pool, connection)


def _put_back(pool: Pool[Connection], connection: Connection) -> None:
    with contextlib.suppress(Error):
        pool.putconn(connection)


def defaults(url: str) -> dict[str, Any]:
    """What we want of a connection where its address does not say: an end to waiting for a server that is gone, and one that writes."""
    try:
        said = psycopg.conninfo.conninfo_to_dict(url)
    except Error:
        return {}  # connecting says what is wrong with it
    ours: dict[str, Any] = {"connect_timeout": 10, "tcp_user_timeout": 10_000, "keepalives_idle": 10, "keepalives_interval": 5}
    ours |= {"keepalives_count": 3, "client_encoding": "utf8", "application_name": "lousho"}
    if "," in f"{said.get('host', '')}{said.get('hostaddr', '')}":
        ours["target_session_attrs"] = "read-write"
    said.pop("client_encoding", None)  # what is sent is UTF-8, whatever anybody likes better
    return {name: value for name, value in ours.items() if name not in said}
