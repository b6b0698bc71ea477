"""Figure 1 of the paper: a generator of one dimension, its discriminator, and their optimum."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from hopflow.adversarial import theory
from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.nets import Layer, Perceptron
from hopflow.adversarial.optimisers import Adam
from hopflow.adversarial.settings import Settings, State
from hopflow.experiments import Options, Value, origin, write_values
from hopflow.report import Axis, Page, Series, verdict

_NAME = "gan-fig1"
_MEAN, _DEVIATION = 1.0, 0.5
_EXAMPLES = 20_000
_EPOCHS = 200
_EDGES = np.linspace(-2.0, 4.0, 121)
_MIDDLES = (_EDGES[1:] + _EDGES[:-1]) / 2.0
_Vector = NDArray[np.float64]


@dataclass(frozen=True)
class _Panel:
    """What one panel of the figure shows: densities as probabilities of intervals, and D."""

    title: str
    data: _Vector
    generated: _Vector
    discriminator: _Vector

    @property
    def divergence(self) -> float:
        return theory.jensen_shannon(self.data, self.generated)

    def mean(self, values: _Vector) -> float:
        """Mean over the mixture of data and samples."""
        return float(0.5 * (self.data + self.generated) @ values)

    @property
    def taken_for_data(self) -> float:
        """Mean of D over samples."""
        return float(self.generated @ self.discriminator)

    @property
    def from_optimum(self) -> float:
        optimal = theory.optimal_discriminator(self.data, self.generated)
        return self.mean(np.abs(self.discriminator - optimal))

    @property
    def optimum(self) -> _Vector:
        """D* where there are data or samples to speak of."""
        optimal = theory.optimal_discriminator(self.data, self.generated)
        return np.where(self.data + self.generated > 1e-3, optimal, np.nan)

    @property
    def from_half(self) -> float:
        return self.mean(np.abs(self.discriminator - 0.5))


def reproduce(options: Options) -> None:
    """Writes values and a page, and prints the checks."""
    seeds = range(1, (options.seeds or 5) + 1)
    runs = [_run(seed) for seed in seeds]
    values = _values(runs)
    page = _page(values, runs[0]).add(origin(_NAME, options, len(runs)))
    write_values(options.out, values)
    path = page.write(options.out)
    for value in values:
        print(f"{value.quantity}: {value.mean:.4f} ({value.verdict})")
    print(f"report   {path}")


def _run(seed: int) -> list[_Panel]:
    game = _game()
    random = np.random.default_rng(seed)
    x = random.normal(_MEAN, _DEVIATION, (_EXAMPLES, 1)).astype(np.float32)
    data = jnp.asarray(x)
    state = game.start(seed)
    panels = []
    for epoch in range(1, _EPOCHS + 1):
        state, _ = game.epoch(state, data)
        if epoch == 20:
            panels.append(_panel("a: near convergence", game, state, x))
            state = game.improve(state, data, discriminator=2000)
            panels.append(_panel("b: D at its optimum", game, state, x))
            state = game.improve(state, data, generator=1)
            panels.append(_panel("c: after an update of G", game, state, x))
    panels.append(_panel("d: after training", game, state, x))
    return panels


def _game() -> Game:
    hidden = (Layer(32, "tanh"), Layer(32, "tanh"), Layer(1, "linear"))
    settings = Settings(
        batch=500,
        steps=5,
        noise_size=1,
        generator_rule=Adam(1e-3),
        discriminator_rule=Adam(5e-3),
    )
    return Game(Perceptron(hidden), Perceptron(hidden), settings, _EXAMPLES, (1,))


def _panel(title: str, game: Game, state: State, x: NDArray[np.float32]) -> _Panel:
    root = 3.0**0.5
    z = np.linspace(-root, root, 100_001)[:, None]
    points = _MIDDLES[:, None].astype(np.float32)
    judged = np.asarray(game.judge(state, points), np.float64)
    return _Panel(title, _shares(x), _shares(game.generate(state, z)), judged)


def _shares(x: NDArray[np.floating]) -> _Vector:
    inside = np.clip(x[:, 0], _EDGES[0] + 1e-6, _EDGES[-1] - 1e-6)
    return np.asarray(np.histogram(inside, _EDGES)[0] / len(x))


def _values(runs: list[list[_Panel]]) -> list[Value]:
    guided = [c.taken_for_data - b.taken_for_data for _, b, c, _ in runs]
    nearer = [c.divergence - b.divergence for _, b, c, _ in runs]
    found = {
        "b: mean |D - D*|": [run[1].from_optimum for run in runs],
        "b and c: change of the mean of D(G(z)) by an update of G": guided,
        "b and c: change of the divergence by an update of G, nats": nearer,
        "d: divergence, nats": [run[3].divergence for run in runs],
        "d: mean |D - 1/2|": [run[3].from_half for run in runs],
    }
    return [Value.of_runs(_NAME, quantity, numbers) for quantity, numbers in found.items()]


def _page(values: list[Value], panels: list[_Panel]) -> Page:
    page = Page(
        "Adversarial nets: Figure 1",
        "Goodfellow et al., Generative Adversarial Nets (NIPS 2014), Figure 1",
    )
    moments = page.section("Four moments").prose(
        "Data are normal, noise is uniform, both nets have two hidden layers. Densities are shares "
        "of samples in 120 intervals, divided by the largest of the data; D and D* are as they are."
    )
    for panel in panels:
        largest = panel.data.max()
        moments.chart(
            panel.title[0],
            panel.title,
            Axis("x"),
            Axis("density, D", include=(0.0, 1.0)),
            [
                Series("data", _MIDDLES, panel.data / largest),
                Series("samples", _MIDDLES, panel.generated / largest),
                Series("D", _MIDDLES, panel.discriminator),
                Series("D*", _MIDDLES, theory.optimal_discriminator(panel.data, panel.generated)),
            ],
        )
    page.section("Values").table(
        ["what", "found", "verdict"],
        [[value.quantity, value.mean, verdict(value.verdict)] for value in values],
        f"Means over {values[0].n} seeds. The figure is a sketch without numbers: the bands are "
        "ours, from trial runs.",
    )
    return page
