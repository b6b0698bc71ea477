"""The nets and settings of Goodfellow et al. 2014, section 5, as their authors ran them.

The paper tells little of them; the values are those of the settings that the authors published.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.convolutional import ConvolutionalDiscriminator, ConvolutionalGenerator
from hopflow.adversarial.nets import Layer, Perceptron
from hopflow.adversarial.optimisers import Adam, Momentum
from hopflow.adversarial.settings import Settings

MNIST = Settings(schedule="simultaneous")
"""Simultaneous updates, batches of 100, rate 0.1, uniform noise of 100 dimensions."""

_CIFAR_RULE = Momentum(rate=0.025)
CIFAR = Settings(
    schedule="simultaneous",
    noise="gaussian",
    generator_rule=_CIFAR_RULE,
    discriminator_rule=_CIFAR_RULE,
)
"""For the fully connected nets on CIFAR-10: rate 0.025, Gaussian noise."""

_CONVOLUTIONAL_RULE = Momentum(rate=0.004)
CIFAR_CONVOLUTIONAL = replace(
    CIFAR,
    batch=128,
    generator_rule=_CONVOLUTIONAL_RULE,
    discriminator_rule=_CONVOLUTIONAL_RULE,
)
"""For the convolutional nets on CIFAR-10: rate 0.004, batches of 128."""


def maxout_discriminator(
    units: int, pieces: int = 5, scale: float | None = 0.005, keep: tuple[float, float] = (0.8, 0.5)
) -> Perceptron:
    """Two layers of maxout units and a logit.

    Args:
        units: Units of each layer.
        pieces: Linear pieces of each unit.
        scale: See `Layer`.
        keep: What dropout keeps of the inputs, and of each hidden layer.
    """
    first, then = keep
    return Perceptron(
        (
            Layer(units, "maxout", scale, pieces=pieces, keep=first),
            Layer(units, "maxout", scale, pieces=pieces, keep=then),
            Layer(1, "linear", scale, keep=then),
        )
    )


def logit_of_mean(data: NDArray[np.floating]) -> tuple[float, ...]:
    """Output biases with which a sigmoid layer begins at the mean of the data, shape `(n, d)`."""
    mean = np.clip(np.asarray(data, np.float64).mean(axis=0), 1e-7, 1.0 - 1e-7)
    return tuple(float(value) for value in np.log(mean / (1.0 - mean)))


def _generator(data: NDArray[np.floating], hidden: int, scale: float | None = None) -> Perceptron:
    """Two layers of rectifiers, and pixels that begin at the mean of the data."""
    return Perceptron(
        (
            Layer(hidden, "relu", scale),
            Layer(hidden, "relu", scale),
            Layer(data.shape[1], "sigmoid", scale, bias=logit_of_mean(data)),
        )
    )


def mnist(
    data: NDArray[np.floating],
    settings: Settings = MNIST,
    hidden: int = 1200,
    units: int = 240,
) -> Game:
    """The nets for MNIST, for data of shape `(n, pixels)` between 0 and 1.

    Args:
        data: The training data.
        settings: How the game is played.
        hidden: Units of each of the generator's hidden layers.
        units: Maxout units of each of the discriminator's hidden layers.
    """
    pixels = data.shape[1]
    generator = _generator(data, hidden, 0.05)
    return Game(generator, maxout_discriminator(units), settings, len(data), (pixels,))


def mnist_penalised(data: NDArray[np.floating]) -> Game:
    """Nets as large as `mnist`'s, trained our way: no seed collapses.

    With the authors' settings many do: in the first epochs the discriminator rejects all samples,
    and its slopes, which nothing bounds, drive the generator from image to image. The penalty R1
    bounds them, and makes dropout superfluous. Samples are made with a running mean of the
    generator's weights over some four epochs, without the noise of the last updates: while the
    generator still changes quickly this blurs them, which Parzen windows reward.
    `docs/reproductions.md` has what each is worth.

    Args:
        data: The training data, between 0 and 1, shape `(n, pixels)`.
    """
    pixels = data.shape[1]
    generator = _generator(data, 1200)
    discriminator = maxout_discriminator(240, scale=None, keep=(1.0, 1.0))
    rule = Adam(5e-4, b1=0.0, b2=0.99)
    settings = Settings(
        loss="non-saturating-r1",
        penalty=0.5,
        average=0.9995,
        generator_rule=rule,
        discriminator_rule=rule,
    )
    return Game(generator, discriminator, settings, len(data), (pixels,))


def small(data: NDArray[np.floating], hidden: int = 64, units: int = 32) -> Game:
    """Small nets for small images, ours: they learn in seconds, with Adam.

    Args:
        data: The training data, between 0 and 1, shape `(n, pixels)`.
        hidden: Units of each of the generator's hidden layers.
        units: Maxout units of each of the discriminator's hidden layers.
    """
    pixels = data.shape[1]
    generator = _generator(data, hidden)
    discriminator = maxout_discriminator(units, pieces=3, scale=None, keep=(1.0, 0.8))
    settings = Settings(
        batch=50,
        noise_size=20,
        average=0.99,
        generator_rule=Adam(2e-3),
        discriminator_rule=Adam(2e-3),
    )
    return Game(generator, discriminator, settings, len(data), (pixels,))


def cifar(examples: int, settings: Settings = CIFAR) -> Game:
    """The fully connected nets for CIFAR-10, for `examples` images as 3,072 numbers each."""
    generator = Perceptron(
        (
            Layer(8000, "relu", 0.05),
            Layer(8000, "sigmoid", 0.05),
            Layer(3072, "linear", 0.5),
        )
    )
    return Game(generator, maxout_discriminator(1600), settings, examples, (3072,))


def cifar_convolutional(examples: int, settings: Settings = CIFAR_CONVOLUTIONAL) -> Game:
    """The convolutional nets for CIFAR-10, for `examples` images of shape `(32, 32, 3)`."""
    generator = ConvolutionalGenerator(
        (Layer(8000, "relu", 0.05), Layer(8000, "sigmoid", 0.05)),
    )
    discriminator = ConvolutionalDiscriminator(
        (
            Layer(500, "maxout", 0.005, pieces=5, keep=0.5),
            Layer(1, "linear", 0.005, keep=0.5),
        )
    )
    return Game(generator, discriminator, settings, examples, (32, 32, 3))
