"""Files that others see complete or not at all."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hopflow import _files


def test_many_write_a_file_at_the_same_time_and_it_is_whole(tmp_path: Path) -> None:
    contents = [bytes([number]) * 100_000 for number in range(8)]
    path = tmp_path / "a" / "file"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(_files.replace, [path] * 8, contents))
    assert path.read_bytes() in contents
    assert list(path.parent.iterdir()) == [path]


def test_of_many_who_create_a_file_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    _files.create(path, b"first")
    _files.create(path, b"second")
    assert path.read_bytes() == b"first"

    def without_links(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", without_links)
    _files.create(path, b"second")
    _files.create(tmp_path / "other", b"other")
    assert path.read_bytes() == b"first"
    assert {found.name for found in tmp_path.iterdir()} == {"file", "other"}
