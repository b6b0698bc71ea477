from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hopflow.adversarial import Layer, Perceptron, paper
from hopflow.adversarial.nets import activate, drop


def test_maxout_takes_the_largest_piece_of_each_unit() -> None:
    sums = jnp.asarray([[1.0, 5.0, -2.0, 0.0, -7.0, -1.0]])
    found = activate(sums, Layer(2, "maxout", pieces=3))
    np.testing.assert_array_equal(found, [[5.0, 0.0]])


def test_dropout_keeps_the_mean_and_only_acts_with_a_key() -> None:
    x = jnp.ones((200, 200))
    dropped = drop(x, 0.8, jax.random.key(1))
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.01)
    assert set(np.unique(dropped)) == {0.0, np.float32(1.25)}
    assert drop(x, 0.8, None) is x


def test_weights_begin_within_their_scale_and_biases_where_told() -> None:
    net = Perceptron((Layer(50, "relu", 0.05), Layer(3, "sigmoid", 0.01, bias=(1.0, 2.0, 3.0))))
    parameters = net.init(jax.random.key(0), jnp.zeros((1, 20)))["params"]
    assert 0.045 < float(jnp.abs(parameters["layer0"]["kernel"]).max()) <= 0.05
    np.testing.assert_array_equal(parameters["layer1"]["bias"], [1.0, 2.0, 3.0])


def test_the_nets_for_mnist_have_the_authors_sizes() -> None:
    data = np.full((100, 784), 0.25, np.float32)
    state = paper.mnist(data).start(0)
    shapes = jax.tree.map(jnp.shape, state.generator["params"])
    assert [shapes[f"layer{n}"]["kernel"] for n in range(3)] == [
        (100, 1200),
        (1200, 1200),
        (1200, 784),
    ]
    shapes = jax.tree.map(jnp.shape, state.discriminator["params"])
    assert [shapes[f"layer{n}"]["kernel"] for n in range(3)] == [(784, 1200), (240, 1200), (240, 1)]
    bias = state.generator["params"]["layer2"]["bias"]
    np.testing.assert_allclose(jax.nn.sigmoid(bias), 0.25, rtol=1e-5)


def test_the_convolutional_pair_fits_images_of_32_pixels() -> None:
    game = paper.cifar_convolutional(128)
    z = jnp.zeros((1, 100))
    shape = jax.eval_shape(lambda: game.generator.init_with_output(jax.random.key(0), z)[0]).shape
    assert shape == (1, 32, 32, 3)
    x = jnp.zeros((1, 32, 32, 3))
    logits = jax.eval_shape(
        lambda: game.discriminator.init_with_output(jax.random.key(0), x, None, jax.random.key(1))
    )[0]
    assert logits.shape == (1, 1)
