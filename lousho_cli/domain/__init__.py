"""Frozen values and their codec: messages, usage, records, checkpoints, approvals, the folded session.

Imports only ``errors`` and msgspec. Nothing here reads a clock, a file or a random number.
"""
