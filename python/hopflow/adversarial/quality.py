"""How good samples of images are, by measures that blur cannot buy.

All are taken on the features of a small classifier that is trained on the labelled training data:

- the Fréchet distance of two sets, each taken for a normal distribution (Heusel et al., "GANs
  Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium", NIPS 2017);
- precision, the share of samples that lie among real images, and recall, the share of real images
  that lie among samples (Kynkäänniemi et al., "Improved Precision and Recall Metric for Assessing
  Generative Models", NeurIPS 2019).

Values of one classifier can be compared with each other, and with nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from hopflow.adversarial.nets import Layer, Perceptron
from hopflow.adversarial.settings import Parameters

_SEED = 7
_BATCH = 100
_EPOCHS = 5
_NEIGHBOURS = 3
_ROWS = 500


@dataclass(frozen=True)
class Classifier:
    """A perceptron that tells classes of images apart.

    Attributes:
        net: The net; the layer before the last gives the features.
        parameters: Its weights and biases.
    """

    net: Perceptron
    parameters: Parameters

    def features(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Outputs of the last hidden layer, shape `(n, units)`."""
        layers = self.net.apply(self.parameters, jnp.asarray(x), method=Perceptron.activations)
        return np.asarray(layers[-2], np.float64)

    def classes(self, x: NDArray[np.floating]) -> NDArray[np.int64]:
        """The most likely class of each image."""
        logits = jnp.asarray(self.net.apply(self.parameters, jnp.asarray(x)))
        return np.asarray(jnp.argmax(logits, axis=1), np.int64)


def classifier(x: NDArray[np.floating], labels: NDArray[np.integer]) -> Classifier:
    """A classifier of images, the same for the same data: two hidden layers, five epochs of Adam.

    Args:
        x: Pixels between 0 and 1, shape `(n, pixels)`.
        labels: Classes from 0 on, shape `(n,)`.
    """
    count = int(labels.max()) + 1
    layers = Layer(256, "relu", keep=0.8), Layer(64, "relu", keep=0.8), Layer(count, "linear")
    net, rule, key = Perceptron(layers), optax.adam(1e-3), jax.random.key(_SEED)
    parameters = net.init(jax.random.fold_in(key, 0), jnp.zeros((1, x.shape[1])))
    held, held_labels = jnp.asarray(x, jnp.float32), jnp.asarray(labels)

    def loss(parameters: Parameters, rows: jax.Array, dropout: jax.Array) -> jax.Array:
        logits = net.apply(parameters, held[rows], None, dropout)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, held_labels[rows])
        return jnp.mean(losses)

    def step(
        carry: tuple[Parameters, optax.OptState], of: tuple[jax.Array, jax.Array]
    ) -> tuple[tuple[Parameters, optax.OptState], None]:
        parameters, memory = carry
        change, memory = rule.update(jax.grad(loss)(parameters, *of), memory)
        return (optax.apply_updates(parameters, change), memory), None

    batches = len(x) // _BATCH
    carry = parameters, rule.init(parameters)
    for epoch in range(1, _EPOCHS + 1):
        for_order, for_dropout = jax.random.split(jax.random.fold_in(key, epoch))
        order = jax.random.permutation(for_order, len(x))[: batches * _BATCH]
        of = order.reshape(batches, _BATCH), jax.random.split(for_dropout, batches)
        carry, _ = jax.lax.scan(step, carry, of)
    return Classifier(net, carry[0])


def frechet(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The squared Fréchet distance of two sets, each taken for a normal distribution.

    Args:
        one: Features, shape `(n, d)`.
        other: Features, shape `(m, d)`.
    """
    of_one, of_other = np.cov(one, rowvar=False), np.cov(other, rowvar=False)
    # The trace of the root of the product is that of a symmetric matrix with the same eigenvalues.
    root = _root(of_one)
    between = np.linalg.eigvalsh(root @ of_other @ root)
    traces = np.trace(of_one) + np.trace(of_other) - 2.0 * np.sqrt(np.maximum(between, 0.0)).sum()
    return float(((one.mean(axis=0) - other.mean(axis=0)) ** 2).sum() + traces)


def precision_and_recall(
    real: NDArray[np.float64], samples: NDArray[np.float64], neighbours: int = _NEIGHBOURS
) -> tuple[float, float]:
    """The share of samples that lie among real images, and of real images that lie among samples.

    A point lies among others if it is as close to one of them as that one's `neighbours`-th
    neighbour.

    Args:
        real: Features of real images, shape `(n, d)`.
        samples: Features of samples, shape `(m, d)`.
        neighbours: See above; the paper's number by default.
    """
    return _share_among(samples, real, neighbours), _share_among(real, samples, neighbours)


def _share_among(
    points: NDArray[np.float64], others: NDArray[np.float64], neighbours: int
) -> float:
    # The nearest is the point itself.
    radii = [
        np.partition(rows, neighbours, axis=1)[:, neighbours] for rows in _squares(others, others)
    ]
    reach = np.concatenate(radii)[None, :]
    return float(
        np.concatenate([(rows <= reach).any(axis=1) for rows in _squares(points, others)]).mean()
    )


def _squares(x: NDArray[np.float64], y: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Squared distances from rows of `x` to all of `y`, some rows at a time."""
    norms = (y**2).sum(axis=1)
    for begin in range(0, len(x), _ROWS):
        part = x[begin : begin + _ROWS]
        yield (part**2).sum(axis=1)[:, None] + norms - 2.0 * part @ y.T


def _root(symmetric: NDArray[np.float64]) -> NDArray[np.float64]:
    """The root of a symmetric matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(symmetric)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
