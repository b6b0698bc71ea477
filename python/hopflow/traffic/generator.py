"""A generator of steps that is trained against a discriminator, conditioned on the class of user.

Both nets see the features of a step as probabilities (`marginals`), each in [0, 1], and the class
as one-hot numbers (Goodfellow et al. 2014, section 7, item 1). There are two recipes: the default,
and `PAPER`, which follows the authors' for MNIST but for the sizes. Needs the extra
`hopflow[adversarial]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

from hopflow.adversarial import Adam, Game, Layer, Momentum, Perceptron, Settings, State
from hopflow.adversarial.paper import maxout_discriminator
from hopflow.traffic.files import write_generator
from hopflow.traffic.marginals import Marginals
from hopflow.traffic.metrics import Scale, boosted_test, features
from hopflow.traffic.net import Conditioned, Net
from hopflow.traffic.step import Split
from hopflow.traffic.vector import FEATURES, encode

#: Noise inputs of the generator.
NOISE = 32

#: Raised by hand where the same recipe gives other generators than before: with other nets, tables
#: of marginals, or another calibration.
VERSION = 1

Kind = Literal["gan", "wgan-gp"]


@dataclass(frozen=True)
class Recipe:
    """Nets and how they are trained.

    Attributes:
        kind: `wgan-gp`: a critic with a gradient penalty (Gulrajani et al., *Improved Training of
            Wasserstein GANs*, NIPS 2017); `gan`: the paper's kinds of layers and its loss.
        hidden: Units of the generator's two rectified layers.
        batch: Steps of users in a minibatch.
        epochs: Passes over the training sessions.
        look: Epochs between looks at the validation sessions; the last epoch is looked at, too.
        rate: The step size of Adam, or for `gan` the learning rate.
        scale: Bounds of the initial weights of the paper's kinds of layers.
    """

    kind: Kind = "wgan-gp"
    hidden: tuple[int, int] = (128, 256)
    batch: int = 100
    epochs: int = 2400
    look: int = 200
    rate: float = 1e-4
    scale: float = 0.05

    def __post_init__(self) -> None:
        """Refuses unknown kinds."""
        if self.kind not in (allowed := get_args(Kind)):
            raise ValueError(f"kind is {self.kind!r}; allowed are {', '.join(allowed)}")

    def game(self, examples: int, conditions: int) -> Game:
        """The nets, and how they are played against each other with so many examples."""
        adversarial = self.kind == "gan"
        scale = self.scale if adversarial else None
        first, second = self.hidden
        generator = Perceptron(
            (
                Layer(first, "relu", scale),
                Layer(second, "relu", scale),
                Layer(FEATURES, "sigmoid", scale),
            )
        )
        discriminator, settings = self._maxout() if adversarial else self._critic()
        return Game(generator, discriminator, settings, examples, (FEATURES,), conditions)

    def _maxout(self) -> tuple[Perceptron, Settings]:
        rule = Momentum(rate=self.rate)
        settings = Settings(
            batch=self.batch, noise_size=NOISE, generator_rule=rule, discriminator_rule=rule
        )
        return maxout_discriminator(240, scale=self.scale), settings

    def _critic(self) -> tuple[Perceptron, Settings]:
        layers = (Layer(256, "leaky-relu"), Layer(256, "leaky-relu"), Layer(1, "linear"))
        settings = Settings(
            batch=self.batch,
            steps=3,
            loss="wgan-gp",
            noise_size=NOISE,
            discriminator_scale=1.0,
            generator_rule=Adam(rate=self.rate),
            discriminator_rule=Adam(rate=self.rate),
        )
        return Perceptron(layers), settings


#: The paper's kinds of layers, loss and gradient rule, with as many updates.
PAPER = Recipe(kind="gan", epochs=1800, look=150, rate=0.1)


@dataclass(frozen=True)
class Trained:
    """A generator and the marginals that belong to it.

    Attributes:
        game: Its nets.
        state: Its weights.
        marginals: By class, in the order of the condition.
        history: Epochs, and what the validation sessions said (`_distance`).
    """

    game: Game
    state: State
    marginals: dict[str, Marginals]
    history: tuple[tuple[int, float], ...] = ()

    def net(self) -> Net:
        """The generator by itself."""
        parameters = self.state.generator["params"]
        layers = [
            (np.asarray(parameters[name]["kernel"]), np.asarray(parameters[name]["bias"]))
            for name in sorted(parameters)
        ]
        return Net(layers, self.marginals)

    def of(self, class_: str) -> Conditioned:
        """The generator for users of one class."""
        return self.net().of(class_)

    def write(self, path: Path) -> None:
        """Writes the generator for the simulator, calibrated (`Net.calibrated`)."""
        net = self.net().calibrated(seed=0)
        write_generator(path, net.marginals, net.layers)


def train_generator(
    splits: Mapping[str, Split], seed: int, recipe: Recipe | None = None
) -> Trained:
    """Trains a generator for several classes of users.

    The epoch is the one whose draws the boosted trees tell worst from validation sessions of the
    first class; test sessions are never looked at.

    Args:
        splits: Sessions by class.
        seed: Decides everything that is drawn.
        recipe: Nets and how they are trained.
    """
    recipe = recipe or Recipe()
    rng = np.random.default_rng(seed)
    marginals = {name: Marginals.fit(encode(split.train)) for name, split in splits.items()}
    data, conditions = _examples(splits, marginals, rng)
    game = recipe.game(len(data), len(splits))
    state = game.start(seed)
    best = Trained(game, state, marginals)
    history: list[tuple[int, float]] = []
    first = next(iter(splits))
    for epoch in range(1, recipe.epochs + 1):
        state, _ = game.epoch(state, data, conditions)
        if epoch % recipe.look and epoch < recipe.epochs:
            continue
        now = Trained(game, state, marginals)
        distance = _distance(splits[first], now.of(first))
        if distance <= min((seen for _, seen in history), default=np.inf):
            best = now
        history.append((epoch, distance))
    return Trained(game, best.state, marginals, tuple(history))


def _examples(
    splits: Mapping[str, Split], marginals: Mapping[str, Marginals], rng: np.random.Generator
) -> tuple[jax.Array, jax.Array]:
    """Training sessions of all classes as probabilities, and their conditions."""
    rows, conditions = [], []
    for number, (name, split) in enumerate(splits.items()):
        rows.append(marginals[name].to_unit(encode(split.train), rng))
        conditions.append(np.eye(len(splits))[np.full(len(split.train), number)])
    return (
        jnp.asarray(np.concatenate(rows), jnp.float32),
        jnp.asarray(np.concatenate(conditions), jnp.float32),
    )


def _distance(split: Split, model: Conditioned) -> float:
    """How well trees tell draws from validation sessions: a mean of areas under the curve."""
    scale = Scale.of(features(split.train))
    real = scale.apply(features(split.valid))
    areas = []
    for seed in range(2):
        fake = model.sample(len(split.valid), np.random.default_rng([97, seed]))
        areas.append(boosted_test(real, scale.apply(features(fake)), seed).auc)
    return float(np.mean(areas))
