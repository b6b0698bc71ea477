"""Traces that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow.observer.traces import Visits, Watched

CIRCUITS, BINS, BIN_S = 40, 400, 0.05


def made_up(network: int, transport: str = "made-up") -> Watched:
    """A run whose entries show what leaves the exits a quarter of a second later, with noise.

    Every circuit has bursts of its own. Even circuits are bulk users, which never pause.
    """
    random = np.random.default_rng(network)
    far = np.zeros((CIRCUITS, 4, BINS), np.float32)
    for circuit in range(CIRCUITS):
        busy = random.random(BINS) < 0.3
        if circuit % 2 == 0:
            busy[:] = True
        far[circuit, 2] = busy * random.integers(20, 60, BINS)
    far[:, 3] = far[:, 2] * 498
    near = np.roll(far, 5, axis=2)
    near[:, 2:] *= random.uniform(0.9, 1.1, (CIRCUITS, 1, BINS)).astype(np.float32)
    near[:, :2] = near[:, 2:] / 20
    begin = np.tile([0, 150], CIRCUITS)
    circuit = np.repeat(np.arange(CIRCUITS), 2)
    return Watched(
        transport=transport,
        network=network,
        bin_s=BIN_S,
        traces={"entry": near, "exit": far},
        visits=Visits(circuit, circuit % 3, np.arange(len(circuit)) % 10, begin),
        bulk=np.arange(CIRCUITS) % 2 == 0,
    )


@pytest.fixture(scope="session")
def runs() -> list[Watched]:
    return [made_up(network) for network in range(1, 5)]
