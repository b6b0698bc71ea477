"""Grids of small images as PNG files."""

from __future__ import annotations

import io
import math

import numpy as np
from matplotlib import image
from numpy.typing import NDArray


def grid(
    images: NDArray[np.floating], columns: int, scale: int = 3, gap: int = 1
) -> NDArray[np.float64]:
    """Square grey images side by side, row by row, on white.

    Args:
        images: Values between 0 and 1, shape `(n, pixels)`; `n` is a multiple of `columns`.
        columns: Images in a row.
        scale: Pixels of the grid for one of an image.
        gap: Pixels of an image between two of them.
    """
    pixels = side(images)
    rows = len(images) // columns
    step = pixels + gap
    canvas = np.ones((rows * step - gap, columns * step - gap))
    for number, one in enumerate(images[: rows * columns]):
        top, left = number // columns * step, number % columns * step
        canvas[top : top + pixels, left : left + pixels] = one.reshape(pixels, pixels)
    return np.repeat(np.repeat(canvas, scale, axis=0), scale, axis=1)


def side(images: NDArray[np.floating]) -> int:
    """Pixels at each side of square images, shape `(n, pixels)`."""
    return math.isqrt(images.shape[1])


def png(grey: NDArray[np.floating]) -> bytes:
    """A picture of values between 0 (black) and 1 (white), shape `(rows, columns)`."""
    target = io.BytesIO()
    image.imsave(target, np.clip(grey, 0.0, 1.0), cmap="gray", vmin=0.0, vmax=1.0, format="png")
    return target.getvalue()
