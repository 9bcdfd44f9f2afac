"""What a person can do, one function each, plus wiring, config and agent files.

The only place that names concrete stores, providers and tools (``wiring``). ``cli`` and ``tui`` call these and nothing below.
"""
