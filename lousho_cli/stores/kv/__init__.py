"""Checkpoints and approvals in Cloudflare Workers KV, or in any object that gets, puts and deletes text by key.

``namespace`` asks such an object (awaits it, asks again when it is busy), ``rest`` is one over Cloudflare's REST
API, ``checkpoints`` and ``approvals`` say which keys hold what, ``store`` puts both together. Imports ``ports``,
``core``, ``domain`` and ``errors``; no other store.
"""
