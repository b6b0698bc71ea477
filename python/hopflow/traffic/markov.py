"""The hidden Markov models of streams and packets that were learned on the live Tor network.

Jansen, Traudt and Hopper, *Privacy-Preserving Dynamic Learning of Tor Network Traffic*, CCS '18,
sections 4 and 5. One model says when the streams of a circuit begin, the other which packets a
stream has. Both are read from the files that the authors published; of the packets only the sizes
are taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hopflow._data import find
from hopflow.traffic.data import PACKET_FILE, STREAM_FILE, attributed_elements
from hopflow.traffic.step import Floats, Step

#: Bytes of data that the authors' traffic generator sends for a packet.
PACKET_BYTES = 1434

#: Packets after which a stream is cut: a guard against chains that hardly ever end.
LONGEST_STREAM = 200_000

_ENDS = "F"


@dataclass(frozen=True, slots=True)
class Chain:
    """A hidden Markov model whose states each emit a symbol."""

    #: Probabilities of the first state.
    start: Floats
    #: Probabilities of the state after a state.
    transition: Floats
    #: The symbols that states emit.
    symbols: tuple[str, ...]
    #: Probabilities of each symbol in each state.
    emission: Floats
    #: The pause before a symbol in microseconds, `[state, symbol, 3]`: the rate of an exponential
    #: distribution, and the mean and the deviation of the logarithm of a lognormal one. Rate and
    #: deviation are zero where there is none of the kind.
    gaps: Floats

    @classmethod
    def read(cls, path: Path) -> Chain:
        """Reads a Markov model of TGen."""
        states: list[str] = []
        symbols: list[str] = []
        for attributes, data in attributed_elements(path, "node"):
            kind = {"state": states, "observation": symbols}.get(data.get("type", ""))
            if kind is not None:
                kind.append(attributes["id"])
        rows = {name: row for row, name in enumerate(states)}
        columns = {name: column for column, name in enumerate(symbols)}
        start = np.zeros(len(states))
        transition = np.zeros((len(states), len(states)))
        emission = np.zeros((len(states), len(symbols)))
        gaps = np.zeros((len(states), len(symbols), 3))
        for attributes, data in attributed_elements(path, "edge"):
            source, target, weight = attributes["source"], attributes["target"], data["weight"]
            if source == "start":
                start[rows[target]] = float(weight)
            elif target in rows:
                transition[rows[source], rows[target]] = float(weight)
            else:
                at = rows[source], columns[target]
                emission[at] = float(weight)
                gaps[at] = [
                    float(data[key]) for key in ("exp_lambda", "lognorm_mu", "lognorm_sigma")
                ]
        tables = [_normalised(table) for table in (start, transition, emission)]
        return cls(tables[0], tables[1], tuple(symbols), tables[2], gaps)

    def count(self, limit: int, rng: np.random.Generator) -> dict[str, int]:
        """Draws a sequence up to the end symbol or the limit: how often each symbol occurs."""
        first = np.cumsum(self.start)
        following = np.cumsum(self.transition, axis=1)
        emitted = np.cumsum(self.emission, axis=1)
        counts = dict.fromkeys(self.symbols, 0)
        state = int(np.searchsorted(first, rng.random(), side="right"))
        for _ in range(limit):
            symbol = self.symbols[int(np.searchsorted(emitted[state], rng.random(), side="right"))]
            if symbol == _ENDS:
                break
            counts[symbol] += 1
            state = int(np.searchsorted(following[state], rng.random(), side="right"))
        return counts


def _normalised(weights: Floats) -> Floats:
    """Rows that sum up to one; rows of zeros stay."""
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0))


@dataclass(frozen=True, slots=True)
class Markov:
    """Circuits of the live network as steps: the first stream, then the others as objects."""

    streams: Chain
    packets: Chain

    #: The most streams of a circuit.
    MOST_STREAMS = 1_000

    @classmethod
    def read(cls, folder: Path | None = None) -> Markov:
        """Reads the two published models; `folder` as for `hopflow.traffic.data.load`.

        Raises:
            HopflowError: A file is missing, or holds something else.
        """
        return cls(Chain.read(find(STREAM_FILE, folder)), Chain.read(find(PACKET_FILE, folder)))

    def sample(self, count: int, rng: np.random.Generator) -> list[Step]:
        """Draws circuits that have a stream."""
        return [self._circuit(rng) for _ in range(count)]

    def _circuit(self, rng: np.random.Generator) -> Step:
        streams = 0
        while streams == 0:
            streams = self.streams.count(self.MOST_STREAMS, rng)["$"]
        sizes = []
        for _ in range(streams):
            packets = self.packets.count(LONGEST_STREAM, rng)
            sizes.append(max(1, packets["-"] * PACKET_BYTES))
        return Step(sizes[0], tuple(sizes[1:]))
