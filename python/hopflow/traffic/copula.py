"""A Gaussian copula: features with the fitted marginals and the fitted rank correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from hopflow.traffic.marginals import Marginals
from hopflow.traffic.step import Floats, Step
from hopflow.traffic.vector import decode, encode

#: Weight of the identity in the correlation matrix: with fewer sessions than it needs, a matrix of
#: twenty features is otherwise nearly singular.
SHRINKAGE = 1e-3


@dataclass(frozen=True, slots=True)
class Copula:
    """Correlated normal numbers, through the normal distribution function, through marginals."""

    marginals: Marginals
    #: The lower triangular factor of the correlation matrix.
    factor: Floats

    @classmethod
    def fit(cls, steps: tuple[Step, ...], rng: np.random.Generator) -> Copula:
        """Fits marginals and correlations to training sessions."""
        vectors = encode(steps)
        marginals = Marginals.fit(vectors)
        unit = np.clip(marginals.to_unit(vectors, rng), 1e-6, 1.0 - 1e-6)
        correlation = np.corrcoef(special.ndtri(unit), rowvar=False)
        size = len(correlation)
        correlation = (1.0 - SHRINKAGE) * correlation + SHRINKAGE * np.eye(size)
        return cls(marginals, np.linalg.cholesky(correlation))

    def sample(self, count: int, rng: np.random.Generator) -> list[Step]:
        """Draws steps."""
        normal = rng.standard_normal((count, len(self.factor))) @ self.factor.T
        return decode(self.marginals.from_unit(special.ndtr(normal)))
