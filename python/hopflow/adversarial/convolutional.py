"""The convolutional pair for images of 32 by 32 pixels and 3 channels.

The shapes are those of the authors' settings for CIFAR-10: a generator whose last layer is a
transposed convolution, a discriminator of maxout convolutions (Goodfellow et al. 2014, Figure 2 d).
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from flax import linen as nn

from hopflow.adversarial.nets import Layer, Perceptron, drop, maxout, split, uniform


class ConvolutionalGenerator(nn.Module):
    """Fully connected layers, then one transposed convolution to the image.

    Attributes:
        layers: The fully connected layers; the last one's width is `side * side * channels`.
        side: Side of the plane that the last layer is seen as, in pixels.
        kernel: Side of the transposed convolution's kernel, in pixels.
        stride: Its stride: the image has `(side - 1) * stride + kernel` pixels a side.
        scale: Its weights are drawn uniformly between `-scale` and `scale`.
        colours: Channels of the image.
    """

    layers: tuple[Layer, ...]
    side: int = 10
    kernel: int = 5
    stride: int = 3
    scale: float = 0.05
    colours: int = 3

    @nn.compact
    def __call__(self, z: jax.Array, condition: jax.Array | None = None) -> jax.Array:
        """Images, shape `(n, pixels, pixels, colours)`, for noise of shape `(n, noise)`."""
        h = Perceptron(self.layers)(z, condition)
        h = h.reshape(h.shape[0], self.side, self.side, -1)
        image = nn.ConvTranspose(
            self.colours,
            (self.kernel, self.kernel),
            strides=(self.stride, self.stride),
            padding="VALID",
            kernel_init=uniform(self.scale),
            use_bias=False,
        )(h)
        # a bias for each pixel, as the authors had it
        bias = self.param("bias", nn.initializers.zeros, image.shape[1:])
        return image + bias


@dataclass(frozen=True)
class Stage:
    """A convolution with maxout over `pieces`, and pooling of the largest values.

    Attributes:
        channels: Channels of the output.
        kernel: Side of the kernel, in pixels.
        pad: Pixels of zeros around the plane.
        pool: Side of the pooled squares.
        keep: The probability with which dropout keeps each input.
        pieces: Linear pieces of each unit.
        stride: Distance between pooled squares.
    """

    channels: int
    kernel: int
    pad: int
    pool: int
    keep: float = 0.5
    pieces: int = 2
    stride: int = 2


CIFAR_STAGES = (Stage(32, 8, 4, 4, keep=0.8), Stage(32, 8, 3, 4), Stage(192, 5, 3, 2))
"""The stages of the authors' discriminator for CIFAR-10."""


class ConvolutionalDiscriminator(nn.Module):
    """Stages of maxout convolutions, then fully connected layers.

    Attributes:
        stages: The convolutions.
        layers: What follows; the last layer has one linear unit, the logit.
        scale: The kernels are drawn uniformly between `-scale` and `scale`.
    """

    layers: tuple[Layer, ...]
    stages: tuple[Stage, ...] = CIFAR_STAGES
    scale: float = 0.005

    @nn.compact
    def __call__(
        self,
        x: jax.Array,
        condition: jax.Array | None = None,
        dropout: jax.Array | None = None,
    ) -> jax.Array:
        """Logits, shape `(n, 1)`, for images of shape `(n, pixels, pixels, colours)`."""
        keys = split(dropout, len(self.stages) + 1)
        h = x
        for stage, key in zip(self.stages, keys, strict=False):
            h = drop(h, stage.keep, key)
            h = nn.Conv(
                stage.channels * stage.pieces,
                (stage.kernel, stage.kernel),
                padding=stage.pad,
                kernel_init=uniform(self.scale),
            )(h)
            h = _pool(maxout(h, stage.pieces), stage)
        return Perceptron(self.layers)(h, condition, keys[-1])


def _pool(x: jax.Array, stage: Stage) -> jax.Array:
    """The largest value of each square; squares that stick out at the end count, too."""
    size = x.shape[1]
    over = max(0, -(-(size - stage.pool) // stage.stride) * stage.stride + stage.pool - size)
    pooled: jax.Array = jax.lax.reduce_window(
        x,
        -jnp.inf,
        jax.lax.max,
        (1, stage.pool, stage.pool, 1),
        (1, stage.stride, stage.stride, 1),
        ((0, 0), (0, over), (0, over), (0, 0)),
    )
    return pooled
