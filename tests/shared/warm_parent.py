"""A process that has the package imported, and forks one process for each request: what ``warm_process`` talks to.

    python warm_parent.py DESCRIPTOR

A request is a JSON text and three descriptors for stdin, stdout and stderr. Each child gets out of ``next_request`` with one
and becomes what ``python WORDS`` would have been: its own working folder, environment, streams, ``sys.argv`` and ``sys.path``, and
``__main__`` run anew. It comes to its end at the end of this file, so the interpreter prints tracebacks, waits for threads, runs what
was registered for the exit and flushes as ever. What differs from a cold start is that modules are in memory already, that Typer
has read the commands, and that nothing is taken apart in the end, object by object, which costs ten times as much as the fork.
Tests of what a start loads, of what it costs, and of an exit's last words are cold ones.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib.util
import io
import json
import os
import pkgutil
import signal
import socket
import sys
import time
import types
from typing import Any

import typer.main
import typer_once

LIMIT = 150_000
"""Bytes of a request: what one packet takes."""

LEFT_COLD = ("lousho_cli.__main__", "lousho_cli.tui", "lousho_cli.tools.mcp", "lousho_cli.app.demos")
"""What is not imported here: it is run as a program, is heavy, or reads the world when it is imported, as ``typer.rich_utils`` does."""

IMPORTED_LATE = (
    "concurrent.futures.thread getpass platformdirs.unix rich.console rich.live rich.markdown rich.table typer._click.decorators"
)
"""What commands import only when they need it, and need often."""

PR_SET_PTRACER, ANY = 0x59616D61, -1


def warm_up() -> None:
    """Imports the package, and with it all that it imports. A module whose extra is not installed stays away."""
    import lousho_cli

    for name in IMPORTED_LATE.split():
        importlib.import_module(name)
    for found in pkgutil.walk_packages(lousho_cli.__path__, "lousho_cli."):
        if not found.name.startswith(LEFT_COLD):
            try:
                importlib.import_module(found.name)
            except ImportError:
                pass
    typer_once.read_commands_once()
    typer.main.get_command(importlib.import_module("lousho_cli.cli.main").build())
    gc.collect()
    gc.freeze()  # so that a collection in a child does not copy every page


def next_request(server: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Answers requests for ever; returns in each child, with what it is to become.

    The child belongs to who asked: it is forked twice, and the one between ends before it goes on, so that the nearest
    subreaper above, which the asker is for that moment, becomes its parent.
    """
    while True:
        said, descriptors, _, _ = socket.recv_fds(server, LIMIT, 3)
        if not said:
            os._exit(0)
        between = os.fork()
        if not between:
            between, child = os.getpid(), os.fork()
            if child:
                server.send(str(child).encode())
                os._exit(0)
            while os.getppid() == between:
                os.sched_yield()
            return json.loads(said), descriptors
        os.waitpid(between, 0)
        for descriptor in descriptors:
            os.close(descriptor)
        server.send(b"it is yours")


def begin(request: dict[str, Any], descriptors: list[int]) -> None:
    """Takes on the streams, the folder and the environment, and stops itself where it is to be traced."""
    if request["own_session"]:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(number, getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if request["held"]:
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_long(ANY), 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)


def _stream(number: int, like: Any) -> io.TextIOWrapper:
    """A stream over a descriptor, as the interpreter opens it at its start."""
    unbuffered = like.write_through  # as PYTHONUNBUFFERED wants it
    binary = open(number, "rb" if number == 0 else "wb", 0 if unbuffered else -1, closefd=False)  # noqa: SIM115
    raw = binary if unbuffered else binary.raw
    raw.name = like.name
    line_buffering = not unbuffered and (number == 2 or raw.isatty())
    newline = None if number == 0 else "\n"
    stream = io.TextIOWrapper(binary, like.encoding, like.errors, newline, line_buffering, unbuffered)
    stream.mode = like.mode
    return stream


def main_of(words: list[str]) -> tuple[Any, types.ModuleType]:
    """The code to run and the module to run it in, for ``-m MODULE``, ``-c CODE`` or a file; sets ``sys.argv`` and ``sys.path``."""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    kind, rest = words[0], words[1:]
    if kind == "-m":
        spec = importlib.util.find_spec(f"{rest[0]}.__main__")
        assert spec is not None and spec.origin is not None
        main.__spec__, main.__package__, main.__file__ = spec, rest[0], spec.origin
        sys.argv, sys.path[0] = [spec.origin, *rest[1:]], os.getcwd()
        return spec.loader.get_code(spec.name), main  # type: ignore[union-attr]
    if kind == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        return compile(rest[0], "<string>", "exec"), main
    main.__file__ = kind
    sys.argv, sys.path[0] = [kind, *rest], os.path.dirname(os.path.abspath(kind))
    with open(kind, "rb") as file:
        return compile(file.read(), kind, "exec"), main


class Exit:
    """The last thing that a child does at its exit: it ends there and then, once its status is known and its words are out."""

    def __init__(self) -> None:
        self.status: int | None = None
        atexit.register(self._leave)  # before all others, so that it is called behind all others

    def note(self, error: BaseException) -> None:
        if isinstance(error, SystemExit):
            self.status = 0 if error.code is None else error.code & 0xFF if isinstance(error.code, int) else 1
        elif not isinstance(error, KeyboardInterrupt):  # of which the interpreter dies by the signal itself
            self.status = 1

    def _leave(self) -> None:
        if self.status is None:
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
        except OSError:  # the interpreter meets it too, and says so
            return
        os._exit(self.status)


if __name__ == "__main__":
    end = Exit()
    server = socket.socket(fileno=int(sys.argv[1]))
    warm_up()
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests and their processes
    wanted, handed = next_request(server)
    signal.signal(signal.SIGINT, interrupted)
    os.close(server.detach())
    begin(wanted, handed)
    code, module = main_of(wanted["words"])
    try:
        exec(code, module.__dict__)
        end.status = 0
    except BaseException as error:
        end.note(error)
        raise
