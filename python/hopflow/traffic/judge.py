"""How well models of users do on sessions that none was fitted on: quantities with intervals.

Intervals (95 %) hold two things: how means over seeds vary (Student's t), and which sessions
happened to be held out, by drawing those anew with replacement while fitted models and classifiers
stay as they are. The squares of the two half widths are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopflow.experiments import half_width
from hopflow.traffic import metrics
from hopflow.traffic.baselines import StepModel
from hopflow.traffic.step import Floats, Split, Step, split

#: Steps that distances of distributions are taken of.
DRAWN = 2_000

#: How often held-out sessions are drawn anew.
RESAMPLED = 200

#: What is told of a model: name and unit.
QUANTITIES: tuple[tuple[str, str], ...] = (
    ("W1, mean of features", "sd"),
    ("W1, log bytes of a step", "log"),
    ("W1, log number of objects", "log"),
    ("error of correlations", ""),
    ("trees: accuracy", ""),
    ("trees: AUC", ""),
    ("nearest neighbour: accuracy", ""),
    ("memorisation", ""),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one seed of a model showed."""

    #: The quantities.
    quantities: Floats
    #: Wasserstein-1 of each feature.
    wasserstein: Floats
    #: The quantities against held-out sessions that were drawn anew, a row each time.
    resampled: Floats


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What follows from the rows of a model and the held-out sessions as they are."""

    distances: metrics.Distances
    #: The distance of the logarithms of numbers of objects.
    of_counts: metrics.Distances
    correlation: Floats
    trees: metrics.TwoSample
    neighbours: metrics.TwoSample
    #: The median distance to the nearest training session.
    near: float


@dataclass(frozen=True, slots=True)
class Judge:
    """Held-out sessions, and the measures against them."""

    train: Floats
    test: Floats
    scale: metrics.Scale

    @classmethod
    def of(cls, sessions: Split) -> Judge:
        """A judge with the test sessions."""
        train, test = (metrics.features(steps) for steps in (sessions.train, sessions.test))
        scale = metrics.Scale.of(train)
        return cls(scale.apply(train), scale.apply(test), scale)

    def measure(self, model: StepModel, seed: int) -> Measured:
        """Draws from a model and compares."""
        rng = np.random.default_rng([2014, seed])
        rows = self.rows(model.sample(DRAWN + len(self.test), rng))
        many, few = rows[:DRAWN], rows[DRAWN:]
        drawn = self._drawn(many, few, many, seed)
        return self._measured(drawn, self._anew())

    def measure_real(self, others: Sequence[Step], fresh: Sequence[Step], seed: int) -> Measured:
        """Compares with real sessions, as a perfect model would draw them.

        Args:
            others: All real sessions but the held-out ones.
            fresh: Those of them that are not in the training sessions.
            seed: Decides how classifiers are fitted.
        """
        many, few = self.rows(others), self.rows(fresh)
        # Each seed holds out other sessions: how means vary over seeds has it all.
        return self._measured(self._drawn(many, few, few, seed), self._anew()[:0])

    def rows(self, steps: Sequence[Step]) -> Floats:
        """Features of steps in units of their spread over training sessions."""
        return self.scale.apply(metrics.features(steps))

    def _anew(self) -> NDArray[np.int64]:
        """Numbers of held-out sessions that are drawn anew, a row each time: always the same."""
        count = len(self.test)
        return np.random.default_rng(150).integers(count, size=(RESAMPLED, count))

    def _drawn(self, many: Floats, few: Floats, near: Floats, seed: int) -> _Drawn:
        return _Drawn(
            metrics.Distances.of(self.test, many),
            metrics.Distances.of(self._log_count(self.test), self._log_count(many)),
            metrics.rank_correlation(many),
            metrics.boosted_test(self.test, few, seed),
            metrics.nearest_neighbour_test(self.test, few),
            float(np.median(metrics.nearest(self.train, near))),
        )

    def _measured(self, drawn: _Drawn, anew: NDArray[np.int64]) -> Measured:
        expected = metrics.nearest(self.train, self.test)
        every = np.arange(len(self.test))
        resampled = [self._quantities(drawn, expected, rows) for rows in anew]
        return Measured(
            self._quantities(drawn, expected, every),
            drawn.distances.against(every),
            np.array(resampled).reshape(-1, len(QUANTITIES)),
        )

    def _quantities(self, drawn: _Drawn, expected: Floats, rows: NDArray[np.int64]) -> Floats:
        """The quantities against these of the held-out sessions."""
        distance = drawn.distances.against(rows)
        total = metrics.COMPARED.index("total")
        trees = drawn.trees.against(rows)
        return np.array(
            [
                distance.mean(),
                distance[total] * self.scale.deviation[total],
                drawn.of_counts.against(rows)[0],
                metrics.between(metrics.rank_correlation(self.test[rows]), drawn.correlation),
                trees.accuracy,
                trees.auc,
                drawn.neighbours.against(rows).accuracy,
                drawn.near / np.median(expected[rows]),
            ]
        )

    def _log_count(self, rows: Floats) -> Floats:
        column = rows[:, :1] * self.scale.deviation[0] + self.scale.mean[0]
        return np.asarray(np.log1p(np.maximum(column, 0.0)))


def real(sessions: Sequence[Step], seeds: int) -> list[Measured]:
    """Real sessions against real ones: random divisions of the same sizes as the models'."""
    measured = []
    for seed in range(1, seeds + 1):
        parts = split(list(sessions), seed)
        others = parts.train + parts.valid
        measured.append(Judge.of(parts).measure_real(others, parts.valid, seed))
    return measured


def summary(runs: Sequence[Measured]) -> tuple[Floats, Floats | None]:
    """Means over seeds, and half the widths of their intervals; one seed has none."""
    rows = np.array([run.quantities for run in runs])
    mean = rows.mean(axis=0)
    if len(rows) == 1:
        return mean, None
    anew = np.mean([run.resampled for run in runs], axis=0)
    sampling = 1.96 * anew.std(axis=0, ddof=1) if len(anew) else np.zeros_like(mean)
    return mean, np.sqrt(half_width(rows) ** 2 + sampling**2)


def acceptable(generator: Sequence[Measured], rival: Sequence[Measured]) -> bool:
    """Whether a generator may take the rival's place.

    Four of five marginals are at most a tenth further from the held-out sessions than the rival's,
    trees tell it worse, and it neither repeats training sessions nor strays from them.
    """
    ours, theirs = (
        np.mean([run.wasserstein for run in runs], axis=0) for runs in (generator, rival)
    )
    near = float(np.mean(ours <= 1.1 * theirs))
    means = [np.mean([run.quantities for run in runs], axis=0) for runs in (generator, rival)]
    area, kept = (_number(name) for name in ("trees: AUC", "memorisation"))
    return near >= 0.8 and means[0][area] < means[1][area] and 0.8 <= means[0][kept] <= 1.25


def _number(quantity: str) -> int:
    return [name for name, _ in QUANTITIES].index(quantity)
