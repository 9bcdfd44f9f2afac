"""Drives one session: fold, decide, perform, append; hooks; one writer a log; the public AgentExecutor.

May import ``ports``, ``core``, ``domain``, ``errors`` and, of the adapters, ``stores.memory`` alone.
"""
