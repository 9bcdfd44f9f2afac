"""Which machine and which boot this is, and a clock that goes on while the machine sleeps."""

from __future__ import annotations

import os
import sys
import time
from functools import cache


@cache
def machine_id() -> str:
    """The same for every process of this machine (of this container, where it has a host name of its own)."""
    identity = ""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(path, "rb") as file:
                identity = file.read().decode(errors="replace").strip()
            break
        except OSError:
            continue  # not every system has one; the node name stands alone then
    return f"{os.uname().nodename}/{identity}"


@cache
def boot_id() -> str:
    """Other after each start of the machine."""
    if sys.platform == "darwin":
        import subprocess

        asked = subprocess.run(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, text=True, check=False)
        return asked.stdout.strip()
    with open("/proc/sys/kernel/random/boot_id", "rb") as file:
        return file.read().decode().strip()


def due_now() -> str:
    """A wake for whoever comes next: the time it is, as records have it."""
    from datetime import UTC, datetime

    from lousho_cli.domain.times import stamp

    return stamp(datetime.now(UTC))


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def steady() -> float:
    """Seconds that never go back and count the time a laptop was closed."""
    return time.clock_gettime(_CLOCK)
