"""One command a file: its parameters, one call of ``app``, how the answer is shown, its exit code.

Nothing heavy is imported at the top: every command's module is loaded for ``--help``.
"""
