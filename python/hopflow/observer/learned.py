"""Training discriminators: several seeds at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from hopflow.adversarial.nets import Layer, Perceptron
from hopflow.observer.score import Doubles
from hopflow.observer.traces import Floats, Numbers

BATCH, STEPS, EPOCHS = 64, 32, 10
"""Examples per step, steps between two looks at the validation data, and such looks."""

RATE, DECAY = 1e-3, 1e-3
"""Learning rate and weight decay of AdamW (Loshchilov and Hutter, ICLR '19)."""

PAD = 1024
"""Data are padded to multiples of this, so that what is compiled serves all transports."""

Params = Any


def discriminator(classes: int) -> Perceptron:
    """Two layers of 64 maxout units of three pieces with dropout (Goodfellow et al. 2013)."""
    return Perceptron(
        (
            Layer(64, "maxout", pieces=3, keep=0.8),
            Layer(64, "maxout", pieces=3, keep=0.5),
            Layer(classes, "linear", keep=0.5),
        )
    )


class _Data(NamedTuple):
    """Examples, padded; the first `real` are examples."""

    x: jax.Array
    y: jax.Array
    real: jax.Array


def _padded(x: Floats, y: Numbers) -> _Data:
    more = -len(x) % PAD
    wide = np.pad(x, ((0, more), (0, 0)))
    return _Data(jnp.asarray(wide), jnp.asarray(np.pad(y, (0, more))), jnp.asarray(len(x)))


class _State(NamedTuple):
    params: Params
    moments: Any
    best: Params
    least: jax.Array


def _loss(logits: Any, labels: jax.Array) -> jax.Array:
    return jnp.asarray(optax.softmax_cross_entropy_with_integer_labels(logits, labels))


def _epoch(net: Perceptron, state: _State, data: _Data, valid: _Data, key: jax.Array) -> _State:
    """Some steps, and a look at the validation data: the best parameters so far are kept."""
    rule = optax.adamw(RATE, weight_decay=DECAY)

    def step(carry: tuple[Params, Any], key: jax.Array) -> tuple[tuple[Params, Any], None]:
        params, moments = carry
        draw, drop = jax.random.split(key)
        rows = jax.random.randint(draw, (BATCH,), 0, data.real)

        def cost(params: Params) -> jax.Array:
            logits = net.apply(params, data.x[rows], dropout=drop)
            return _loss(logits, data.y[rows]).mean()

        updates, moments = rule.update(jax.grad(cost)(params), moments, params)
        return (optax.apply_updates(params, updates), moments), None

    carry = (state.params, state.moments)
    (params, moments), _ = jax.lax.scan(step, carry, jax.random.split(key, STEPS))
    losses = _loss(net.apply(params, valid.x), valid.y)
    among = jnp.arange(len(losses)) < valid.real
    loss = jnp.where(among, losses, 0.0).sum() / valid.real
    better = loss < state.least
    best = jax.tree.map(lambda new, old: jnp.where(better, new, old), params, state.best)
    return _State(params, moments, best, jnp.minimum(loss, state.least))


_epochs = jax.jit(
    jax.vmap(_epoch, in_axes=(None, 0, None, None, 0)),
    static_argnums=0,
)


def fit(
    train: tuple[Floats, Numbers],
    valid: tuple[Floats, Numbers],
    classes: int,
    seeds: Sequence[int],
) -> Callable[[Floats], Doubles]:
    """Trains a discriminator per seed; returns what tells probabilities, `(seeds, n, classes)`.

    Args:
        train: Scaled features and labels.
        valid: The same, by whose loss the parameters are chosen.
        classes: Number of labels.
        seeds: Of initial weights, batches and dropout.
    """
    net = discriminator(classes)
    data, held = _padded(*train), _padded(*valid)
    keys = jnp.stack([jax.random.key(seed) for seed in seeds])
    first = jax.vmap(lambda key: net.init(key, data.x[:1]))(keys)
    moments = jax.vmap(optax.adamw(RATE, weight_decay=DECAY).init)(first)
    state = _State(first, moments, first, jnp.full(len(seeds), jnp.inf))
    for epoch in range(EPOCHS):
        folded = jax.vmap(lambda key, n=epoch: jax.random.fold_in(key, n + 1))(keys)
        state = _epochs(net, state, data, held, folded)

    def predict(features: Floats) -> Doubles:
        logits = jax.vmap(lambda params: net.apply(params, jnp.asarray(features)))(state.best)
        return np.asarray(jax.nn.softmax(jnp.asarray(logits), -1), np.float64)

    return predict
