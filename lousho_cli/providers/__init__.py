"""Adapters that ask a model: ``scripted`` (no network), and over HTTP ``chat``, ``responses`` and ``anthropic``.

``wire`` holds what those over HTTP share. May import ``ports``, ``core``, ``domain`` and ``errors``. Each stands alone.
"""
