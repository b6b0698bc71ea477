"""Section 7 of the paper: three of the extensions that it proposes, for MNIST.

Conditions (item 1), inference of the noise (item 2) and features for classifiers with few labels
(item 4). The paper has no numbers for them: judged is only what one of its sentences says, that
features may help classifiers.
"""

from __future__ import annotations

import sys

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from hopflow.adversarial import quality
from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.data import Images, Split
from hopflow.adversarial.extensions import Inference, features, train_inference
from hopflow.adversarial.nets import Layer, Perceptron
from hopflow.adversarial.reproduce import nets
from hopflow.adversarial.reproduce.pictures import grid, png
from hopflow.adversarial.settings import State
from hopflow.experiments import Options, Value, origin, write_values
from hopflow.report import Page, verdict

FIGURE = "gan-sec7"
_ARM: nets.Arm = "penalised"
_SEED = 1
_SAMPLE_SEED = 2_000_000
_LABELS = 100
_DRAWS = 10


def reproduce(options: Options) -> None:
    """Conditions, inference and features, each measured against what chance or pixels give."""
    chosen = nets.setup(options)
    split = chosen.split()
    trainings = nets.trained(chosen, options, options.seeds or nets.SEEDS, (_ARM,))[_ARM]
    game, state = chosen.game(split, _ARM), trainings[0].state
    conditional, told = _conditional(chosen, split)
    samples = _told(conditional, told)
    inference = _inference(game, state, 300 if options.quick else 5000)
    values = [
        *_judge_conditions(split, samples),
        *_judge_inference(game, state, inference, split),
        *_judge_features(game, [one.state for one in trainings], split),
    ]
    page = Page(
        f"Adversarial nets: section 7, {chosen.name}", "Goodfellow et al., NIPS 2014, section 7"
    )
    page.section("What was measured").table(
        ["what", "found", "verdict"],
        [[value.quantity, f"{value.mean:.3f}", verdict(value.verdict)] for value in values],
    )
    page.section("Conditions").image(
        png(grid(samples[0][::10], 10)), "Ten samples of each class, a row for each."
    )
    shown = split.test.x[:10]
    again = game.generate(state, inference(shown))
    page.section("Inference").image(
        png(grid(np.concatenate([shown, again]), 10)),
        "Test images, and below what the generator makes of their inferred noise.",
    )
    page.add(origin(FIGURE, options, len(trainings)))
    write_values(options.out, values)
    print(f"report   {page.write(options.out)}")
    for value in values:
        print(f"{value.quantity}: {value.mean:.3f} ({value.verdict})")


def _conditional(chosen: nets.Setup, split: Split) -> tuple[Game, State]:
    """A game whose nets are told the class, trained a third as long as that of Table 1."""
    classes = int(split.train.labels.max()) + 1
    plain = chosen.game(split, _ARM)
    game = Game(
        plain.generator, plain.discriminator, plain.settings, plain.examples, plain.shape, classes
    )
    x, told = jnp.asarray(split.train.x), jnp.asarray(_one_hot(split.train.labels, classes))
    state = game.start(_SEED)
    for epoch in range(1, max(chosen.epochs[_ARM] // 3, 1) + 1):
        state, progress = game.epoch(state, x, told)
        print(
            f"told the class, epoch {epoch}: D(x) {progress.on_data:.2f}, "
            f"D(G(z)) {progress.on_samples:.2f}",
            file=sys.stderr,
            flush=True,
        )
    return game, state


def _told(game: Game, state: State) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """A hundred samples of each class, and the classes that the generator was told."""
    labels = np.repeat(np.arange(game.conditions), 100)
    told = _one_hot(labels, game.conditions)
    return game.sample(state, len(labels), _SAMPLE_SEED, told), labels


def _judge_conditions(
    split: Split, samples: tuple[NDArray[np.float32], NDArray[np.int64]]
) -> list[Value]:
    judge = quality.classifier(split.train.x, split.train.labels)
    images, labels = samples
    real = judge.classes(split.test.x) == split.test.labels
    return [
        _share(
            "item 1: samples of the class that the nets are told", judge.classes(images) == labels
        ),
        _share("item 1: test images whose class the classifier knows", real),
    ]


def _inference(game: Game, state: State, steps: int) -> Inference:
    layers = (
        Layer(1200, "relu"),
        Layer(1200, "relu"),
        Layer(game.settings.noise_size, "linear"),
    )
    return train_inference(game, state, Perceptron(layers), steps, _SEED)


def _judge_inference(game: Game, state: State, inference: Inference, split: Split) -> list[Value]:
    """Errors of inferred noise and of images made of it, as shares of those without inference."""
    random = np.random.default_rng(_SEED)
    root = 3.0**0.5
    z = random.uniform(-root, root, (2000, game.settings.noise_size)).astype(np.float32)
    noise = ((inference(game.generate(state, z)) - z) ** 2).mean(axis=1)
    test = split.test.x[:2000]
    again = game.generate(state, inference(test))
    left = ((again - test) ** 2).mean(axis=1) / ((test - split.train.x.mean(axis=0)) ** 2).mean()
    return [
        _mean("item 2: squared error of inferred noise, whose variance is 1", noise),
        _mean("item 2: squared error of test images made again, over their variance", left),
    ]


def _judge_features(game: Game, states: list[State], split: Split) -> list[Value]:
    """The accuracy on test images of a linear classifier that has a hundred labels.

    Means over the same draws of labels, by pixels and by the features of each net.
    """
    draws = [_few(split.train, draw) for draw in range(1, _DRAWS + 1)]
    pixels = _accuracies(split, draws, split.train.x, split.test.x)
    gains = []
    for state in states:
        of_train, of_test = (features(game, state, of.x) for of in (split.train, split.test))
        by_features = _accuracies(split, draws, of_train, of_test)
        gains.append(float((by_features - pixels).mean()))
    return [
        Value.of_runs(FIGURE, f"item 4: accuracy with {_LABELS} labels, by pixels", list(pixels)),
        Value.of_runs(FIGURE, "item 4: gain of the discriminator's features", gains),
    ]


def _few(images: Images, draw: int) -> NDArray[np.int64]:
    """Rows with as many labels of each class."""
    random = np.random.default_rng(draw)
    classes = np.unique(images.labels)
    of_class = (np.flatnonzero(images.labels == one) for one in classes)
    picked = [random.choice(rows, _LABELS // len(classes), replace=False) for rows in of_class]
    return np.concatenate(picked)


def _accuracies(
    split: Split,
    draws: list[NDArray[np.int64]],
    train: NDArray[np.floating],
    test: NDArray[np.floating],
) -> NDArray[np.float64]:
    """For each draw, of a classifier whose penalty the labelled rows choose among themselves."""
    rows = []
    for draw in draws:
        penalties = {"C": [1e-3, 1e-2, 1e-1, 1.0, 10.0]}
        model = GridSearchCV(LogisticRegression(max_iter=1000), penalties, cv=5)
        model.fit(train[draw], split.train.labels[draw])
        rows.append(float(model.score(test, split.test.labels)))
    return np.asarray(rows)


def _one_hot(labels: NDArray[np.integer], classes: int) -> NDArray[np.float32]:
    return np.asarray(np.eye(classes)[labels], np.float32)


def _share(quantity: str, hits: NDArray[np.bool_]) -> Value:
    return _mean(quantity, hits.astype(np.float64))


def _mean(quantity: str, rows: NDArray[np.floating]) -> Value:
    return Value.of_runs(FIGURE, quantity, [float(row) for row in rows])
