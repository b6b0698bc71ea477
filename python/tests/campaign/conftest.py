"""What the tests of campaigns share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SMALL: dict[str, Any] = {
    "name": "small",
    "about": "Two downloaders.",
    "duration": "2 s",
    "warm-up": "1 s",
    "seeds": 2,
    "transports": {"vanilla": {}, "backtap": {}},
    "network": {
        "bucket": {"rate": "1500 kB/s"},
        "relays": [{"name": "relay", "count": 3}],
    },
    "circuits": [
        {
            "count": 2,
            "path": ["relay", "relay"],
            "workload": {"class": "bulk", "response": "100 KiB"},
        }
    ],
}


@pytest.fixture(scope="session")
def small() -> dict[str, Any]:
    """A scenario of which a run takes a hundredth of a second."""
    return SMALL


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
