"""What the tests of campaigns share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def small(tiny: dict[str, Any]) -> dict[str, Any]:
    """A scenario of which a run takes a hundredth of a second."""
    return {**tiny, "name": "small", "about": "Two downloaders."}


@pytest.fixture(scope="session")
def content() -> Callable[[str | Path], dict[str, str]]:
    """What tells the files of a data set, with hashes of their bytes."""
    return _content


def _content(url: str | Path) -> dict[str, str]:
    folder = Path(url)
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "data").rglob("*"))
        if path.is_file()
    }
