"""The questions: what an adversary is given, and what it has to tell.

Each function makes the examples of one game from the runs of one transport. Nothing of the other
end, of the transport's state or of the simulation's random numbers is in them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopflow._errors import HopflowError
from hopflow.observer.features import ALLOWED, margin, of_pair, of_trace, takes
from hopflow.observer.score import AMONG
from hopflow.observer.traces import Floats, Numbers, Watched

UNIT = 100_000
"""Circuit `c` of network `n` is the unit `n * UNIT + c` of all statistics."""

LEAST_BYTES = 50_000
"""Circuits that carry less towards their clients in a window are not asked about."""


@dataclass(frozen=True)
class Examples:
    """Examples of a game.

    Attributes:
        features: What adversaries are given, shape `(n, d)`.
        labels: What they have to tell, from 0 on, shape `(n,)`.
        units: The circuit that is watched, as `UNIT` says.
        classes: Number of labels.
        simple: A score that rises with label 1 and needs no training, where there is one.
        loads: The recorded load that is played, where there is one, shape `(n,)`.
        far: The circuit at the other end, where examples are pairs, as `units`.
        out_of: How many there are of which one is the right one, where base rates are considered.
    """

    features: Floats
    labels: Numbers
    units: Numbers
    classes: int
    simple: Floats | None = None
    loads: Numbers | None = None
    far: Numbers | None = None
    out_of: int | None = None

    @property
    def networks(self) -> Numbers:
        """The network of each example."""
        return self.units // UNIT

    def take(self, rows: NDArray[np.bool_] | Numbers) -> Examples:
        """Some of the examples."""
        return self._each(lambda name: getattr(self, name)[rows])

    def among(self, labels: Numbers) -> Examples:
        """The examples with these labels, which are sorted: they are called 0, 1, ... then."""
        some = self.take(np.isin(self.labels, labels))
        return replace(some, labels=np.searchsorted(labels, some.labels), classes=len(labels))

    def joined(self, other: Examples) -> Examples:
        """These examples, and others of the same game behind them."""
        return self._each(lambda name: np.concatenate([getattr(self, name), getattr(other, name)]))

    def _each(self, change: Callable[[str], Any]) -> Examples:
        """The same with other columns, by their names."""
        names = ("features", "labels", "units", "simple", "loads", "far")
        some: dict[str, Any] = {
            name: change(name) for name in names if getattr(self, name) is not None
        }
        return replace(self, **some)


def held(units: Numbers) -> NDArray[np.bool_]:
    """Which circuits validate: a fifth of those trained on, chosen by their numbers."""
    turns = [zlib.crc32(unit.to_bytes(8, "little")) % 5 for unit in units.tolist()]
    return np.asarray([turn == 0 for turn in turns], np.bool_)


def kinds(runs: Sequence[Watched], seed: int = 0, seconds: float = 8.0) -> Examples:
    """Page or bulk file, from the entry's trace at any time at which data flow; half of each."""
    parts = []
    for run in runs:
        random = np.random.default_rng([seed, run.network])
        width = _bins(run, seconds)
        starts = np.arange(0, run.bins - width + 1, width)
        # One row for each window: none where the run is shorter.
        flowing = [_busy(run, "entry", start, width) for start in starts.tolist()]
        rows = np.argwhere(np.reshape(flowing, (len(starts), len(run.bulk))).T)
        rows[:, 1] = starts[rows[:, 1]]
        labels = run.bulk[rows[:, 0]].astype(np.int64)
        count = min(int(labels.sum()), int((1 - labels).sum()))
        chosen = [random.permutation(np.flatnonzero(labels == label))[:count] for label in (0, 1)]
        kept = np.concatenate(chosen)
        parts.append(_windows(run, rows[kept], width, labels[kept]))
    return _joined(parts, 2)


def pages(runs: Sequence[Watched], seconds: float = 12.0) -> Examples:
    """Which of the recorded pages, from the entry's trace behind the first request.

    Labels are the pages' numbers, of which some may be missing.
    """
    parts, loads = [], []
    for run in runs:
        width = _bins(run, seconds)
        inside = (run.visits.begin >= 0) & (run.visits.begin <= run.bins - width)
        rows = np.stack([run.visits.circuit, run.visits.begin], 1)[inside]
        parts.append(_windows(run, rows, width, run.visits.page[inside]))
        loads.append(run.visits.load[inside])
    classes = int(max(part[1].max(initial=0) for part in parts)) + 1
    return replace(_joined(parts, classes), loads=np.concatenate(loads))


def neighbours(runs: Sequence[Watched], watched: int, seconds: float = 10.0) -> Examples:
    """Whether somebody shares the bottleneck, from the entry's trace alone.

    Of the first `watched` circuits the even ones have company, as in
    `hopflow.observer.scenarios.shared`.
    """
    parts = []
    for run in runs:
        width = _bins(run, seconds)
        starts = np.arange(0, run.bins - width + 1, width)
        circuits = np.repeat(np.arange(watched), len(starts))
        rows = np.stack([circuits, np.tile(starts, watched)], 1)
        parts.append(_windows(run, rows, width, 1 - circuits % 2))
    return _joined(parts, 2)


def pairs(
    runs: Sequence[Watched],
    others: int = 1,
    divided: bool = False,
    seconds: float = 5.0,
) -> Examples:
    """Whether a trace at the entry and one at the exit belong together.

    A false pair has the exit's trace of another circuit of the same network, class and time. No
    pair is there twice. The entry is watched for longer than the exit, by a margin before and
    behind (`features.margin`).

    Args:
        runs: Runs of one transport.
        others: False pairs for each true one; fewer where there are fewer other circuits.
        divided: Whether both circuits of a pair are `held`, or neither is.
        seconds: How long the exit is watched.
    """
    parts: list[_Pairs] = []
    for run in runs:
        random = np.random.default_rng([0, run.network])
        width, more = _bins(run, seconds), margin(run.bin_s)
        for start in range(more, run.bins - width - more + 1, width):
            for mine in _alike(run, (start, width), divided):
                for step in steps(len(mine), others, random):
                    other = mine[(np.arange(len(mine)) + step) % len(mine)]
                    parts.append(_pairs(run, (start, width), mine, other))
    none, nothing = np.zeros(0, np.int64), np.zeros((0, 1), np.float32)
    parts = parts or [(nothing, none, none, none, nothing[:, 0])]
    x, y, units, far, simple = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Examples(x, y, units, 2, simple=simple, far=far, out_of=AMONG)


_Pairs = tuple[Floats, Numbers, Numbers, Numbers, Floats]


def steps(circuits: int, others: int, random: np.random.Generator) -> list[Numbers]:
    """How far each of some circuits is from its partner: itself first, then others, none twice.

    A circuit alone has no partner, not even itself: its pairs would all be true.
    """
    if circuits < 2:
        return []
    far = random.permuted(np.tile(np.arange(1, circuits), (circuits, 1)), axis=1)
    return [np.zeros(circuits, np.int64), *far[:, :others].T]


def _alike(run: Watched, window: tuple[int, int], divided: bool) -> list[Numbers]:
    """Groups of circuits that carry enough in a window, among which false pairs are made."""
    busy = np.flatnonzero(_busy(run, "exit", *window))
    group = 2 * run.bulk[busy].astype(np.int64)
    if divided:
        group += held(_units(run, busy))
    return [busy[group == one] for one in range(4)]


def _pairs(run: Watched, window: tuple[int, int], mine: Numbers, other: Numbers) -> _Pairs:
    """Pairs of the entries of some circuits and the exits of others."""
    (start, width), more = window, margin(run.bin_s)
    near = run.traces["entry"][mine, :, start - more : start + width + more]
    far = run.traces["exit"][other, :, start : start + width]
    x, simple = of_pair(near, far, run.bin_s)
    same = (mine == other).astype(np.int64)
    return x, same, _units(run, mine), _units(run, other), simple


_Part = tuple[Floats, Numbers, Numbers]


def _windows(run: Watched, rows: Numbers, width: int, labels: Numbers) -> _Part:
    """Features of the entry's trace in windows: rows of circuit and first bin."""
    offsets = rows[:, 1, None] + np.arange(width)
    windows = run.traces["entry"][rows[:, 0, None], :, offsets].transpose(0, 2, 1)
    return of_trace(windows, run.bin_s), np.asarray(labels), _units(run, rows[:, 0])


def _units(run: Watched, circuits: Numbers) -> Numbers:
    return run.network * UNIT + circuits


def _bins(run: Watched, seconds: float) -> int:
    if not takes(run.bin_s):
        raise HopflowError(
            f"the traces of {run.transport}, network {run.network}, have bins of {run.bin_s:g} s; "
            f"allowed are {ALLOWED}"
        )
    return round(seconds / run.bin_s)


def _busy(run: Watched, place: str, start: int, width: int) -> NDArray[np.bool_]:
    """Which circuits carry enough towards the client in a window to be asked about."""
    down = run.traces[place][:, 3, start : start + width]
    return np.asarray(down.sum(1) >= LEAST_BYTES)


def _joined(parts: Sequence[_Part], classes: int) -> Examples:
    features, labels, units = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Examples(features.astype(np.float32), labels.astype(np.int64), units, classes)
