"""Adapters that a model may call: Python functions, command-line programs, the built-in ones.

May import ``ports``, ``core``, ``domain`` and ``errors``.
"""
