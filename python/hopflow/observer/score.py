"""How much adversaries know, with intervals over circuits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopflow.observer.traces import Numbers

Doubles = NDArray[np.float64]

RESAMPLES = 100
"""Bootstrap resamples of circuits behind an interval."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    def text(self, digits: int = 3) -> str:
        """As tables show it."""
        return f"{self.mean:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


Statistic = Callable[[Doubles], Doubles]
"""From weights of examples, shape `(b, n)`, to the measure for each row of weights."""


def weights(units: Numbers, resamples: int = RESAMPLES, seed: int = 0) -> Doubles:
    """Weights of examples under resampling of circuits, shape `(1 + resamples, n)`.

    The first row counts every example once.
    """
    random = np.random.default_rng(seed)
    circuits, index = np.unique(units, return_inverse=True)
    count = len(circuits)
    drawn = random.multinomial(count, np.full(count, 1 / count), resamples)
    all_of_them = np.ones((1, count), dtype=drawn.dtype)
    return np.concatenate([all_of_them, drawn])[:, index].astype(np.float64)


def estimate(statistic: Statistic, weighted: Doubles) -> Estimate:
    """A measure with its interval: percentiles over the resamples."""
    values = statistic(weighted)
    low, high = np.nanpercentile(values[1:], [2.5, 97.5])
    return Estimate(float(values[0]), float(low), float(high))


def averaged(statistics: list[Statistic]) -> Statistic:
    """The mean of measures, such as those of several trainings."""
    return lambda weighted: np.mean([one(weighted) for one in statistics], 0)


def auc(scores: Doubles, labels: Numbers) -> Statistic:
    """The area under the ROC curve: how often a true example scores above a false one."""
    values, rank = np.unique(scores, return_inverse=True)

    def statistic(weighted: Doubles) -> Doubles:
        true, false = (
            _per_rank(weighted * (labels == label), rank, len(values)) for label in (1, 0)
        )
        below = np.cumsum(false, 1) - false / 2
        total = true.sum(1) * false.sum(1)
        return np.asarray((true * below).sum(1) / np.maximum(total, 1e-300))

    return statistic


def detection(scores: Doubles, labels: Numbers, false_rate: float) -> Statistic:
    """The share of true examples found when at most this share of false ones is taken for true."""
    values, rank = np.unique(-scores, return_inverse=True)

    def statistic(weighted: Doubles) -> Doubles:
        true, false = (
            np.cumsum(_per_rank(weighted * (labels == label), rank, len(values)), 1)
            for label in (1, 0)
        )
        allowed = false <= false_rate * false[:, -1:]
        found = np.where(allowed, true, 0).max(1)
        return np.asarray(found / np.maximum(true[:, -1], 1e-300))

    return statistic


def accuracy(probabilities: Doubles, labels: Numbers) -> Statistic:
    """The share of examples whose likeliest label is right."""
    right = (probabilities.argmax(1) == labels).astype(np.float64)
    return lambda weighted: np.asarray((weighted @ right) / weighted.sum(1))


def bits(probabilities: Doubles, labels: Numbers) -> Statistic:
    """A lower bound of what is learnt of the label, in bits: its entropy less the cross-entropy.

    With two labels, equally likely, `log2(2) - BCE / ln 2` (compare Goodfellow et al. 2014,
    section 4.1: the best discriminator's loss is `log 4 - 2 JSD`). Labels weigh alike, whatever
    their numbers.
    """
    classes = probabilities.shape[1]
    chosen = probabilities[np.arange(len(labels)), labels]
    surprise = -np.log2(np.maximum(chosen, 1e-12))

    def statistic(weighted: Doubles) -> Doubles:
        member = np.eye(classes)[labels]
        number = weighted @ member
        sums = (weighted * surprise) @ member
        present = number > 0
        mean = (sums / np.maximum(number, 1e-300)).sum(1) / np.maximum(present.sum(1), 1)
        return np.asarray(math.log2(classes) - mean)

    return statistic


def _per_rank(weighted: Doubles, rank: Numbers, count: int) -> Doubles:
    """Sums of weights of equal scores, in the order of scores."""
    order = np.argsort(rank, kind="stable")
    begins = np.searchsorted(rank[order], np.arange(count))
    return np.asarray(np.add.reduceat(weighted[:, order], begins, axis=1))


def calibrated(valid: Doubles, labels: Numbers, classes: int) -> Callable[[Doubles], Doubles]:
    """Makes probabilities honest: a temperature and a share of guessing, chosen on validation data.

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
    gains = [float(bits(changed(valid, t, g), labels)(once)[0]) for t, g in grid]
    temperature, guess = grid[int(np.argmax(gains))]
    return lambda probabilities: changed(probabilities, temperature, guess)
