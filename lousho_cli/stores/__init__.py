"""Adapters that keep logs, ``memory`` (the readable reference), ``file`` and ``sqlite``, or checkpoints alone: ``checkpoint_files``,
``local_storage`` and ``kv``. None knows another, but that ``checkpoint_files`` writes its files as ``file`` does.

May import ``ports``, ``core``, ``domain`` and ``errors``. No driver's exception leaves a store.
"""
