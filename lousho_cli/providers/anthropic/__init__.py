"""The Messages wire: Anthropic's own, and every server that imitates it.

Out: ``request`` writes a transcript as turns (``turns``) of blocks (``parts``), with calls as this wire allows them (``calls``).
In: ``stream`` folds events into ``blocks`` and those into one answer. ``native`` is both: an answer that our own fields do not hold.
"""
