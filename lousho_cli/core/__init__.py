"""What happens next, as pure functions over frozen values.

fold: records to session. decide: session to effects. Around them what both need: the gate of
a call, recognition of input, fork, comparison, fingerprint, retry. Imports ``domain`` and
``errors`` only; facts come in as arguments, nothing is read, awaited or drawn.
"""
