"""Log-likelihood by Gaussian Parzen windows on a generator's samples.

The protocol of Breuleux et al. as Goodfellow et al. 2014 (section 5, Table 1) use it: a Gaussian of
width sigma on each sample, sigma from validation data, the mean over the test data. It has a high
variance and can rank clusters' centres above the data (Theis et al. 2016): never judge by it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIGMAS: NDArray[np.float64] = np.logspace(-1.0, 0.0, 10)
"""The authors' grid of widths."""

_ROWS = 500


@dataclass(frozen=True)
class Estimate:
    """A mean log-likelihood in nats.

    Attributes:
        mean: Mean over the examples.
        error: Standard error of the mean, over the examples.
        sigma: Width of the windows.
        values: The log-likelihood of each example.
    """

    mean: float
    error: float
    sigma: float
    values: NDArray[np.float64]

    def __str__(self) -> str:
        return f"{self.mean:.1f} +- {self.error:.1f} nats (sigma {self.sigma:.4f})"


def estimate(
    samples: NDArray[np.floating],
    validation: NDArray[np.floating],
    test: NDArray[np.floating],
    sigmas: NDArray[np.floating] = SIGMAS,
) -> Estimate:
    """Chooses sigma on the validation data and estimates on the test data.

    Args:
        samples: Samples of the generator, shape `(s, d)`.
        validation: Shape `(v, d)`; the authors took the first 1,000 rows.
        test: Shape `(t, d)`.
        sigmas: The widths to choose from.
    """
    sigma = choose_sigma(samples, validation, sigmas).sigma
    return log_likelihood(samples, test, sigma)


def choose_sigma(
    samples: NDArray[np.floating],
    validation: NDArray[np.floating],
    sigmas: NDArray[np.floating] = SIGMAS,
) -> Estimate:
    """The width with the largest mean log-likelihood of the validation data, and that mean."""
    columns = np.stack([values for values in _likelihoods(samples, validation, sigmas)])
    best = int(np.argmax(columns.mean(axis=1)))
    return _estimate(columns[best], float(sigmas[best]))


def log_likelihood(
    samples: NDArray[np.floating], x: NDArray[np.floating], sigma: float
) -> Estimate:
    """The log-likelihood of `x`, shape `(n, d)`, for windows of width `sigma`."""
    (values,) = _likelihoods(samples, x, np.asarray([sigma]))
    return _estimate(values, sigma)


def _estimate(values: NDArray[np.float64], sigma: float) -> Estimate:
    error = float(values.std(ddof=0) / np.sqrt(len(values)))
    return Estimate(float(values.mean()), error, sigma, values)


def _likelihoods(
    samples: NDArray[np.floating], x: NDArray[np.floating], sigmas: NDArray[np.floating]
) -> Iterator[NDArray[np.float64]]:
    """For each sigma, `log mean_i exp(-|x - s_i|^2 / 2 sigma^2) - d log(sigma sqrt(2 pi))`."""
    if samples.ndim != 2 or x.ndim != 2 or samples.shape[1] != x.shape[1]:
        raise ValueError(f"samples {samples.shape} and data {x.shape} must be matrices alike")
    chunks = [
        np.stack([_log_mean_exp(distances, float(sigma)) for sigma in sigmas])
        for distances in _distances(samples, x)
    ]
    values = np.concatenate(chunks, axis=1)
    for sigma, row in zip(sigmas, values, strict=True):
        yield row - samples.shape[1] * np.log(sigma * np.sqrt(2.0 * np.pi))


def _distances(
    samples: NDArray[np.floating], x: NDArray[np.floating]
) -> Iterator[NDArray[np.float64]]:
    """Squared distances from rows of `x` to all samples, some rows at a time."""
    centres = np.ascontiguousarray(samples, dtype=np.float32)
    norms = np.sum(centres.astype(np.float64) ** 2, axis=1)
    for begin in range(0, len(x), _ROWS):
        rows = np.ascontiguousarray(x[begin : begin + _ROWS], dtype=np.float32)
        own = np.sum(rows.astype(np.float64) ** 2, axis=1)
        products = (rows @ centres.T).astype(np.float64)
        yield np.maximum(own[:, None] + norms[None, :] - 2.0 * products, 0.0)


def _log_mean_exp(distances: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    exponents = distances * (-0.5 / sigma**2)
    largest = exponents.max(axis=1)
    sums = np.exp(exponents - largest[:, None]).sum(axis=1)
    return np.asarray(largest + np.log(sums / distances.shape[1]))
