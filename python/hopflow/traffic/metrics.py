"""How far drawn steps are from held-out ones.

All measures compare a sample of a model with sessions that it was not fitted on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
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
    pairs = zip(real.T, fake.T, strict=True)
    return np.array([stats.wasserstein_distance(a, b) for a, b in pairs])


def correlation_error(real: Floats, fake: Floats) -> float:
    """The root of the mean squared difference between entries of the rank correlation matrices.

    A feature that a sample has only one value of is correlated with nothing.
    """
    of_real, of_fake = (np.nan_to_num(_rank_correlation(values)) for values in (real, fake))
    above = np.triu_indices(real.shape[1], k=1)
    return float(np.sqrt(np.mean((of_real[above] - of_fake[above]) ** 2)))


def _rank_correlation(values: Floats) -> Floats:
    ranks = stats.rankdata(values, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.corrcoef(ranks, rowvar=False))


def memorisation(train: Floats, held_out: Floats, fake: Floats) -> float:
    """How near draws are to training sessions, as a multiple of how near held-out sessions are.

    Medians of the distances to the nearest training session. About 1 is right; far below 1 means
    that training sessions are repeated.
    """
    tree = spatial.cKDTree(train)
    near, expected = (np.median(tree.query(rows)[0]) for rows in (fake, held_out))
    return float(near / expected)


@dataclass(frozen=True, slots=True)
class TwoSample:
    """How well a classifier tells draws from held-out sessions: 0.5 is chance."""

    #: Share of rows that are told right.
    accuracy: float
    #: Half the width of its 95 % interval (normal approximation).
    half_width: float
    #: Area under the curve of true over false positives.
    auc: float


def nearest_neighbour_test(real: Floats, fake: Floats) -> TwoSample:
    """Tells each row by its nearest other row (Lopez-Paz and Oquab, ICLR 2017).

    Accuracies below one half mean that draws repeat sessions.
    """
    rows = np.vstack([real, fake])
    labels = np.repeat([1, 0], [len(real), len(fake)])
    neighbour = spatial.cKDTree(rows).query(rows, k=2)[1]
    # Of two equal rows either may be the first that is found.
    other = np.where(neighbour[:, 0] == np.arange(len(rows)), neighbour[:, 1], neighbour[:, 0])
    return _judge(labels, labels[other].astype(np.float64))


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
    return _judge(labels, scores)


def _judge(labels: Floats, scores: Floats) -> TwoSample:
    accuracy = float(np.mean((scores > 0.5) == (labels == 1)))
    half_width = 1.96 * float(np.sqrt(accuracy * (1.0 - accuracy) / len(labels)))
    ranks = stats.rankdata(scores)
    positives = labels == 1
    count, others = positives.sum(), (~positives).sum()
    area = (ranks[positives].sum() - count * (count + 1) / 2) / (count * others)
    return TwoSample(accuracy, half_width, float(area))
