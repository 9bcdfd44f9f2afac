"""What the configuration files say, raw. Without pydantic, because ``list`` asks for the store on its way to the first line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lousho_cli.app.places import base_of, find_project_file, user_file
from lousho_cli.errors import ConfigurationError


def read_file(file: Path) -> dict[str, Any]:
    """The table of a TOML file; {} when there is no such file.

    Raises:
        ConfigurationError: it is no TOML, or can not be read.
    """
    if not file.is_file():
        return {}
    import tomllib

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = 'Mend it there; a setting is a line such as: store = "sessions"'
        raise ConfigurationError(f"{file} is no valid TOML: {error}", field=str(file), hint=hint) from error
    except OSError as error:
        raise ConfigurationError(f"{file} can not be read: {error.strerror}", field=str(file), hint="Check its permissions.") from error


def layers(start: Path) -> list[tuple[str, Path, dict[str, Any]]]:
    """The files in force, nearest first, each as (kind, path, table); kind is ``project file`` or ``user file``."""
    found = [("user file", user_file())]
    project = find_project_file(start)
    if project is not None:
        found.insert(0, ("project file", project))
    return [(kind, file, table) for kind, file in found if (table := read_file(file))]


def store_setting(start: Path) -> tuple[str, str, Path] | None:
    """The store that a file names, as (url, kind, file), or None. A relative path starts from the file's folder.

    Raises:
        ConfigurationError: ``store`` is no text.
    """
    for kind, file, table in layers(start):
        if "store" in table:
            url = table["store"]
            if not isinstance(url, str) or not url:
                raise ConfigurationError(
                    f"{file}: store must be text", field="store", hint='Write a path or a store URL in quotes: store = "sqlite:agents.db"'
                )
            return against(url, base_of(file)), kind, file
    return None


def against(url: str, folder: Path) -> str:
    """A store URL with a relative path made absolute, starting from ``folder``; any other stays."""
    from lousho_cli.app.store_urls import kind_of

    return str(folder / Path(url).expanduser()) if kind_of(url) == "path" else url
