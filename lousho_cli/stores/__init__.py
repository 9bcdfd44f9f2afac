"""Adapters that keep logs, ``memory`` (the readable reference), ``file``, ``sqlite`` and ``postgres``, or checkpoints alone:
``checkpoint_files``, ``local_storage`` and ``kv``. None knows another, but that ``checkpoint_files`` writes its files as ``file`` does.

What several of them mean alike is said once beside them: ``viewed`` and ``lease`` for all that keep logs; ``row_claim``,
``lease_keeper``, ``row_scan``, ``rows`` and ``forked`` for the two databases.

May import ``ports``, ``core``, ``domain`` and ``errors``. No driver's exception leaves a store.
"""
