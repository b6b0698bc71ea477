"""Rounds: which runs are to be made next, from those that are made.

A round is decided from the values of complete rounds only, in the order of points and networks. So
the data set depends neither on the order in which workers finish, nor on interruptions.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopflow._errors import HopflowError
from hopflow.campaign.chunks import RUNS, Order, Setting, file_name
from hopflow.campaign.definition import Definition
from hopflow.campaign.points import Point
from hopflow.campaign.stopping import Difference, difference, next_networks


@dataclass(frozen=True)
class Chunk:
    """What the rows of a chunk say."""

    networks: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]
    results: tuple[str, ...]
    errors: tuple[tuple[int, str], ...]


@dataclass
class State:
    """What is asked, what there is, and what is known.

    Attributes:
        definition: What is asked.
        points: The points.
        contents: By point and transport, the hash of what runs are made from.
        setting: How chunks are made.
        wanted: By point and transport, the number of networks.
        differences: By point, what is known.
        lost: Points of which chunks could not be made; they get no more rounds.
    """

    definition: Definition
    points: Sequence[Point]
    contents: Mapping[str, Mapping[str, str]]
    setting: Setting
    wanted: dict[str, dict[str, int]] = field(default_factory=dict)
    differences: dict[str, list[Difference]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    _chunks: dict[str, Chunk] = field(default_factory=dict)

    def begin(self) -> None:
        """Asks for the first round."""
        first = self.definition.networks.first
        for point in self.points:
            self.wanted[point.id] = dict.fromkeys(self.definition.transports, first)

    def files(self, point: Point, transport: str) -> Iterator[tuple[int, str]]:
        """The first network and the file of each chunk that is wanted."""
        batch = self.definition.networks.batch
        content = self.contents[point.id][transport]
        for first in range(1, self.wanted[point.id][transport] + 1, batch):
            yield first, file_name(RUNS, point.id, transport, first, batch, content)

    def networks(self, point: Point) -> dict[str, int]:
        """By transport, the networks of a point that have runs: those wanted, unless it is lost."""
        batch = self.definition.networks.batch
        return {
            transport: batch * len(self.chunks(point, transport))
            for transport in self.definition.transports
        }

    def missing(self, existing: set[str]) -> list[Order]:
        """The chunks that are wanted and not made; the same runs at several points once."""
        orders: dict[tuple[str, int, str], tuple[Point, list[Point]]] = {}
        for point in self.points:
            if point.id in self.lost:
                continue
            for transport in self.definition.transports:
                content = self.contents[point.id][transport]
                for first, name in self.files(point, transport):
                    if name not in existing:
                        entry = orders.setdefault((transport, first, content), (point, []))
                        entry[1].append(point)
        columns = tuple(self.definition.columns())
        return [
            Order(
                text=one.text,
                transport=transport,
                first=first,
                count=self.definition.networks.batch,
                content=content,
                points=tuple((of.id, tuple(of.parameters.items())) for of in points),
                columns=columns,
            )
            for (transport, first, content), (one, points) in orders.items()
        ]

    def read(self, existing: set[str]) -> None:
        """Reads what is wanted and not read yet: of points that are lost, what there is.

        Args:
            existing: The files of runs that there are.

        Raises:
            HopflowError: A file is damaged, or one that is wanted is missing.
        """
        names = [
            name
            for point in self.points
            for transport in self.definition.transports
            for _, name in self.files(point, transport)
            if name not in self._chunks and (name in existing or point.id not in self.lost)
        ]
        with ThreadPoolExecutor(8) as readers:
            for name, chunk in zip(names, readers.map(self._chunk, names), strict=True):
                self._chunks[name] = chunk

    def _chunk(self, name: str) -> Chunk:
        import pyarrow as pa
        import pyarrow.parquet as pq

        content = self.setting.store.read(name)
        path = self.setting.store.path(name)
        if content is None:
            raise HopflowError(f"{path} is missing, which was there before")
        wanted = sorted({target.quantity for target in self.definition.targets})
        try:
            file = pq.ParquetFile(io.BytesIO(content))
            rows = file.read(columns=["network", "results", "error", *wanted])
        except (pa.ArrowException, OSError) as error:
            raise HopflowError(f"{path} is damaged: {error}; remove it to make it again") from error
        networks = rows["network"].to_numpy().astype(np.int64)
        errors = zip(networks.tolist(), rows["error"].to_pylist(), strict=True)
        return Chunk(
            networks=networks,
            values={name: rows[name].to_numpy().astype(np.float64) for name in wanted},
            results=tuple(str(hash) for hash in rows["results"].to_pylist()),
            errors=tuple((network, error) for network, error in errors if error is not None),
        )

    def chunks(self, point: Point, transport: str) -> list[tuple[str, Chunk]]:
        """The chunks of a point that are wanted and read, in order, with their names."""
        names = (name for _, name in self.files(point, transport))
        return [(name, self._chunks[name]) for name in names if name in self._chunks]

    def values(self, point: Point, transport: str, quantity: str) -> dict[int, float]:
        """A quantity by network, of the runs that have it."""
        found: dict[int, float] = {}
        for _, chunk in self.chunks(point, transport):
            pairs = zip(chunk.networks.tolist(), chunk.values[quantity].tolist(), strict=True)
            found.update((network, value) for network, value in pairs if value == value)
        return found

    def decide(self) -> None:
        """Takes the differences of all points."""
        alpha = 1.0 - self.definition.confidence
        baseline, *others = self.definition.transports
        for point in self.points:
            if point.id in self.lost:
                continue
            found = []
            for target in self.definition.targets:
                base = self.values(point, baseline, target.quantity)
                if not others:
                    found.append(difference(base, None, baseline, target, alpha))
                for transport in others:
                    own = self.values(point, transport, target.quantity)
                    found.append(difference(own, base, transport, target, alpha))
            self.differences[point.id] = found

    def undecided(self, point: Point) -> list[Difference]:
        """What of a point is not known well enough, though more networks may tell it.

        A quantity that no run has stays unknown however many are made.
        """
        found = self.differences.get(point.id, [])
        return [one for one in found if not one.decided and one.interval.n > 0]

    def next_round(self) -> bool:
        """Asks for more networks where something is not decided; whether there is such."""
        asked = {}
        for point in self.points:
            open_ones = self.undecided(point)
            now = self.wanted[point.id][self.definition.baseline]
            networks = self.definition.networks
            if point.id in self.lost or not open_ones or now >= networks.most:
                continue
            more = next_networks(open_ones, now, networks.batch, networks.most)
            labels = {self.definition.baseline, *(one.transport for one in open_ones)}
            asked[point.id] = (more, labels)
        granted = self._within_bound(asked)
        for point_id in granted:
            more, labels = asked[point_id]
            self.wanted[point_id] |= dict.fromkeys(labels, more)
        return bool(granted)

    def _within_bound(self, asked: Mapping[str, tuple[int, set[str]]]) -> list[str]:
        """The points that get what they ask for within the bound on runs: the cheapest first."""
        if self.definition.runs is None:
            return list(asked)
        left = self.definition.runs - self.runs()
        cost = {
            point: sum(max(0, more - self.wanted[point][label]) for label in labels)
            for point, (more, labels) in asked.items()
        }
        granted = []
        for point in sorted(asked, key=lambda point: cost[point]):
            if cost[point] <= left:
                granted.append(point)
                left -= cost[point]
        return granted

    def runs(self) -> int:
        """Runs that are wanted, those of several points counted at each."""
        return sum(sum(networks.values()) for networks in self.wanted.values())

    def is_decided(self, point: Point) -> bool:
        """Whether everything is known of a point that was asked."""
        found = self.differences.get(point.id)
        return found is not None and all(one.decided for one in found)

    def decided(self) -> int:
        """The number of such points."""
        return sum(1 for point in self.points if self.is_decided(point))

    def failures(self) -> list[dict[str, Any]]:
        """Runs that failed: point, transport, seed and reason."""
        return [
            {"point": point.id, "transport": transport, "seed": network, "error": error}
            for point in self.points
            for transport in self.definition.transports
            for _, chunk in self.chunks(point, transport)
            for network, error in chunk.errors
        ]
