"""How much adversaries know, with intervals over circuits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hopflow.observer.traces import Floats, Numbers

Doubles = NDArray[np.float64]

RESAMPLES = 1000
"""Bootstrap resamples of circuits behind an interval."""

FALSE_RATES = {"detected-1e-2": 1e-2, "detected-1e-3": 1e-3}
"""Shares of false examples that may be taken for true ones, where detection is measured."""

AMONG = 300
"""Circuits that are active at the same time where the base rate of true pairs is considered."""

LEAST_ALARMS = 10
"""A rate of false alarms is measured only where it is that of so many false examples."""


@dataclass(frozen=True)
class Estimate:
    """A measure with its 95 % interval.

    Attributes:
        mean: The measure.
        low: The lower end of its interval.
        high: The upper end.
        values: The measure itself and under each resample, where it was resampled.
    """

    mean: float
    low: float
    high: float
    values: Doubles = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @classmethod
    def of(cls, values: Doubles) -> Estimate:
        """A measure, which comes first, with percentiles over its resamples, which follow."""
        known = values[1:][~np.isnan(values[1:])]
        ends = (math.nan, math.nan)
        if len(known):
            low, high = np.percentile(known, [2.5, 97.5], method="inverted_cdf")
            ends = (float(low), float(high))
        return cls(float(values[0]), *ends, values)

    def minus(self, other: Estimate) -> Estimate:
        """The difference to a measure under the same resamples; of two infinite ones none."""
        with np.errstate(invalid="ignore"):
            return Estimate.of(self.values - other.values)

    def text(self, digits: int = 3) -> str:
        """As tables show it."""
        return f"{self.mean:z.{digits}f} [{self.low:z.{digits}f}, {self.high:z.{digits}f}]"


@dataclass(frozen=True)
class Resamples:
    """How often examples count under each resample of circuits.

    How often a circuit is drawn depends on itself alone, so that it is drawn alike for all
    transports: their measures can be compared resample by resample.

    Attributes:
        drawn: Weights of circuits, shape `(1 + resamples, circuits)`; all are 1 in the first row.
        near: The circuit of each example, as a column of `drawn`.
        far: The circuit at the other end, where examples have two; otherwise the same.
    """

    drawn: Floats
    near: Numbers
    far: Numbers

    @classmethod
    def of(cls, units: Numbers, far: Numbers | None = None, count: int = RESAMPLES) -> Resamples:
        """Draws circuits by a Poisson bootstrap.

        Args:
            units: The circuit of each example.
            far: The circuit at the other end, where examples are pairs.
            count: Number of resamples.
        """
        both = units if far is None else np.concatenate([units, far])
        circuits, index = np.unique(both, return_inverse=True)
        drawn = np.ones((1 + count, len(circuits)), np.float32)
        for column, circuit in enumerate(circuits.tolist()):
            drawn[1:, column] = np.random.default_rng([0, circuit]).poisson(1.0, count)
        near = index[: len(units)]
        return cls(drawn, near, near if far is None else index[len(units) :])

    def chunks(self, size: int = 2_000_000) -> Iterator[Doubles]:
        """Weights of examples, some resamples at a time, shape `(b, n)`.

        A pair of two circuits counts as often as both were drawn together, the product. A true
        pair is one circuit, and counts as often as this was drawn.
        """
        step = max(1, size // max(1, len(self.near)))
        single = self.near == self.far
        for begin in range(0, len(self.drawn), step):
            rows = self.drawn[begin : begin + step].astype(np.float64)
            yield rows[:, self.near] * np.where(single, 1.0, rows[:, self.far])


Statistic = Callable[[Doubles], dict[str, Doubles]]
"""From weights of examples, shape `(b, n)`, to measures for each row of weights.

A measure is NaN where no example has weight that it needs: of such a resample nothing is known.
"""


def values(statistic: Statistic, resamples: Resamples) -> dict[str, Doubles]:
    """Measures under all resamples."""
    parts = [statistic(weighted) for weighted in resamples.chunks()]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def estimates(statistics: Sequence[Statistic], resamples: Resamples) -> dict[str, Estimate]:
    """Measures with their intervals: means of several statistics, such as those of trainings."""
    found = [values(statistic, resamples) for statistic in statistics]
    return {name: Estimate.of(np.mean([one[name] for one in found], 0)) for name in found[0]}


def binary(scores: Doubles, labels: Numbers, among: int | None = None) -> Statistic:
    """What scores say that rise with label 1.

    - `auc`, the area under the ROC curve: how often a true example scores above a false one;
    - `detected-1e-2`, `detected-1e-3`: the share of true examples that score so high that at most
      1 % and 0.1 % of the false ones do;
    - `named`: how often a true example scores highest among as many examples as `among` says, of
      which it is the only true one, if false scores are independent of each other;
    - `precision`: which share of alarms is right there, if 1 % of the false examples raise one.

    Rates for which there are too few false examples are left out, as `LEAST_ALARMS` says; `named`
    has the rate `1 / among`.

    Args:
        scores: A score per example, shape `(n,)`.
        labels: 1 for true examples, 0 for false ones.
        among: How many examples there are for each true one where base rates are considered.
    """
    true, false = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    false = false[np.argsort(scores[false], kind="stable")]
    ordered = scores[false]
    ends = [np.searchsorted(ordered, scores[true], side) for side in ("left", "right")]
    rates = {name: rate for name, rate in FALSE_RATES.items() if _measurable(rate, len(false))}

    def statistic(weighted: Doubles) -> dict[str, Doubles]:
        share, low, high = _shares(weighted[:, true], weighted[:, false], ends)
        found = {"auc": (share * (low + high)).sum(1) / 2}
        for name, rate in rates.items():
            found[name] = (share * (1 - low <= rate + 1e-9)).sum(1)
        if among is not None and "detected-1e-2" in rates:
            detected = found["detected-1e-2"]
            found["precision"] = detected / np.maximum(detected + (among - 1) * 1e-2, 1e-300)
        if among is not None and _measurable(1 / among, len(false)):
            found["named"] = (share * _highest(low, high, among)).sum(1)
        return found

    return statistic


def _measurable(rate: float, false: int) -> bool:
    return rate * false >= LEAST_ALARMS - 1e-9


def _shares(
    true: Doubles, false: Doubles, ends: Sequence[NDArray[np.int64]]
) -> tuple[Doubles, Doubles, Doubles]:
    """Shares of the true examples, and of false ones below each, and below or level with it."""
    counted = np.pad(np.cumsum(false, 1), ((0, 0), (1, 0)))
    total, against = true.sum(1, keepdims=True), counted[:, -1:]
    below = counted / _some(against)
    # Without false examples nothing is known of the true ones, either.
    share = true / _some(total * (against > 0))
    return share, below[:, ends[0]], below[:, ends[1]]


def _some(total: Doubles) -> Doubles:
    """Totals to divide by; NaN for those of nothing."""
    return np.where(total > 0, total, np.nan)


def _highest(low: Doubles, high: Doubles, among: int) -> Doubles:
    """How likely an example scores highest among others, of which these shares score lower.

    Which of several that are level is named is drawn: the mean of `u ** (among - 1)` over the `u`
    from `low` to `high`.
    """
    level = high - low
    apart = level > 1e-12
    mean = (high**among - low**among) / np.where(apart, level * among, 1.0)
    return np.asarray(np.where(apart, mean, low ** (among - 1)))


def accuracy(probabilities: Doubles, labels: Numbers) -> Statistic:
    """The share of examples whose likeliest label is right."""
    right = (probabilities.argmax(1) == labels).astype(np.float64)
    return lambda weighted: {"accuracy": np.asarray((weighted @ right) / _some(weighted.sum(1)))}


def bits(probabilities: Doubles, labels: Numbers) -> Statistic:
    """A lower bound of what is learnt of the label, in bits: its entropy less the cross-entropy.

    With two labels, equally likely, `log2(2) - BCE / ln 2` (compare Goodfellow et al. 2014,
    section 4.1: the best discriminator's loss is `log 4 - 2 JSD`). Labels weigh alike, whatever
    their numbers: it is what is learnt where all labels are equally likely.
    """
    classes = probabilities.shape[1]
    chosen = probabilities[np.arange(len(labels)), labels]
    surprise = -np.log2(np.maximum(chosen, 1e-12))

    def statistic(weighted: Doubles) -> dict[str, Doubles]:
        member = np.eye(classes)[labels]
        number = weighted @ member
        sums = (weighted * surprise) @ member
        present = number > 0
        mean = (sums / np.where(present, number, 1.0)).sum(1) / _some(present.sum(1))
        return {"bits": np.asarray(math.log2(classes) - mean)}

    return statistic


Calibration = Callable[[Doubles], Doubles]
"""From the probabilities that an adversary tells, shape `(n, classes)`, to others."""


def calibrated(valid: Doubles, labels: Numbers, classes: int) -> Calibration:
    """Makes probabilities honest: a temperature and a share of guessing, chosen on validation data.

    They are for `bits` alone. With a share of 1 all examples have the same probabilities, which
    says nothing of ranks and of the likeliest label.

    Args:
        valid: Probabilities for the validation data, shape `(n, classes)`.
        labels: Their labels.
        classes: Number of labels.
    """

    def changed(probabilities: Doubles, temperature: float, guess: float) -> Doubles:
        logs = np.log(np.maximum(probabilities, 1e-6)) / temperature
        sharp = np.exp(logs - logs.max(1, keepdims=True))
        sharp /= sharp.sum(1, keepdims=True)
        return np.asarray((1 - guess) * sharp + guess / classes)

    grid = [
        (t, g) for t in (0.25, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0, 8.0) for g in (0.01, 0.05, 0.2, 1.0)
    ]
    once = np.ones((1, len(labels)))
    gains = [float(bits(changed(valid, t, g), labels)(once)["bits"][0]) for t, g in grid]
    temperature, guess = grid[int(np.argmax(gains))]
    return lambda probabilities: changed(probabilities, temperature, guess)
