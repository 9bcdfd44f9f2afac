"""Sessions of others as ours, and ours in the forms of others.

``reading`` makes neutral values of what other agents have stored; ``writing`` makes text of a session; ``session_lines`` is the
one form that both know: our own log, a line a batch. Everything here is pure: bytes or lines in, values or text out. May import
core, domain and errors. Opens no file and no store.
"""
