"""``--cassette FILE``: a run whose model calls are recorded to a file, or played from it."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lousho_cli.app.wiring import current_folder
from lousho_cli.domain.session import Session
from lousho_cli.errors import CassetteError, CassetteMismatchError, ConfigurationError
from lousho_cli.ports.provider import Provider

if TYPE_CHECKING:
    from lousho_cli.evals.tape import Tape


def open_tape(name: str | None, session: Session | None) -> Tape | None:
    """The cassette that was named, None where none was. What it begins with says ``evals.tape``.

    Args:
        session: the session the run goes on with, None for a new one.

    Raises:
        ConfigurationError: the name is empty, or a setting is not valid.
        CassetteError: the file can not be used.
    """
    if name is None:
        return None
    if not name.strip():
        raise ConfigurationError("--cassette is empty", field="--cassette", code="LOUSHO_USAGE", hint="Name a file, or leave it out.")
    from lousho_cli.app.redacting import taking_out_of_cassettes
    from lousho_cli.evals.tape import Tape

    path = current_folder() / Path(name).expanduser()
    return Tape(path, goes_on=session is not None and session.exists, stays_open=True, clean=taking_out_of_cassettes())


def taped(provider: Provider, tape: Tape | None) -> Provider:
    """The provider with its calls on a cassette, where there is one."""
    if tape is None:
        return provider
    from lousho_cli.evals.cassette import CassetteProvider

    return CassetteProvider(provider, tape)


def what_it_does(tape: Tape | None) -> tuple[str, ...]:
    """What a person is told of a cassette before the run."""
    if tape is None:
        return ()
    if not tape.plays:
        return (f"recording the model's answers to {tape.path}",)
    held = f"{tape.plays} recorded call{'' if tape.plays == 1 else 's'}"
    if tape.records:
        return (f"going on with {tape.path}: it holds {held}, and what comes behind is recorded",)
    return (f"replaying {held} of {tape.path}; no model is asked",)


def in_own_words(failure: Exception) -> Exception:
    """What a run failed of; a cassette that did not fit says what to do about it on a command line."""
    if isinstance(failure, CassetteMismatchError):
        failure.hint = f"If that is meant, record again: delete {failure.path} and run the command with --cassette once more."
    return failure


def option_of(name: str | None) -> str:
    """What the command that goes on from here needs to use the same cassette."""
    return f" --cassette {shlex.quote(name)}" if name else ""


async def finish_tape(tape: Tape | None, tell: Callable[[str], None]) -> None:
    """The run has finished: the cassette is closed. One that can not be written spoils no run that succeeded."""
    if tape is None:
        return
    try:
        await tape.complete()
    except CassetteError as error:
        tell(str(error))
