"""The way in: ``lousho`` and ``python -m lousho_cli``.

``--version`` is answered here, before anything heavy is imported; all else is ``cli.main``.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as type checkers read it; --version must not wait for an import it does not need
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code. Never raises, never prints a traceback unless asked with ``-vv``.

    Args:
        argv: what stands behind the program's name; None means this process's own.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] == ["--version"]:
        from lousho_cli import __version__

        sys.stdout.write(f"lousho {__version__}\n")
        return 0
    try:
        from lousho_cli.cli.main import run

        return run(args)
    except KeyboardInterrupt:  # Ctrl-C before a command could begin: nothing was started, nothing needs saving
        return 130


if __name__ == "__main__":
    sys.exit(main())
