"""The log store in one SQLite file, shared by the processes of one machine.

May import ``ports``, ``core``, ``domain``, ``errors`` and what stands beside it in ``stores``, but no other store.
Only the standard library's driver is used, and none of its exceptions leaves this package.
"""
