"""What the players of the game minimise, as functions of the discriminator's logits.

With `D = sigmoid(logit)`, `-log D` is `softplus(-logit)` and `-log(1 - D)` is `softplus(logit)`,
which stay finite where `D` is rounded to 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

LossName = Literal["non-saturating", "non-saturating-r1", "minimax", "wgan-gp"]
"""Names of the losses."""

Critic = Callable[[jax.Array], jax.Array]
"""From points, shape `(n, ...)`, to their logits, shape `(n,)`."""


@dataclass(frozen=True)
class Loss:
    """The losses of both players.

    Attributes:
        discriminator: Of the logits for data and for samples.
        generator: Of the logits for samples.
        penalty: On the discriminator's gradients, of a critic, data, samples and a key.
        weight: What the penalty is multiplied by, unless settings say otherwise.
    """

    discriminator: Callable[[jax.Array, jax.Array], jax.Array]
    generator: Callable[[jax.Array], jax.Array]
    penalty: Callable[[Critic, jax.Array, jax.Array, jax.Array], jax.Array] | None = None
    weight: float = 0.0


def _cross_entropy(real: jax.Array, fake: jax.Array) -> jax.Array:
    """`-V(D, G)` of equation 1: the discriminator maximises V."""
    return jnp.mean(jax.nn.softplus(-real)) + jnp.mean(jax.nn.softplus(fake))


def _non_saturating(fake: jax.Array) -> jax.Array:
    """`-log D(G(z))`: strong gradients while D rejects all samples (section 3)."""
    return jnp.mean(jax.nn.softplus(-fake))


def _minimax(fake: jax.Array) -> jax.Array:
    """`log(1 - D(G(z)))`, the generator's part of equation 1."""
    return -jnp.mean(jax.nn.softplus(fake))


def _critic(real: jax.Array, fake: jax.Array) -> jax.Array:
    return jnp.mean(fake) - jnp.mean(real)


def _criticised(fake: jax.Array) -> jax.Array:
    return -jnp.mean(fake)


def steep_between(critic: Critic, real: jax.Array, fake: jax.Array, key: jax.Array) -> jax.Array:
    """The mean of `(|gradient of the critic| - 1)^2` at points between data and samples.

    Args:
        critic: What is penalised.
        real: Data, shape `(n, ...)`.
        fake: Samples, of the same shape.
        key: For the points: uniform on the lines that join data and samples.
    """
    share = jax.random.uniform(key, (real.shape[0],) + (1,) * (real.ndim - 1))
    points = share * real + (1.0 - share) * fake
    return jnp.mean((jnp.sqrt(_steepness(critic, points) + 1e-12) - 1.0) ** 2)


def flat_on_data(critic: Critic, real: jax.Array, fake: jax.Array, key: jax.Array) -> jax.Array:
    """The mean of `|gradient of the critic|^2` at the data.

    Where samples are like data a discriminator has nothing to tell, so that its slopes there only
    push the generator about; without them, training converges near the solution (Mescheder et al.
    2018, "Which Training Methods for GANs do actually Converge?", section 4).

    Args:
        critic: What is penalised.
        real: Data, shape `(n, ...)`.
        fake: Not looked at.
        key: Not looked at.
    """
    return jnp.mean(_steepness(critic, real))


def _steepness(critic: Critic, points: jax.Array) -> jax.Array:
    """Squared norms of the critic's gradients at points, shape `(n,)`."""
    gradients = jax.grad(lambda x: jnp.sum(critic(x)))(points)
    return jnp.sum(gradients.reshape(gradients.shape[0], -1) ** 2, axis=1)


LOSSES: dict[LossName, Loss] = {
    "non-saturating": Loss(_cross_entropy, _non_saturating),
    "non-saturating-r1": Loss(_cross_entropy, _non_saturating, flat_on_data, weight=5.0),
    "minimax": Loss(_cross_entropy, _minimax),
    "wgan-gp": Loss(_critic, _criticised, steep_between, weight=10.0),
}
"""The losses of Goodfellow et al. 2014 (equation 1 and section 3), the same with the penalty R1
(Mescheder et al. 2018, equation 9 with gamma 10), and Wasserstein's distance with a gradient
penalty (Gulrajani et al. 2017, equation 3 with weight 10)."""
