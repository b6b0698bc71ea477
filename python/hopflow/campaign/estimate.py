"""What a campaign would take, before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hopflow.campaign.definition import Definition
from hopflow.campaign.pilot import Pilot, pilot
from hopflow.campaign.points import Point
from hopflow.campaign.watch import duration


@dataclass(frozen=True)
class Estimate:
    """What a campaign would take.

    Attributes:
        points: Number of points.
        transports: Labels of the transports.
        first: Runs of the first round.
        most: The most runs.
        first_hours: Hours of one core that the first round takes.
        most_hours: Hours of one core that the most runs take.
        memory: Bytes of a process that makes a run, the largest that was measured.
        first_disk: Bytes of the data set after the first round.
        most_disk: Bytes of the data set of the most runs.
        measured: Number of runs that were measured.
        share: The least share of the simulated time that one of these simulated.
    """

    points: int
    transports: tuple[str, ...]
    first: int
    most: int
    first_hours: float
    most_hours: float
    memory: int
    first_disk: float
    most_disk: float
    measured: int
    share: float

    @property
    def text(self) -> str:
        """The estimate for people."""
        lines = [
            ("points", f"{self.points}"),
            ("transports", ", ".join(self.transports)),
            ("runs", _between(f"{self.first}", f"{self.most}")),
            (
                "CPU time",
                _between(*(duration(3600 * it) for it in (self.first_hours, self.most_hours))),
            ),
            ("CPU hours", _between(f"{self.first_hours:.3g}", f"{self.most_hours:.3g}")),
            ("memory of a run", _bytes(self.memory)),
            ("disk", _between(_bytes(self.first_disk), _bytes(self.most_disk))),
        ]
        how = (
            f"Extrapolated from {self.measured} measured runs of at least {100 * self.share:.0f} % "
            "of the simulated time, at the first, the middle and the last point."
        )
        return "\n".join(f"{name:<16} {value}" for name, value in lines) + "\n" + how

    def _repr_html_(self) -> str:
        return f"<pre>{self.text}</pre>"


def estimate(definition: Definition, points: Sequence[Point]) -> Estimate:
    """Measures short runs at the first, the middle and the last point.

    Raises:
        HopflowError: One of them fails.
    """
    places = sorted({0, len(points) // 2, len(points) - 1})
    measured: list[Pilot] = []
    seconds = disk = 0.0
    for transport in definition.transports:
        found = [pilot(points[place].text, transport, definition.tables) for place in places]
        seconds += len(points) * sum(one.seconds for one in found) / len(found)
        disk += len(points) * (_ROW + sum(one.disk for one in found) / len(found))
        measured += found
    labels = len(definition.transports)
    networks = definition.networks
    most = len(points) * labels * networks.most
    share = 1.0 if definition.runs is None else min(1.0, definition.runs / most)
    return Estimate(
        points=len(points),
        transports=tuple(definition.transports),
        first=len(points) * labels * networks.first,
        most=round(most * share),
        first_hours=seconds * networks.first / 3600.0,
        most_hours=seconds * networks.most * share / 3600.0,
        memory=max(one.memory for one in measured),
        first_disk=disk * networks.first,
        most_disk=disk * networks.most * share,
        measured=len(measured),
        share=min(one.share for one in measured),
    )


_ROW = 1000.0
"""Bytes of a run in the table `runs`, about."""


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _bytes(number: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number / 1e3:.3g} kB"
