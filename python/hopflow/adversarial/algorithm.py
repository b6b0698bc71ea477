"""Algorithm 1: minibatch training of adversarial nets (Goodfellow et al. 2014, section 3).

A `Game` joins two nets with its `Settings`, a `State` is all that training has reached: it can be
kept (`hopflow.adversarial.checkpoint`) and goes on from there as if it had not been interrupted.

The same seed gives the same bits on the same machine, whatever the number of its interruptions.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

from hopflow.adversarial.losses import LOSSES, LossName, gradient_penalty
from hopflow.adversarial.optimisers import Momentum, Optimiser

Parameters = Any
"""A tree of a net's weights and biases."""


@dataclass(frozen=True)
class Settings:
    """How the game is played.

    Attributes:
        batch: Examples in a minibatch, m.
        steps: Updates of the discriminator for one of the generator, k.
        schedule: `alternating` as Algorithm 1 is printed: the generator's gradient is taken with
            fresh noise and the discriminator as just updated. `simultaneous` as the authors ran it:
            both gradients are taken at the same point, with the same noise and dropout.
        loss: What the players minimise.
        noise: `uniform` between plus and minus the root of 3, or `gaussian`: both have variance 1.
        noise_size: Dimensions of the noise.
        discriminator_scale: What the discriminator's loss is multiplied by; the authors took the
            mean of its two parts, one half.
        generator_rule: How the generator is updated.
        discriminator_rule: How the discriminator is updated.
    """

    batch: int = 100
    steps: int = 1
    schedule: Literal["alternating", "simultaneous"] = "alternating"
    loss: LossName = "non-saturating"
    noise: Literal["uniform", "gaussian"] = "uniform"
    noise_size: int = 100
    discriminator_scale: float = 0.5
    generator_rule: Optimiser = field(default_factory=Momentum)
    discriminator_rule: Optimiser = field(default_factory=Momentum)

    def __post_init__(self) -> None:
        for key, allowed in (
            ("schedule", ("alternating", "simultaneous")),
            ("loss", tuple(LOSSES)),
            ("noise", ("uniform", "gaussian")),
        ):
            if (value := getattr(self, key)) not in allowed:
                raise ValueError(f"{key} is {value!r}; allowed are {', '.join(allowed)}")
        for key in ("batch", "steps", "noise_size"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} is {getattr(self, key)}; allowed is 1 or more")
        if self.schedule == "simultaneous" and (self.steps > 1 or LOSSES[self.loss].penalty):
            raise ValueError("simultaneous updates have one step and no gradient penalty")


class _Means(NamedTuple):
    discriminator_loss: jax.Array
    generator_loss: jax.Array
    on_data: jax.Array
    on_samples: jax.Array


class Progress(NamedTuple):
    """Means over an epoch.

    Attributes:
        discriminator_loss: The discriminator's loss, without the scale and the penalty.
        generator_loss: The generator's loss.
        on_data: D(x), with dropout as in training.
        on_samples: D(G(z)), likewise.
    """

    discriminator_loss: float
    generator_loss: float
    on_data: float
    on_samples: float


class State(NamedTuple):
    """All that training has reached.

    Attributes:
        generator: The generator's parameters.
        discriminator: The discriminator's parameters.
        generator_rule: State of the generator's gradient rule.
        discriminator_rule: State of the discriminator's gradient rule.
        key: The seed's key, as raw data; all randomness follows from it, `step` and `epoch`.
        step: Updates of the generator so far.
        epoch: Epochs so far.
    """

    generator: Parameters
    discriminator: Parameters
    generator_rule: optax.OptState
    discriminator_rule: optax.OptState
    key: jax.Array
    step: jax.Array
    epoch: jax.Array


class _Batch(NamedTuple):
    x: jax.Array
    condition: jax.Array | None


@dataclass(frozen=True)
class Game:
    """Two nets and how they are trained.

    Attributes:
        generator: Called as `generator(z, condition)`; gives data.
        discriminator: Called as `discriminator(x, condition, dropout)`; gives logits, `(n, 1)`.
        settings: How the game is played.
        examples: Examples in an epoch: schedules that count epochs need it.
        shape: Shape of one example.
        conditions: Dimensions of what both nets are told besides; 0: nothing.
    """

    generator: nn.Module
    discriminator: nn.Module
    settings: Settings
    examples: int
    shape: tuple[int, ...]
    conditions: int = 0

    def __post_init__(self) -> None:
        if self.iterations < 1:
            needed = self.settings.batch * self.settings.steps
            raise ValueError(f"an epoch has {self.examples} examples; {needed} are needed")

    @property
    def iterations(self) -> int:
        """Updates of the generator in an epoch."""
        return self.examples // (self.settings.batch * self.settings.steps)

    def start(self, seed: int) -> State:
        """Nets with drawn weights, before the first update."""
        key = jax.random.key(seed)
        for_generator, for_discriminator = jax.random.split(jax.random.fold_in(key, 0))
        condition = jnp.zeros((1, self.conditions)) if self.conditions else None
        z = jnp.zeros((1, self.settings.noise_size))
        generator = self.generator.init(for_generator, z, condition)
        x = jnp.zeros((1, *self.shape))
        discriminator = self.discriminator.init(for_discriminator, x, condition)
        zero = jnp.zeros((), jnp.int32)
        rules = self._rules()
        return State(
            generator=generator,
            discriminator=discriminator,
            generator_rule=rules[0].init(generator),
            discriminator_rule=rules[1].init(discriminator),
            key=jax.random.key_data(key),
            step=zero,
            epoch=zero,
        )

    def epoch(
        self, state: State, data: jax.Array, conditions: jax.Array | None = None
    ) -> tuple[State, Progress]:
        """One pass over the data, in a random order that the seed and the epoch decide.

        Args:
            state: Where training stands.
            data: Examples, shape `(examples, *shape)`.
            conditions: What goes with each, shape `(examples, conditions)`.
        """
        expected = (self.examples, *self.shape)
        if data.shape != expected:
            raise ValueError(f"data has the shape {data.shape}; expected is {expected}")
        if (conditions is not None) != (self.conditions > 0):
            raise ValueError(f"the game has {self.conditions} conditions; data must have as many")
        state, means = _epoch(self, state, data, conditions)
        return state, Progress(*(float(mean) for mean in means))

    def noise(self, key: jax.Array, count: int) -> jax.Array:
        """Inputs of the generator, shape `(count, noise_size)`."""
        shape = (count, self.settings.noise_size)
        if self.settings.noise == "gaussian":
            return jax.random.normal(key, shape)
        return jax.random.uniform(key, shape, jnp.float32, -(3.0**0.5), 3.0**0.5)

    def sample(
        self, state: State, count: int, seed: int, condition: np.ndarray | None = None
    ) -> np.ndarray:
        """Samples of the generator, shape `(count, *shape)`.

        Args:
            state: Where training stands.
            count: Number of samples.
            seed: Decides the noise.
            condition: What the generator is told, shape `(count, conditions)`.
        """
        z = self.noise(jax.random.key(seed), count)
        return np.asarray(_generate(self, state.generator, z, condition))

    def generate(
        self, state: State, z: jax.Array | np.ndarray, condition: np.ndarray | None = None
    ) -> np.ndarray:
        """What the generator makes of the noise `z`, shape `(n, noise_size)`."""
        return np.asarray(_generate(self, state.generator, jnp.asarray(z), condition))

    def judge(
        self, state: State, x: jax.Array | np.ndarray, condition: np.ndarray | None = None
    ) -> np.ndarray:
        """D(x), without dropout, shape `(n,)`."""
        told = None if condition is None else jnp.asarray(condition)
        logits = self._logits(state.discriminator, _Batch(jnp.asarray(x), told), None)
        return np.asarray(jax.nn.sigmoid(logits))

    def _rules(self) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
        settings = self.settings
        return (
            settings.generator_rule.transformation(self.iterations),
            settings.discriminator_rule.transformation(self.iterations * settings.steps),
        )

    def _made(self, parameters: Parameters, z: jax.Array, condition: jax.Array | None) -> jax.Array:
        made = self.generator.apply(parameters, z, condition)
        return jnp.asarray(made).reshape(-1, *self.shape)

    def _logits(
        self, parameters: Parameters, batch: _Batch, dropout: jax.Array | None
    ) -> jax.Array:
        logits = self.discriminator.apply(parameters, batch.x, batch.condition, dropout)
        return jnp.asarray(logits)[:, 0]


@functools.partial(jax.jit, static_argnums=0)
def _generate(
    game: Game, parameters: Parameters, z: jax.Array, condition: jax.Array | None
) -> jax.Array:
    return game._made(parameters, z, condition)


@functools.partial(jax.jit, static_argnums=0)
def _epoch(
    game: Game, state: State, data: jax.Array, conditions: jax.Array | None
) -> tuple[State, _Means]:
    settings = game.settings
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key), 1)
    order = jax.random.permutation(jax.random.fold_in(key, state.epoch), game.examples)
    order = order[: game.iterations * settings.steps * settings.batch]
    batches = order.reshape(game.iterations, settings.steps, settings.batch)
    step = _simultaneous if settings.schedule == "simultaneous" else _alternating

    def iteration(state: State, rows: jax.Array) -> tuple[State, _Means]:
        condition = None if conditions is None else conditions[rows]
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), 2)
        state, means = step(
            game, state, _Batch(data[rows], condition), jax.random.fold_in(key, state.step)
        )
        return state._replace(step=state.step + 1), means

    state, means = jax.lax.scan(iteration, state, batches)
    return state._replace(epoch=state.epoch + 1), _Means(*map(jnp.mean, means))


def _alternating(game: Game, state: State, batches: _Batch, key: jax.Array) -> tuple[State, _Means]:
    """k updates of the discriminator, then one of the generator with fresh noise."""
    for_discriminator, for_noise, for_dropout = jax.random.split(key, 3)
    keys = jax.random.split(for_discriminator, game.settings.steps)

    def improve(state: State, turn: tuple[_Batch, jax.Array]) -> tuple[State, _Logits]:
        return _improve_discriminator(game, state, *turn)

    state, logits = jax.lax.scan(improve, state, (batches, keys))
    last = None if batches.condition is None else batches.condition[-1]
    z = game.noise(for_noise, game.settings.batch)

    def objective(generator: Parameters) -> tuple[jax.Array, jax.Array]:
        samples = _Batch(game._made(generator, z, last), last)
        fake = game._logits(state.discriminator, samples, for_dropout)
        return LOSSES[game.settings.loss].generator(fake), fake

    gradient, fake = jax.grad(objective, has_aux=True)(state.generator)
    state = _update_generator(game, state, gradient)
    return state, _means(game, logits.real, logits.fake, fake)


class _Logits(NamedTuple):
    real: jax.Array
    fake: jax.Array


def _improve_discriminator(
    game: Game, state: State, batch: _Batch, key: jax.Array
) -> tuple[State, _Logits]:
    for_noise, for_dropout, for_penalty = jax.random.split(key, 3)
    z = game.noise(for_noise, game.settings.batch)
    samples = game._made(state.generator, z, batch.condition)
    loss = LOSSES[game.settings.loss]

    def objective(discriminator: Parameters) -> tuple[jax.Array, _Logits]:
        logits = _judge_both(game, discriminator, batch, samples, for_dropout)
        value = game.settings.discriminator_scale * loss.discriminator(*logits)
        if loss.penalty:

            def critic(x: jax.Array) -> jax.Array:
                return game._logits(discriminator, _Batch(x, batch.condition), None)

            value += loss.penalty * gradient_penalty(critic, batch.x, samples, for_penalty)
        return value, logits

    gradient, logits = jax.grad(objective, has_aux=True)(state.discriminator)
    return _update_discriminator(game, state, gradient), logits


def _simultaneous(
    game: Game, state: State, batches: _Batch, key: jax.Array
) -> tuple[State, _Means]:
    """Both gradients at the same point: the samples and the discriminator's pass are shared."""
    for_noise, for_dropout = jax.random.split(key)
    batch: _Batch = jax.tree.map(lambda array: array[0], batches)
    z = game.noise(for_noise, game.settings.batch)
    samples, through_generator = jax.vjp(
        lambda generator: game._made(generator, z, batch.condition), state.generator
    )
    logits, through_discriminator = jax.vjp(
        lambda parameters, samples: _judge_both(game, parameters, batch, samples, for_dropout),
        state.discriminator,
        samples,
    )
    loss = LOSSES[game.settings.loss]
    scale = game.settings.discriminator_scale

    def discriminator_loss(logits: _Logits) -> jax.Array:
        return scale * loss.discriminator(*logits)

    def generator_loss(logits: _Logits) -> jax.Array:
        return loss.generator(logits.fake)

    for_discriminator, _ = through_discriminator(jax.grad(discriminator_loss)(logits))
    _, for_samples = through_discriminator(jax.grad(generator_loss)(logits))
    (for_generator,) = through_generator(for_samples)
    state = _update_discriminator(game, state, for_discriminator)
    state = _update_generator(game, state, for_generator)
    return state, _means(game, logits.real, logits.fake, logits.fake)


def _judge_both(
    game: Game, parameters: Parameters, batch: _Batch, samples: jax.Array, dropout: jax.Array
) -> _Logits:
    """Logits of data and samples in one pass."""
    condition = batch.condition
    if condition is not None:
        condition = jnp.concatenate([condition, condition])
    both = _Batch(jnp.concatenate([batch.x, samples]), condition)
    logits = game._logits(parameters, both, dropout)
    return _Logits(*jnp.split(logits, 2))


def _update_discriminator(game: Game, state: State, gradient: Parameters) -> State:
    change, rule = game._rules()[1].update(gradient, state.discriminator_rule)
    parameters = optax.apply_updates(state.discriminator, change)
    return state._replace(discriminator=parameters, discriminator_rule=rule)


def _update_generator(game: Game, state: State, gradient: Parameters) -> State:
    change, rule = game._rules()[0].update(gradient, state.generator_rule)
    parameters = optax.apply_updates(state.generator, change)
    return state._replace(generator=parameters, generator_rule=rule)


def _means(game: Game, real: jax.Array, fake: jax.Array, after: jax.Array) -> _Means:
    """Of logits for data and samples, and for the samples of the generator's update."""
    loss = LOSSES[game.settings.loss]
    return _Means(
        loss.discriminator(real.reshape(-1), fake.reshape(-1)),
        loss.generator(after),
        jnp.mean(jax.nn.sigmoid(real)),
        jnp.mean(jax.nn.sigmoid(fake)),
    )
