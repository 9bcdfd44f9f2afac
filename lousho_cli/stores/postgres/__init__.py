"""The log store in a PostgreSQL database, shared by the hosts of many machines. Needs the extra ``postgres``.

May import ``ports``, ``core``, ``domain``, ``errors`` and what stands beside it in ``stores``, but no other store. The driver is
``psycopg`` with its pool, in its blocking form on threads of the store: so one store object serves any event loop, several, or
none, and a lease is renewed however busy a loop is. None of the driver's exceptions leaves this package.

Every statement stands by itself, so all of it works through a pooler that gives each transaction another connection.
"""
