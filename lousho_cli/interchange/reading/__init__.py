"""What other agents have stored, as neutral values and then as records of ours. One file a format.

``values`` are the neutral values; ``lines`` and ``fields`` read JSON that may be bad; ``chat``, ``blocks`` and ``items`` read the
three ways in which messages are written, which several formats share; ``transcribing`` makes records of what was read. Everything
is pure: lines come from an iterator that can be begun again, and nothing is opened here.
"""
