"""Adapters that keep logs: ``memory`` (the readable reference) and ``file``. None knows another.

May import ``ports``, ``core``, ``domain`` and ``errors``. No driver's exception leaves a store.
"""
