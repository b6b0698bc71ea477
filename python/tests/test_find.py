"""Where data files are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopflow import HopflowError
from hopflow._data import find
from hopflow.experiments import Options


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that `HOPFLOW_DATA` names, beside a cache that is empty."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("HOPFLOW_DATA", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_a_file_is_found_where_the_argument_the_variable_or_the_cache_has_it(
    named: Path, tmp_path: Path
) -> None:
    cached, own = tmp_path / "cache" / "hopflow", tmp_path / "own"
    for folder in (cached, named / "below", own):
        folder.mkdir(parents=True)
        (folder / "it.xz").write_text("")
        expected = folder / "it.xz"
        assert find("it.xz", own if folder == own else None) == expected


def test_an_argument_leaves_no_other_place(named: Path, tmp_path: Path) -> None:
    (named / "it.xz").write_text("")
    with pytest.raises(HopflowError, match=r"it\.xz is missing; looked in \S*own and"):
        find("it.xz", tmp_path / "own")


def test_a_missing_file_is_told_with_all_places(named: Path) -> None:
    with pytest.raises(HopflowError, match=r"it\.xz is missing; looked in \S*data, \S*hopflow and"):
        find("it.xz", None)


@pytest.mark.parametrize("below", [".", "deeper"])
def test_traffic_and_images_are_found_alike(named: Path, below: str) -> None:
    pytest.importorskip("jax")
    from hopflow.adversarial.data import mnist
    from hopflow.traffic import data

    folder = named / below
    folder.mkdir(exist_ok=True)
    for name in (data.HTTP_FILE, "train-images-idx3-ubyte"):
        (folder / name).write_bytes(b"neither traffic nor images")
    with pytest.raises(HopflowError, match=rf"{folder / data.HTTP_FILE} cannot be read"):
        data.load()
    with pytest.raises(HopflowError, match=rf"{folder / 'train-images-idx3-ubyte'}"):
        mnist()


def test_recorded_pages_are_found_where_the_variable_says(named: Path) -> None:
    experiment = pytest.importorskip("hopflow.observer.experiment")
    path = named / experiment.scenarios.PAGES
    path.write_bytes(b"")
    assert experiment._pages(Options(named / "out")) == path
