"""Where the store and the configuration are found: up from here, never past home, never another user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from lousho_cli.app import places


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "outside" / "home"
    (home / "project" / "deep").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return home


def test_the_nearest_store_above_is_found(home: Path) -> None:
    (home / ".lousho").mkdir()
    (home / "project" / ".lousho").mkdir()
    assert places.find_store_folder(home / "project" / "deep") == home / "project" / ".lousho"


def test_home_is_the_last_folder_looked_at(home: Path) -> None:
    (home.parent / ".lousho").mkdir()
    assert places.find_store_folder(home / "project") is None
    (home / ".lousho").mkdir()
    assert places.find_store_folder(home / "project") == home / ".lousho"


def test_a_mount_point_is_the_last_folder_looked_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".lousho").mkdir()
    real = Path.stat

    class Elsewhere:
        st_dev = -1

    monkeypatch.setattr(Path, "stat", lambda self, **options: Elsewhere() if self == home else real(self, **options))
    assert places.find_store_folder(home / "project" / "deep") is None


def test_the_store_of_another_user_is_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "project" / ".lousho").mkdir()
    monkeypatch.setattr("os.geteuid", lambda: -1)
    assert places.find_store_folder(home / "project") is None


def test_a_file_named_so_is_no_store(home: Path) -> None:
    (home / "project" / ".lousho").write_text("")
    assert places.find_store_folder(home / "project") is None


def test_the_hidden_configuration_comes_before_the_open_one(home: Path) -> None:
    project = home / "project"
    (project / "lousho.toml").write_text("")
    assert places.find_project_file(project / "deep") == project / "lousho.toml"
    (project / ".lousho").mkdir()
    (project / ".lousho" / "config.toml").write_text("")
    assert places.find_project_file(project / "deep") == project / ".lousho" / "config.toml"
    assert places.base_of(project / ".lousho" / "config.toml") == places.base_of(project / "lousho.toml") == project
