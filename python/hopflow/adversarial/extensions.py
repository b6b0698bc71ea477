"""What section 7 of Goodfellow et al. 2014 proposes beside conditions, which games have.

An inference net that predicts the noise behind data (item 2), and the discriminator's layers as
features for classifiers that have few labels (item 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.nets import Perceptron
from hopflow.adversarial.settings import Parameters, State


@dataclass(frozen=True)
class Inference:
    """A net that predicts z from x, for a generator that is held.

    Attributes:
        net: The net; its last layer is linear and as wide as the noise.
        parameters: Its weights and biases.
        errors: Mean squared error of each training step.
    """

    net: Perceptron
    parameters: Parameters
    errors: NDArray[np.float64]

    def __call__(self, x: NDArray[np.floating]) -> NDArray[np.float32]:
        """The noise that data were probably made of, shape `(n, noise_size)`."""
        return np.asarray(self.net.apply(self.parameters, jnp.asarray(x)))


def train_inference(
    game: Game, state: State, net: Perceptron, steps: int, seed: int, rate: float = 1e-3
) -> Inference:
    """Trains an inference net on samples, whose noise is known; data are not needed.

    As the wake-sleep algorithm does, but after the generator has been trained.

    Args:
        game: What was played.
        state: Where training stands; it is not changed.
        net: The net to train.
        steps: Minibatches of fresh samples.
        seed: Decides weights and noise.
        rate: Adam's step size.
    """
    if net.layers[-1].width != game.settings.noise_size:
        raise ValueError(
            f"the net's output has the width {net.layers[-1].width}; "
            f"it must be that of the noise, {game.settings.noise_size}"
        )
    key = jax.random.key(seed)
    parameters = net.init(jax.random.fold_in(key, 0), jnp.zeros((1, *game.shape)))
    rule = optax.adam(rate)

    def error(parameters: Parameters, z: jax.Array) -> jax.Array:
        x = game.generator.apply(state.average, z)
        return jnp.mean((jnp.asarray(net.apply(parameters, x)) - z) ** 2)

    def step(carry: tuple[Any, Any], number: jax.Array) -> tuple[tuple[Any, Any], jax.Array]:
        parameters, memory = carry
        z = game.noise(jax.random.fold_in(key, number), game.settings.batch)
        value, gradient = jax.value_and_grad(error)(parameters, z)
        change, memory = rule.update(gradient, memory)
        return (optax.apply_updates(parameters, change), memory), value

    numbers = jnp.arange(1, steps + 1)
    (parameters, _), errors = jax.jit(lambda carry: jax.lax.scan(step, carry, numbers))(
        (parameters, rule.init(parameters))
    )
    return Inference(net, parameters, np.asarray(errors, np.float64))


def features(game: Game, state: State, x: NDArray[np.floating]) -> NDArray[np.float32]:
    """The outputs of the discriminator's hidden layers, side by side, shape `(n, units)`.

    Raises:
        TypeError: The discriminator is not a perceptron.
    """
    if not isinstance(game.discriminator, Perceptron):
        raise TypeError("features are those of a Perceptron")
    layers = game.discriminator.apply(
        state.discriminator, jnp.asarray(x), method=Perceptron.activations
    )
    return np.concatenate([np.asarray(layer) for layer in layers[:-1]], axis=1)
