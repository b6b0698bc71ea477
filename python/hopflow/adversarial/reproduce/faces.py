"""Table 1's second row and Figure 2 b, with a public set of faces in place of the paper's.

The paper's set, the Toronto Face Database, is not public; it has hundreds of times as many images,
of another kind. Values are therefore shown and not judged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hopflow.adversarial import parzen
from hopflow.adversarial.data import Split
from hopflow.adversarial.reproduce import nets
from hopflow.adversarial.reproduce.images import anchors, show_draws, spread
from hopflow.experiments import Options, Value, origin, write_values
from hopflow.report import Page, figures

_FIGURE = "gan-faces"
_SAMPLE_SEED = 2_000_000
"""Samples that are reported use other noise than those by which the epoch was chosen."""


def reproduce(options: Options) -> None:
    """Log-likelihoods of faces of people whom the nets have not seen, and fair samples."""
    chosen = nets.faces(options)
    split = chosen.split()
    page = Page(
        f"Adversarial nets: {chosen.name}",
        "Goodfellow et al., Generative Adversarial Nets (NIPS 2014), Table 1 and Figure 2 b",
    )
    values = []
    for name, images in anchors(split, chosen.samples).items():
        values += _worth(f" of {name}", "", None, images, split)
    count = options.seeds or nets.SEEDS
    for arm, trainings in nets.trained(chosen, options, count).items():
        game = chosen.game(split, arm)
        for seed, training in enumerate(trainings, start=1):
            for of, state in (
                (", seed", training.best),
                (" after the last epoch, seed", training.state),
            ):
                images = game.sample(state, chosen.samples, _SAMPLE_SEED + seed)
                if np.isfinite(images).all():
                    values += _worth(of, arm, seed, images, split)
            finite = sum(bool(np.isfinite(row.on_data)) for row in training.history)
            values.append(_plain("epochs with finite weights, seed", arm, seed, float(finite)))
            values.append(_plain("epoch chosen, seed", arm, seed, float(training.best_epoch)))
        ratio = show_draws(page, arm, game, trainings[0].state, split, _SAMPLE_SEED)
        if ratio is not None:
            what = "distance to the nearest training example, samples over test data"
            values.append(_plain(what, arm, 1, ratio))
    _show(page, chosen, split, values)
    page.add(origin(_FIGURE, options, count))
    write_values(options.out, values)
    path = page.write(options.out)
    for value in values:
        of = value.transport or "real images"
        print(f"{of}, {value.quantity} {value.x or ''}: {value.mean:.4g}")
    print(f"report   {path}")


def _show(page: Page, chosen: nets.Setup, split: Split, values: list[Value]) -> None:
    """Adds the table of values to a page."""
    page.section("Log-likelihood of test data").prose(
        f"Parzen windows on {chosen.samples:,} samples. Trained on {len(split.train):,} images; "
        f"sigma and the epoch by {len(split.validation)} images of other people, the estimate on "
        f"{len(split.test)} of yet others. The paper has 2057 with a standard error of 26 for the "
        "Toronto Face Database, which is not public: that number is of other images, and nothing "
        "is judged here. Samples above are of the first seed, after the last epoch. Where weights "
        "have grown beyond all bounds, the last epoch has no samples, and no line here."
    ).table(
        ["what", "of", "seed", "found", "95 % interval"],
        [
            [
                value.quantity,
                value.transport,
                value.x,
                figures(f"{value.mean:.4g} {value.unit}"),
                _interval(value),
            ]
            for value in values
        ],
        "Every seed.",
    )


def _worth(
    of: str, arm: str, seed: int | None, images: NDArray[np.float32], split: Split
) -> list[Value]:
    """What images are worth: the estimate with its interval over test images, and their spread."""
    found = parzen.estimate(images, split.validation.x[: nets.VALIDATION_ROWS], split.test.x)
    ends = found.mean - 1.96 * found.error, found.mean + 1.96 * found.error
    share = spread(images) / spread(split.train.x)
    return [
        Value(_FIGURE, f"log-likelihood{of}", "nats", arm, seed, 1, found.mean, *ends),
        _plain(f"spread of pixels as a share of the data's{of}", arm, seed, share),
    ]


def _plain(quantity: str, arm: str, seed: int | None, number: float) -> Value:
    """A number without an interval."""
    return Value(_FIGURE, quantity, "", arm, seed, 1, number)


def _interval(value: Value) -> str:
    if value.ci_low is None or value.ci_high is None:
        return ""
    return f"{value.ci_low:.0f} to {value.ci_high:.0f}"
