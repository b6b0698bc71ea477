"""Sessions for tests: made-up ones, and the published ones where they are."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hopflow.traffic.step import Step


def made_up(count: int, seed: int = 0) -> list[Step]:
    """Pages whose numbers and sizes of objects depend on each other."""
    rng = np.random.default_rng(seed)
    steps = []
    for _ in range(count):
        richness = rng.standard_normal()
        objects = int(np.clip(np.rint(30 * np.exp(0.5 * richness)), 2, 160))
        sizes = np.exp(8 + richness + rng.standard_normal(objects))
        first = int(np.exp(9 + 0.5 * rng.standard_normal()))
        uploads = (100,) * int(rng.integers(0, 3))
        steps.append(Step(first, tuple(int(size) + 1 for size in sizes), uploads))
    return steps


@pytest.fixture(scope="session")
def steps() -> list[Step]:
    return made_up(300)


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of the published models."""
    folder = os.environ.get("HOPFLOW_DATA")
    if folder is None or not (Path(folder) / "tgen.protocol.http.model.graphml.xml.xz").exists():
        pytest.skip("HOPFLOW_DATA names no folder with the published models of Tor's traffic")
    return Path(folder)
