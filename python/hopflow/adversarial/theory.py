"""Section 4 of Goodfellow et al. 2014 on finite supports: D's optimum, C(G), and where it is least.

A distribution is an array of probabilities over the same points, a discriminator one of values
between 0 and 1. All logarithms are natural.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def value(discriminator: Vector, data: Vector, generated: Vector) -> float:
    """V(D, G) of equation 1: the mean of log D over data and of log(1 - D) over samples."""
    return float(_mean_log(data, discriminator) + _mean_log(generated, 1.0 - discriminator))


def optimal_discriminator(data: Vector, generated: Vector) -> Vector:
    """D* of equation 2: `p_data / (p_data + p_g)`; one half where both are zero."""
    both = data + generated
    return np.divide(data, both, out=np.full_like(both, 0.5), where=both > 0.0)


def criterion(data: Vector, generated: Vector) -> float:
    """C(G) of equation 4: V at the optimal discriminator.

    As sums of `p log(p / (p_data + p_g))`: `1 - D*` would be rounded to 0 where it is tiny.
    """
    both = data + generated
    return kullback_leibler(data, both) + kullback_leibler(generated, both)


def jensen_shannon(p: Vector, q: Vector) -> float:
    """The Jensen-Shannon divergence of two distributions, in nats."""
    middle = 0.5 * (p + q)
    return 0.5 * (kullback_leibler(p, middle) + kullback_leibler(q, middle))


def kullback_leibler(p: Vector, q: Vector) -> float:
    """The Kullback-Leibler divergence of `p` from `q`, in nats; `q` is positive where `p` is."""
    inside = p > 0.0
    return float(np.sum(p[inside] * np.log(p[inside] / q[inside])))


def learn_discriminator(data: Vector, generated: Vector, steps: int = 100) -> Vector:
    """The discriminator that Newton's method finds from D = 1/2, without knowing equation 2.

    V is concave in each point's logit: with `D = sigmoid(u)`, its slope is
    `p_data - (p_data + p_g) D` and its curvature `-(p_data + p_g) D (1 - D)`.
    """
    u = np.zeros_like(data)
    for _ in range(steps):
        found = _sigmoid(u)
        slope = data - (data + generated) * found
        curvature = (data + generated) * found * (1.0 - found)
        u += np.clip(slope / np.maximum(curvature, 1e-300), -1.0, 1.0)
    return _sigmoid(u)


def learn_generator(data: Vector, start: Vector, rate: float, steps: int) -> list[float]:
    """C(G) along the descent of Proposition 2, with the discriminator optimal at every step.

    The distribution is a softmax of logits; the gradient of the criterion with respect to `p_g`,
    for the discriminator held, is `log(1 - D*)`.

    Args:
        data: p_data.
        start: The first p_g; positive everywhere.
        rate: Step size.
        steps: Number of steps.

    Returns:
        C(G) before the first and after each step, shape `(steps + 1,)`.
    """
    logits = np.log(start)
    criteria = []
    for _ in range(steps + 1):
        generated = np.exp(logits - logits.max())
        generated /= generated.sum()
        criteria.append(criterion(data, generated))
        # in the geometry of the simplex the step is the gradient itself (mirror descent)
        logits -= rate * np.log(generated / (data + generated))
    return criteria


def _mean_log(weights: Vector, values: Vector) -> float:
    inside = weights > 0.0
    return float(np.sum(weights[inside] * np.log(values[inside])))


def _sigmoid(u: Vector) -> Vector:
    return np.asarray(1.0 / (1.0 + np.exp(-u)))
