"""Tools that a server of the Model Context Protocol offers, over standard input and output or over HTTP.

``opening`` is the way in. ``spec``, ``names``, ``approval``, ``elicitation`` and ``results`` are pure and load nothing of the
official SDK, which takes longer to import than everything else together: the other modules do, and are imported
only when an agent uses a server. May import what ``tools`` may.
"""
