"""Tallies of the live Tor network, to set models of streams beside.

They were counted with PrivCount for the CCS '18 study (Jansen, Traudt and Hopper, section 3), with
noise for differential privacy, whose standard deviation the file states.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopflow._errors import HopflowError
from hopflow.traffic.step import Floats

#: The counter of bytes that streams carried to clients.
INBOUND = "ExitStreamInboundByteHistogram"


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts in bins from `edges[i]` to below `edges[i + 1]`."""

    edges: Floats
    counts: Floats
    #: Standard deviation of the noise in each count.
    sigma: float

    @classmethod
    def read(cls, path: Path, counter: str) -> Histogram:
        """Reads a counter such as `INBOUND`.

        Raises:
            HopflowError: The file cannot be read, or has no such counter.
        """
        try:
            counted = json.loads(path.read_text(encoding="utf-8"))[counter]
            bins = counted["bins"]
            edges = [float(low) for low, _, _ in bins] + [float(bins[-1][1])]
            counts = [float(count) for _, _, count in bins]
            return cls(np.array(edges), np.array(counts), float(counted["sigma"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise HopflowError(
                f"{path} cannot be read: {error!r}; allowed are PrivCount's tallies with the "
                f"histogram {counter}"
            ) from error

    @property
    def bins(self) -> list[str]:
        """What to call the bins, of bytes."""
        first, *inner = [f"{edge / 1024:g} KiB" for edge in self.edges[1:-1]]
        return [f"below {first}", *(f"to {edge}" for edge in inner), "above"]

    @property
    def shares(self) -> Floats:
        """The share of each bin."""
        return np.asarray(self.counts / self.counts.sum())

    def shares_of(self, values: Sequence[float]) -> Floats:
        """The share of values in each of these bins; values outside of all count nowhere."""
        counts, _ = np.histogram(np.asarray(values, dtype=np.float64), self.edges)
        return np.asarray(counts / counts.sum())
