"""What users do: steps of a session, such as a page load."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Floats of one, two or more dimensions.
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Step:
    """A page load, or a group of files: all sizes in bytes."""

    #: What is fetched first and alone: the page itself, or the first file.
    first: int
    #: What is fetched then: the objects of the page, or further files.
    objects: tuple[int, ...]
    #: What is sent beside requests: the bodies of POST requests, or data for peers.
    uploads: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """All bytes that are fetched."""
        return self.first + sum(self.objects)


@dataclass(frozen=True, slots=True)
class Split:
    """Sessions to fit on, to stop by, and to judge with; no session is in two of them."""

    train: tuple[Step, ...]
    valid: tuple[Step, ...]
    test: tuple[Step, ...]


#: The seed of the split that all models and tables of hopflow use.
SPLIT_SEED = 20180101


def split(sessions: list[Step], seed: int = SPLIT_SEED) -> Split:
    """Divides sessions at random: 70 % to fit, 15 % to stop by, 15 % to judge with."""
    order = np.random.default_rng(seed).permutation(len(sessions))
    train_end = round(0.7 * len(sessions))
    valid_end = train_end + round(0.15 * len(sessions))
    parts = (order[:train_end], order[train_end:valid_end], order[valid_end:])
    train, valid, test = (tuple(sessions[i] for i in part) for part in parts)
    return Split(train, valid, test)
