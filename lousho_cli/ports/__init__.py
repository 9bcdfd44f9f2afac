"""Protocols only: what the inside asks of the outside.

Log store, checkpoint store, approval store, provider, tool, clock. Imports ``core``,
``domain`` and ``errors``; reads no clock and does no I/O. Each method says what it takes,
gives, raises and promises, and each promise has a test in ``tests/contracts``.
"""
