"""Durable sessions: a host that owns threads, takes their inputs, and goes on with what another host left.

    host        create_harness_host: opens sessions, looks after them, finds work nobody drives
    harness     define_harness: an agent and how its runs live on
    session     the handle an application holds
    thread      one thread on this host: owns its log while there is work, and gives it back

Stands on ``executor`` and may import it and everything below.
"""
