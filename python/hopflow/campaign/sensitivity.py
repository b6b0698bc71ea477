"""Which parameters matter: a surrogate fitted to the points, and its Sobol indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_POINTS = 8
"""Fewer points fit anything."""


@dataclass(frozen=True)
class Sensitivity:
    """How a quantity depends on the parameters, as a surrogate tells.

    Attributes:
        first: By parameter, the share of the variance that it explains alone.
        total: By parameter, the share that is lost where it is fixed, with its interactions.
        error: Root of the mean squared error of the surrogate at points that it was not fitted to,
            as a share of the spread of the values: near 0 where it can be trusted, 1 where the mean
            would do as well.
    """

    first: tuple[float, ...]
    total: tuple[float, ...]
    error: float


def sensitivity(
    settings: NDArray[np.float64], values: NDArray[np.float64], log: Sequence[bool]
) -> Sensitivity | None:
    """Fits a Gaussian process, and takes the Sobol indices over the box of the settings.

    Args:
        settings: A row per point, a column per parameter.
        values: One per point.
        log: By parameter, whether ratios count and not differences.

    Returns:
        `None` where there are too few points, or nothing varies.
    """
    if len(values) < LEAST_POINTS or float(values.std()) == 0.0:
        return None
    from scipy.stats import sobol_indices, uniform
    from sklearn.base import clone
    from sklearn.model_selection import KFold, cross_val_predict

    place = np.where(np.asarray(log), np.log(np.where(np.asarray(log), settings, 1.0)), settings)
    low, high = place.min(axis=0), place.max(axis=0)
    unit = (place - low) / np.where(high > low, high - low, 1.0)
    model = _model(unit.shape[1]).fit(unit, values)
    folds = KFold(min(10, len(values)), shuffle=True, random_state=0)
    # The length scales stay: finding them anew for each fold takes ten times as long.
    again = clone(model).set_params(kernel=model.kernel_, optimizer=None)
    predicted = cross_val_predict(again, unit, values, cv=folds)
    error = float(np.sqrt(np.mean((predicted - values) ** 2)) / values.std())
    found = sobol_indices(
        func=lambda x: model.predict(x.T),
        n=1024,
        dists=[uniform()] * unit.shape[1],
        rng=np.random.default_rng(0),
    )
    return Sensitivity(
        tuple(map(float, found.first_order)), tuple(map(float, found.total_order)), error
    )


def _model(dimensions: int):  # type: ignore[no-untyped-def]
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF([1.0] * dimensions, (5e-2, 1e3))
    noise = WhiteKernel(1e-2, (1e-8, 1.0))
    return GaussianProcessRegressor(kernel + noise, normalize_y=True, random_state=0)
