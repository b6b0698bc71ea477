"""What the tests share: a scenario of two seconds, and its results."""

from __future__ import annotations

from typing import Any

import pytest

import hopflow

TINY: dict[str, Any] = {
    "name": "tiny",
    "about": "Two circuits.",
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
def tiny() -> dict[str, Any]:
    """A scenario that takes no time."""
    return TINY


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> hopflow.Results:
    """The results of that scenario."""
    return hopflow.run(TINY, out=tmp_path_factory.mktemp("results") / "tiny", progress=False)
