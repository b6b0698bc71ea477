"""Generators and discriminators: perceptrons of ReLU, sigmoid, maxout and linear layers.

Sizes and initial values are written down by the caller, layer by layer: `hopflow.adversarial.paper`
has the nets of the paper (Goodfellow et al. 2014, section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from flax import linen as nn
from flax.typing import Initializer

Activation = Literal["relu", "leaky-relu", "sigmoid", "tanh", "linear", "maxout"]
"""What a layer does with its weighted sums."""

_ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": nn.relu,
    "leaky-relu": lambda x: nn.leaky_relu(x, 0.2),
    "sigmoid": nn.sigmoid,
    "tanh": nn.tanh,
    "linear": lambda x: x,
}


@dataclass(frozen=True)
class Layer:
    """A fully connected layer.

    Attributes:
        width: Units of the output.
        activation: What follows the weighted sums.
        scale: Weights are drawn uniformly between `-scale` and `scale`; `None`: Glorot's uniform
            distribution.
        pieces: Linear pieces of each unit; for `maxout` only (Goodfellow et al. 2013).
        bias: The initial biases: one value, or one for each unit.
        keep: The probability with which dropout keeps each of the layer's inputs.
    """

    width: int
    activation: Activation
    scale: float | None = None
    pieces: int = 1
    bias: float | tuple[float, ...] = 0.0
    keep: float = 1.0

    def __post_init__(self) -> None:
        if self.activation not in (*_ACTIVATIONS, "maxout"):
            allowed = ", ".join((*_ACTIVATIONS, "maxout"))
            raise ValueError(f"activation is {self.activation!r}; allowed are {allowed}")
        if (self.pieces == 1) == (self.activation == "maxout"):
            raise ValueError("maxout needs two pieces or more, all others have one")
        if not 0.0 < self.keep <= 1.0:
            raise ValueError(f"keep is {self.keep}; allowed is a probability above 0")


def uniform(scale: float | None) -> Initializer:
    """Weights between `-scale` and `scale`, or Glorot's for `None`."""
    if scale is None:
        return nn.initializers.glorot_uniform()

    def init(key: jax.Array, shape: Sequence[int], dtype: object = jnp.float32) -> jax.Array:
        return jax.random.uniform(key, tuple(shape), jnp.float32, -scale, scale)

    return init


def _biases(bias: float | tuple[float, ...]) -> Initializer:
    def init(key: jax.Array, shape: Sequence[int], dtype: object = jnp.float32) -> jax.Array:
        return jnp.broadcast_to(jnp.asarray(bias, jnp.float32), tuple(shape))

    return init


def drop(x: jax.Array, keep: float, key: jax.Array | None) -> jax.Array:
    """Dropout that keeps each value with probability `keep` and scales what is kept by `1 / keep`.

    Without a `key` nothing is dropped.
    """
    if key is None or keep == 1.0:
        return x
    return jnp.where(jax.random.bernoulli(key, keep, x.shape), x / keep, 0.0)


class Perceptron(nn.Module):
    """A multilayer perceptron.

    Attributes:
        layers: From the first hidden layer to the output.
    """

    layers: tuple[Layer, ...]

    def __call__(
        self,
        x: jax.Array,
        condition: jax.Array | None = None,
        dropout: jax.Array | None = None,
    ) -> jax.Array:
        """The output, shape `(n, width of the last layer)`.

        Args:
            x: Inputs, shape `(n, ...)`; what is behind the first axis is flattened.
            condition: What the net is told besides, shape `(n, c)`: it is appended to the inputs
                (Goodfellow et al. 2014, section 7, item 1).
            dropout: A key for dropout; without one nothing is dropped.
        """
        return self.activations(x, condition, dropout)[-1]

    @nn.compact
    def activations(
        self,
        x: jax.Array,
        condition: jax.Array | None = None,
        dropout: jax.Array | None = None,
    ) -> list[jax.Array]:
        """The outputs of all layers, from the first hidden one on."""
        h = x.reshape(x.shape[0], -1)
        if condition is not None:
            h = jnp.concatenate([h, condition.astype(h.dtype)], axis=1)
        keys = split(dropout, len(self.layers))
        outputs = []
        for number, (layer, key) in enumerate(zip(self.layers, keys, strict=True)):
            h = drop(h, layer.keep, key)
            h = nn.Dense(
                layer.width * layer.pieces,
                kernel_init=uniform(layer.scale),
                bias_init=_biases(layer.bias),
                name=f"layer{number}",
            )(h)
            h = activate(h, layer)
            outputs.append(h)
        return outputs


def activate(sums: jax.Array, layer: Layer) -> jax.Array:
    """Applies a layer's activation to its weighted sums, shape `(n, width * pieces)`."""
    if layer.activation == "maxout":
        return maxout(sums, layer.pieces)
    return _ACTIVATIONS[layer.activation](sums)


def maxout(sums: jax.Array, pieces: int) -> jax.Array:
    """The largest of each unit's pieces, for sums of shape `(..., units * pieces)`."""
    return sums.reshape(*sums.shape[:-1], -1, pieces).max(axis=-1)


def split(key: jax.Array | None, count: int) -> list[jax.Array | None]:
    """So many keys, or as many times none."""
    return [None] * count if key is None else list(jax.random.split(key, count))
