"""Distributions of single features as short tables: to the unit interval, and back.

A table has the values of a feature at `KNOTS` probabilities, which lie denser at both ends. Between
them the distribution is linear. Tables are fitted on training sessions only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopflow.traffic.step import Floats

#: Entries of a table that is fitted to sessions.
KNOTS = 33

#: Entries of a table that also mends how a net's outputs are distributed.
FINE_KNOTS = 129


def probabilities(knots: int) -> Floats:
    """The probabilities of a table's entries: Chebyshev's, which lie denser at the ends."""
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * np.arange(knots) / (knots - 1)))


@dataclass(frozen=True, slots=True)
class Marginals:
    """The distribution of every feature for itself: `values[feature, knot]`."""

    values: Floats

    @classmethod
    def fit(cls, vectors: Floats) -> Marginals:
        """Tables of the columns of `vectors`."""
        return cls(np.quantile(vectors, probabilities(KNOTS), axis=0).T)

    @property
    def probabilities(self) -> Floats:
        """The probabilities of the entries."""
        return probabilities(self.values.shape[1])

    def after(self, unit: Floats) -> Marginals:
        """Tables that give these distributions to numbers that are distributed as `unit` is.

        Whatever draws rows like those of `unit` then decides on the dependence of features alone.
        """
        fine = probabilities(FINE_KNOTS)
        rows = []
        for knots, column in zip(self.values, np.sort(unit, axis=0).T, strict=True):
            below = np.searchsorted(column, fine, side="right") / len(column)
            rows.append(np.interp(below, self.probabilities, knots))
        return Marginals(np.array(rows))

    def to_unit(self, vectors: Floats, rng: np.random.Generator) -> Floats:
        """Probabilities of at most these values, each in [0, 1].

        A value that has a probability of its own, such as a count of none, becomes a random number
        between the probabilities of less and of at most this value, so that every column is close
        to uniform.
        """
        columns = []
        for knots, column in zip(self.values, vectors.T, strict=True):
            low = _probability(knots, column, "left")
            high = _probability(knots, column, "right")
            columns.append(low + (high - low) * rng.random(len(column)))
        return np.array(columns).T

    def from_unit(self, unit: Floats) -> Floats:
        """Values of these probabilities: the inverse of `to_unit`."""
        columns = [
            np.interp(column, self.probabilities, knots)
            for knots, column in zip(self.values, unit.T, strict=True)
        ]
        return np.array(columns).T


def _probability(knots: Floats, values: Floats, side: str) -> Floats:
    """The probability of less (`left`) or at most (`right`) a value, linear between knots."""
    at = np.searchsorted(knots, values, side="left" if side == "left" else "right")
    inside = np.clip(at, 1, len(knots) - 1)
    low, high = knots[inside - 1], knots[inside]
    width = np.where(high > low, high - low, 1.0)
    part = np.clip((values - low) / width, 0.0, 1.0)
    at_knots = probabilities(len(knots))
    lower, upper = at_knots[inside - 1], at_knots[inside]
    between = lower + (upper - lower) * part
    between = np.where(at == 0, 0.0, between)
    return np.where(at == len(knots), 1.0, between)
