"""Adapters that ask a model: ``scripted`` (no network) and ``openai`` (any chat-completions server).

May import ``ports``, ``core``, ``domain`` and ``errors``. Each stands alone.
"""
