"""What samples are compared with: images that need no nets, and their nearest training examples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.data import Split
from hopflow.adversarial.reproduce.pictures import grid, png, side
from hopflow.adversarial.settings import State
from hopflow.report import Page

NO_SAMPLES = "There are no samples: weights have grown beyond all bounds."
"""What pages say of nets whose images have numbers that are not finite."""


def anchors(split: Split, count: int) -> dict[str, NDArray[np.float32]]:
    """Images that need no nets: training images, the same blurred, and a simple model's."""
    random = np.random.default_rng(0)
    train = split.train.x
    rows = train[random.choice(len(train), min(count, len(train)), replace=False)]
    mean = train.mean(axis=0, dtype=np.float64)
    covariance = np.cov(train[:: max(1, len(train) // 10_000)], rowvar=False)
    normal = random.multivariate_normal(
        mean, covariance, count, method="eigh", check_valid="ignore"
    )
    squares = rows.reshape(-1, side(rows), side(rows))
    blurred = gaussian_filter(squares, sigma=(0.0, 1.0, 1.0))
    return {
        "training images": rows,
        "blurred training images": blurred.reshape(rows.shape).astype(np.float32),
        "normal distribution": np.clip(normal, 0.0, 1.0).astype(np.float32),
    }


def spread(x: NDArray[np.float32]) -> float:
    """The mean over pixels of their standard deviation over images."""
    return float(x.std(axis=0).mean())


def show_draws(
    page: Page, arm: str, game: Game, state: State, split: Split, seed: int
) -> float | None:
    """Adds fair draws, as Figure 2 shows them, to a page.

    Returns:
        How far a sample's nearest training example is away on average, over the same of test data:
        copies would give 0. `None`: there are no samples, as the page then says.
    """
    section = page.section(f"{arm}: samples")
    samples, many = game.sample(state, 20, seed), game.sample(state, 250, seed + 1)
    if not (np.isfinite(samples).all() and np.isfinite(many).all()):
        section.prose(NO_SAMPLES)
        return None
    examples = _nearest(samples[4::5], split.train.x)
    rows = [np.concatenate([samples[5 * n : 5 * n + 5], examples[n : n + 1]]) for n in range(4)]
    ratio = _distance(many, split.train.x) / _distance(split.test.x[:250], split.train.x)
    section.prose(
        "Four rows of five fair draws. The sixth column is the training example that is "
        "nearest to the fifth, by the squared distance of pixels.",
        f"On average a sample's nearest training example is {ratio:.2f} times as far away as a "
        "test example's: copies would give 0.",
    ).image(
        png(grid(np.concatenate(rows), 6, scale=140 // side(samples))),
        "Samples and nearest examples.",
    )
    return ratio


def _nearest(x: NDArray[np.float32], train: NDArray[np.float32]) -> NDArray[np.float32]:
    rows = [int(np.argmin(((train - one) ** 2).sum(axis=1))) for one in x]
    return train[rows]


def _distance(x: NDArray[np.float32], train: NDArray[np.float32]) -> float:
    """Mean distance to the nearest training example."""
    squares = (x**2).sum(1)[:, None] + (train**2).sum(1)[None, :] - 2.0 * x @ train.T
    return float(np.sqrt(np.maximum(squares, 0.0).min(axis=1)).mean())
