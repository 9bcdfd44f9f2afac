"""Many runs, looked at as a set: model calls recorded and played again.

May import ports, core, domain, errors and the package's version. No store, no provider and no tool: those are handed in.
"""
