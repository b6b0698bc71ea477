"""How far drawn steps are from held-out ones.

All measures compare a sample of a model with sessions that it was not fitted on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import spatial, stats

from hopflow.traffic.step import Floats, Step
from hopflow.traffic.vector import NAMES, encode

#: Features beside the vector's that follow from it.
DERIVED: tuple[str, ...] = ("total", "mean-object")

#: All features that are compared.
COMPARED: tuple[str, ...] = (*NAMES, *DERIVED)


def features(steps: Sequence[Step]) -> Floats:
    """The vectors of steps with the logarithms of all bytes and of the mean object behind them."""
    total = [np.log1p(step.total) for step in steps]
    mean = [np.log1p(np.mean(step.objects) if step.objects else 0.0) for step in steps]
    return np.column_stack([encode(steps), total, mean])


@dataclass(frozen=True, slots=True)
class Scale:
    """Centre and spread of features, from training sessions: a unit for distances."""

    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, values: Floats) -> Scale:
        """The scale of these rows; a feature that is constant keeps its unit."""
        deviation = values.std(axis=0)
        return cls(values.mean(axis=0), np.where(deviation > 0, deviation, 1.0))

    def apply(self, values: Floats) -> Floats:
        """Rows in units of standard deviations."""
        return (values - self.mean) / self.deviation


def wasserstein(real: Floats, fake: Floats) -> Floats:
    """The Wasserstein-1 distance of every feature for itself."""
    return Distances.of(real, fake).against(np.arange(len(real)))


@dataclass(frozen=True, slots=True)
class Distances:
    """Wasserstein-1 distances of every feature, quickly for many samples of the real rows."""

    #: Where the values of real rows, and behind them those of fakes, stand in ascending order.
    order: NDArray[np.int64]
    #: From each value to the next in that order.
    gaps: Floats
    #: The share of fakes up to each value.
    fakes: Floats

    @classmethod
    def of(cls, real: Floats, fake: Floats) -> Distances:
        """Between these rows."""
        values = np.vstack([real, fake])
        order = np.argsort(values, axis=0, kind="stable")
        gaps = np.diff(np.take_along_axis(values, order, axis=0), axis=0)
        return cls(order, gaps, np.cumsum(order >= len(real), axis=0)[:-1] / len(fake))

    def against(self, rows: NDArray[np.int64]) -> Floats:
        """The distances of the fakes to these of the real rows."""
        share = np.bincount(rows, minlength=len(self.order)) / len(rows)
        reals = np.cumsum(share[self.order], axis=0)[:-1]
        return np.asarray((np.abs(reals - self.fakes) * self.gaps).sum(axis=0))


def correlation_error(real: Floats, fake: Floats) -> float:
    """How far the rank correlations of two samples are apart; see `between`."""
    return between(rank_correlation(real), rank_correlation(fake))


def between(real: Floats, fake: Floats) -> float:
    """The root of the mean squared difference between the entries of correlation matrices."""
    above = np.triu_indices(len(real), k=1)
    return float(np.sqrt(np.mean((real[above] - fake[above]) ** 2)))


def rank_correlation(values: Floats) -> Floats:
    """Rank correlations; a feature that has only one value is correlated with nothing."""
    ranks = stats.rankdata(values, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.nan_to_num(np.corrcoef(ranks, rowvar=False)))


def nearest(train: Floats, rows: Floats) -> Floats:
    """The distance of each row to the nearest training session."""
    return np.asarray(spatial.cKDTree(train).query(rows)[0])


def memorisation(train: Floats, held_out: Floats, fake: Floats) -> float:
    """How near draws are to training sessions, as a multiple of how near held-out sessions are.

    Medians of the distances to the nearest training session. About 1 is right; far below 1 means
    that training sessions are repeated.
    """
    near, expected = (np.median(nearest(train, rows)) for rows in (fake, held_out))
    return float(near / expected)


@dataclass(frozen=True, slots=True)
class TwoSample:
    """How well a classifier tells draws from held-out sessions: 0.5 is chance."""

    #: The classifier's scores of held-out rows; above one half it takes a row for real.
    real: Floats
    #: Its scores of draws.
    fake: Floats

    @property
    def accuracy(self) -> float:
        """Share of rows that are told right."""
        right = np.concatenate([self.real > 0.5, self.fake <= 0.5])
        return float(right.mean())

    @property
    def auc(self) -> float:
        """Area under the curve of true over false positives."""
        ranks = stats.rankdata(np.concatenate([self.real, self.fake]))
        count, others = len(self.real), len(self.fake)
        return float((ranks[:count].sum() - count * (count + 1) / 2) / (count * others))

    def against(self, rows: NDArray[np.int64]) -> TwoSample:
        """The same classifier against these of the held-out rows."""
        return TwoSample(self.real[rows], self.fake)


def nearest_neighbour_test(real: Floats, fake: Floats) -> TwoSample:
    """Tells each row by its nearest other row (Lopez-Paz and Oquab, ICLR 2017).

    Accuracies below one half mean that draws repeat sessions.
    """
    rows = np.vstack([real, fake])
    labels = np.repeat([1, 0], [len(real), len(fake)])
    neighbour = spatial.cKDTree(rows).query(rows, k=2)[1]
    # Of two equal rows either may be the first that is found.
    other = np.where(neighbour[:, 0] == np.arange(len(rows)), neighbour[:, 1], neighbour[:, 0])
    scores = labels[other].astype(np.float64)
    return TwoSample(scores[: len(real)], scores[len(real) :])


def boosted_test(real: Floats, fake: Floats, seed: int, folds: int = 5) -> TwoSample:
    """Tells rows by boosted trees that are fitted on the other folds."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    rows = np.vstack([real, fake])
    labels = np.repeat([1, 0], [len(real), len(fake)])
    trees = GradientBoostingClassifier(
        n_estimators=100, max_depth=3, learning_rate=0.1, subsample=0.8, random_state=seed
    )
    order = StratifiedKFold(n_splits=folds, shuffle=True, random_state=seed)
    scores = cross_val_predict(trees, rows, labels, cv=order, method="predict_proba")[:, 1]
    return TwoSample(scores[: len(real)], scores[len(real) :])
