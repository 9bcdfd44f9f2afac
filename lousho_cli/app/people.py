"""Who is at this terminal, as records name them."""

from __future__ import annotations


def login_name() -> str | None:
    """The login name of who runs this process; None where the system knows none."""
    import getpass

    from lousho_cli.domain.plain import text_of

    try:
        return text_of(getpass.getuser())
    except (OSError, KeyError):  # no such user in the system's table: a container often has none
        return None
