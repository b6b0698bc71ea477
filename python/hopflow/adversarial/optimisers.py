"""Gradient rules: momentum with the paper's schedules, and Adam."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax


@dataclass(frozen=True)
class Momentum:
    """Gradient descent with momentum: `v = m v - r g; p = p + v`.

    The rate is divided by `decay` after every update, and never falls below `floor`. The momentum
    grows linearly, epoch by epoch. The values are those that the authors ran on MNIST.

    Attributes:
        rate: The first learning rate.
        decay: What the rate is divided by after each update.
        floor: The smallest rate.
        first: Momentum until the epoch `grows[0]`.
        last: Momentum from the epoch `grows[1]` on.
        grows: Between which epochs the momentum grows; the first epoch is 0.
    """

    rate: float = 0.1
    decay: float = 1.000004
    floor: float = 1e-6
    first: float = 0.5
    last: float = 0.7
    grows: tuple[int, int] = (1, 250)

    def transformation(self, updates_per_epoch: int) -> optax.GradientTransformation:
        """The rule as Optax has it, for so many updates in each epoch."""

        def rate(update: jax.Array) -> jax.Array:
            decayed = self.rate * jnp.exp(-update * math.log(self.decay))
            return -jnp.maximum(decayed, self.floor)

        def momentum(update: jax.Array) -> jax.Array:
            begin, end = self.grows
            share = (update // updates_per_epoch - begin) / max(end - begin, 1)
            return self.first + (self.last - self.first) * jnp.clip(share, 0.0, 1.0)

        # The rate belongs inside of the velocity: it is applied before the trace.
        return optax.chain(
            optax.scale_by_schedule(rate), optax.inject_hyperparams(optax.trace)(decay=momentum)
        )


@dataclass(frozen=True)
class Adam:
    """Adam; the values are those of Gulrajani et al. 2017 (Algorithm 1) but for `b1`.

    Attributes:
        rate: The step size.
        b1: Decay of the mean gradient.
        b2: Decay of the mean squared gradient.
    """

    rate: float = 1e-4
    b1: float = 0.5
    b2: float = 0.9

    def transformation(self, updates_per_epoch: int) -> optax.GradientTransformation:
        """The rule as Optax has it."""
        return optax.adam(self.rate, b1=self.b1, b2=self.b2)


Optimiser = Momentum | Adam
"""A gradient rule."""
