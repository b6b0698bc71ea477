"""Algorithm 1: minibatch training of adversarial nets (Goodfellow et al. 2014, section 3).

A `Game` joins two nets with its `Settings`, a `State` is all that training has reached: it can be
kept (`hopflow.adversarial.checkpoint`) and goes on from there as if it had not been interrupted.

The same seed gives the same bits on the same machine, whatever the number of its interruptions.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn

from hopflow.adversarial import updates
from hopflow.adversarial.settings import Parameters, Progress, Settings, State


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
        rules = updates.rules(self)
        return State(
            generator=generator,
            discriminator=discriminator,
            average=generator,
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

    def improve(
        self, state: State, data: jax.Array, discriminator: int = 0, generator: int = 0
    ) -> State:
        """So many updates of the discriminator, then of the generator, outside of any epoch.

        Args:
            state: Where training stands.
            data: Examples, shape `(n, *shape)`, from which minibatches are drawn.
            discriminator: Updates of the discriminator, with the generator as it is.
            generator: Updates of the generator behind them.
        """
        if self.conditions:
            raise ValueError("games with conditions are played in epochs only")
        improved: State = _improve(self, state, data, (discriminator, generator))
        return improved

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
        return np.asarray(_generate(self, state.average, z, condition))

    def generate(
        self, state: State, z: jax.Array | np.ndarray, condition: np.ndarray | None = None
    ) -> np.ndarray:
        """What the generator makes of the noise `z`, shape `(n, noise_size)`."""
        return np.asarray(_generate(self, state.average, jnp.asarray(z), condition))

    def judge(
        self, state: State, x: jax.Array | np.ndarray, condition: np.ndarray | None = None
    ) -> np.ndarray:
        """D(x), without dropout, shape `(n,)`."""
        told = None if condition is None else jnp.asarray(condition)
        logits = updates.logits_of(
            self, state.discriminator, updates.Batch(jnp.asarray(x), told), None
        )
        return np.asarray(jax.nn.sigmoid(logits))


@functools.partial(jax.jit, static_argnums=0)
def _generate(
    game: Game, parameters: Parameters, z: jax.Array, condition: jax.Array | None
) -> jax.Array:
    return updates.made(game, parameters, z, condition)


@functools.partial(jax.jit, static_argnums=(0, 3))
def _improve(game: Game, state: State, data: jax.Array, counts: tuple[int, int]) -> State:
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key), 3)
    keys = jax.random.split(jax.random.fold_in(key, state.step), sum(counts))

    def discriminator(state: State, key: jax.Array) -> tuple[State, None]:
        for_rows, for_update = jax.random.split(key)
        rows = jax.random.randint(for_rows, (game.settings.batch,), 0, len(data))
        batch = updates.Batch(data[rows], None)
        return updates.improve_discriminator(game, state, batch, for_update)[0], None

    def generator(state: State, key: jax.Array) -> tuple[State, None]:
        return updates.improve_generator(game, state, None, key)[0], None

    state, _ = jax.lax.scan(discriminator, state, keys[: counts[0]])
    state, _ = jax.lax.scan(generator, state, keys[counts[0] :])
    return state._replace(step=state.step + sum(counts))


@functools.partial(jax.jit, static_argnums=0)
def _epoch(
    game: Game, state: State, data: jax.Array, conditions: jax.Array | None
) -> tuple[State, updates.Means]:
    settings = game.settings
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key), 1)
    order = jax.random.permutation(jax.random.fold_in(key, state.epoch), game.examples)
    order = order[: game.iterations * settings.steps * settings.batch]
    batches = order.reshape(game.iterations, settings.steps, settings.batch)
    step = updates.simultaneous if settings.schedule == "simultaneous" else updates.alternating

    def iteration(state: State, rows: jax.Array) -> tuple[State, updates.Means]:
        condition = None if conditions is None else conditions[rows]
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), 2)
        state, means = step(
            game, state, updates.Batch(data[rows], condition), jax.random.fold_in(key, state.step)
        )
        return state._replace(step=state.step + 1), means

    state, means = jax.lax.scan(iteration, state, batches)
    return state._replace(epoch=state.epoch + 1), updates.Means(*map(jnp.mean, means))
