"""What relays learn of clients from the rates that nodes tell each other.

Under `joint` feedback carries a rate, here called a word, hop by hop from the client to the exit
(`docs/joint.md`). Two circuits of one client lead over relays that are drawn for each. Relays that
work together ask whether two circuits are of the same client, and exits whether two lead over the
same guard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hopflow._errors import HopflowError
from hopflow.observer.games import LEAST_BYTES, UNIT, Examples, held, steps
from hopflow.observer.scenarios import HOMES
from hopflow.observer.score import AMONG
from hopflow.observer.traces import Floats, Numbers, listed, table

PLACES = ("exit", "middle", "guard")
"""Who observes: the sender of the hop with this index, in the direction of a download."""

SECONDS = 10.0
"""For how long each circuit is watched."""


@dataclass(frozen=True)
class Told:
    """What the relays of circuits saw in one run.

    Circuits `i` and `HOMES + i` are of one client.

    Attributes:
        transport: The transport's label.
        network: Number of the sampled network.
        bin_s: Time between two samples, in seconds.
        words: For each place the rate that the successor told last, in bytes per second, shape
            `(circuits, bins)`; NaN where none was told.
        passed: For each place the bytes of data that passed in each bin, shape `(circuits, bins)`.
            What the exit packages stands for what passes the middle relay.
        guards: The guard of each circuit, shape `(circuits,)`.
    """

    transport: str
    network: int
    bin_s: float
    words: Mapping[str, Floats]
    passed: Mapping[str, Floats]
    guards: Numbers

    @property
    def bins(self) -> int:
        """Bins of each series."""
        return int(self.passed["exit"].shape[1])


def read(folder: Path) -> list[Told]:
    """All runs of a folder of `scenarios.linked`, by transport and network.

    Raises:
        HopflowError: The folder holds no results, or they have no samples.
    """
    return [_run(folder, run) for run in listed(folder)]


def _run(folder: Path, run: dict[str, Any]) -> Told:
    samples = table(folder, run, "samples")
    if not samples:
        raise HopflowError(f"the run {run['folder']} has no table `samples`")
    times = np.unique(samples["t_s"])
    count = len(table(folder, run, "circuits")["circuit"])
    at = np.searchsorted(times, samples["t_s"])
    passed = {}
    for place, column in (("exit", "packaged_bytes"), ("guard", "delivered_bytes")):
        sums = np.zeros((count, len(times)), np.float64)
        sums[samples["circuit"], at] = samples[column]
        passed[place] = np.diff(sums, axis=1).astype(np.float32)
    passed["middle"] = passed["exit"]
    metrics = table(folder, run, "metrics")
    words = {}
    for hop, place in enumerate(PLACES):
        words[place] = np.full((count, len(times) - 1), np.nan, np.float32)
        if not metrics:
            continue
        mine = (metrics["hop"] == hop) & (metrics["metric"] == "told_rate")
        bins = np.searchsorted(times, metrics["t_s"][mine] - 1e-9) - 1
        inside = (bins >= 0) & (bins < len(times) - 1)
        rows = metrics["circuit"][mine][inside]
        words[place][rows, bins[inside]] = metrics["value"][mine][inside]
    paths = table(folder, run, "paths")
    return Told(
        transport=run["transport"],
        network=int(run["network"]),
        bin_s=float(times[1] - times[0]),
        words=words,
        passed=passed,
        guards=np.asarray(paths["node"][paths["position"] == 1], np.int64),
    )


def clients(runs: Sequence[Told], place: str, others: int = 1, divided: bool = False) -> Examples:
    """Whether two circuits are of one client, from what two relays of a kind saw.

    The second circuit is watched after the first. A false pair has the second circuit of another
    client of the same network, at the same time. Units are clients.

    Args:
        runs: Runs of one transport.
        place: Which relays watch, one of `PLACES`.
        others: False pairs for each true one.
        divided: Whether both clients of a pair are `games.held`, or neither is.
    """
    parts: list[_Pairs] = []
    for run in runs:
        random = np.random.default_rng([2, run.network])
        width = round(SECONDS / run.bin_s)
        for start in range(0, run.bins - 2 * width + 1, width):
            for mine in _watched(run, place, (start, width), divided):
                for step in steps(len(mine), others, random):
                    other = mine[(np.arange(len(mine)) + step) % len(mine)]
                    near = _seen(run, place, mine, (start, width))
                    far = _seen(run, place, HOMES + other, (start + width, width))
                    same = (mine == other).astype(np.int64)
                    ends = (run.network * UNIT + mine, run.network * UNIT + other)
                    parts.append((_of_pair(near, far), same, *ends))
    return _joined(parts, AMONG)


def guards(runs: Sequence[Told], others: int = 1, divided: bool = False) -> Examples:
    """Whether two circuits lead over one guard, from what their exits saw at the same time.

    A false pair has a circuit over another guard. Units are guards, of which there are few.

    Args:
        runs: Runs of one transport.
        others: False pairs for each true one, at most.
        divided: Whether both guards of a pair are `games.held`, or neither is.
    """
    parts: list[_Pairs] = []
    for run in runs:
        random = np.random.default_rng([3, run.network])
        width = round(SECONDS / run.bin_s)
        for start in range(0, run.bins - width + 1, width):
            window = slice(start, start + width)
            busy = np.flatnonzero(run.passed["exit"][:, window].sum(1) >= LEAST_BYTES)
            for mine in _divided(busy, run.network * UNIT + run.guards[busy], divided):
                near, far, same = _by_guard(run.guards[mine], others, random)
                ends = [mine[near], mine[far]]
                seen = [_seen(run, "exit", circuits, (start, width)) for circuits in ends]
                words = [run.words["exit"][circuits, window] for circuits in ends]
                features = np.concatenate([_of_pair(*seen), _alike(*words)], 1)
                units = [run.network * UNIT + run.guards[circuits] for circuits in ends]
                parts.append((features, same, units[0], units[1]))
    return _joined(parts)


_Pairs = tuple[Floats, Numbers, Numbers, Numbers]


def _joined(parts: Sequence[_Pairs], out_of: int | None = None) -> Examples:
    none = np.zeros(0, np.int64)
    found = parts or [(np.zeros((0, 1), np.float32), none, none, none)]
    x, y, units, far = (np.concatenate(column) for column in zip(*found, strict=True))
    return Examples(x, y, units, 2, far=far, out_of=out_of)


def _by_guard(
    of: Numbers, others: int, random: np.random.Generator
) -> tuple[Numbers, Numbers, Numbers]:
    """Pairs of places in `of`, none twice, and whether both have one guard."""
    near, far, same = [], [], []
    for place, guard in enumerate(of.tolist()):
        later = np.arange(place + 1, len(of))
        with_it = random.permutation(later[of[later] == guard])[:1]
        if not len(with_it):
            continue
        wrong = random.permutation(later[of[later] != guard])[:others]
        near += [place] * (1 + len(wrong))
        far += [*with_it.tolist(), *wrong.tolist()]
        same += [1, *[0] * len(wrong)]
    return np.asarray(near, np.int64), np.asarray(far, np.int64), np.asarray(same, np.int64)


def _watched(run: Told, place: str, at: tuple[int, int], divided: bool) -> list[Numbers]:
    """Groups of clients whose two circuits carry enough while they are watched."""
    first, width = at
    home = np.arange(HOMES)
    enough = [
        run.passed[place][circuits, start : start + width].sum(1) >= LEAST_BYTES
        for circuits, start in ((home, first), (HOMES + home, first + width))
    ]
    busy = home[enough[0] & enough[1]]
    return _divided(busy, run.network * UNIT + busy, divided)


def _divided(those: Numbers, units: Numbers, divided: bool) -> list[Numbers]:
    """All of some circuits or clients, or those whose units validate, and the others."""
    if not divided:
        return [those]
    out = held(units)
    return [those[out], those[~out]]


QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Of rates, of which logarithms are taken."""

ABSENT = -1.0
"""What stands for the logarithm of a rate that nobody told."""


def _seen(run: Told, place: str, circuits: Numbers, at: tuple[int, int]) -> Floats:
    """What a relay knows of each circuit: quantiles of words, and of what passes."""
    start, width = at
    words = run.words[place][circuits, start : start + width]
    passed = run.passed[place][circuits, start : start + width] / run.bin_s
    flowing = np.where(passed > 0, passed, np.nan)
    shares = [np.isfinite(words).mean(1), (passed > 0).mean(1)]
    single = np.stack([*shares, np.log2(1 + passed.sum(1))], 1)
    parts = [_quantiles(words), _quantiles(flowing), single]
    return np.concatenate(parts, 1).astype(np.float32)


def _quantiles(rates: Floats) -> Floats:
    """Logarithms of quantiles of the rates that are there."""
    found = np.full((len(rates), len(QUANTILES)), ABSENT)
    some = np.isfinite(rates).any(1)
    if some.any():
        found[some] = np.log2(1 + np.nanquantile(rates[some], QUANTILES, axis=1)).T
    return found.astype(np.float32)


def _of_pair(near: Floats, far: Floats) -> Floats:
    """How far apart two circuits are in each respect, and where both are."""
    return np.concatenate([np.abs(near - far), (near + far) / 2], 1)


ALIKE = 0.005
"""Words whose logarithms to base two differ by less are the same: a word has 0.1 %."""


def _alike(near: Floats, far: Floats) -> Floats:
    """How often words are the same at the same time, and how they go together."""
    with np.errstate(invalid="ignore"):
        one, two = np.log2(1 + near), np.log2(1 + far)
    both = np.isfinite(one) & np.isfinite(two)
    gap = np.abs(np.where(both, one - two, np.inf))
    one, two = (np.where(both, series, 0.0) for series in (one, two))
    number = np.maximum(both.sum(1, keepdims=True), 1)
    one, two = (
        np.where(both, series - series.sum(1, keepdims=True) / number, 0.0) for series in (one, two)
    )
    scale = np.sqrt((one**2).sum(1) * (two**2).sum(1))
    together = (one * two).sum(1) / np.maximum(scale, 1e-9)
    near_gap = np.sort(gap, 1)[:, : gap.shape[1] // 2 : 5]
    found = [(gap < ALIKE).mean(1)[:, None], together[:, None], np.minimum(near_gap, 32.0)]
    return np.concatenate(found, 1).astype(np.float32)
