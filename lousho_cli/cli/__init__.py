"""The face at the terminal: parse, call one app function, show the value that comes back.

One command a file. Only ``output`` writes to stdout, only ``diagnostics`` to stderr, only ``exits`` maps errors to codes.
"""
