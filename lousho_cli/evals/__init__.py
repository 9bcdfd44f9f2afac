"""Many runs, looked at as a set: what a case is and what must hold, its results and reports; model calls recorded and played again.

May import pages, ports, core, domain, errors and the package's version. No store, no provider and no tool: those are handed in.
"""
