"""The updates that Algorithm 1 is made of, as pure functions of a state, a minibatch and a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import optax

from hopflow.adversarial.losses import LOSSES
from hopflow.adversarial.settings import Parameters, State

if TYPE_CHECKING:
    from hopflow.adversarial.algorithm import Game


class Batch(NamedTuple):
    """A minibatch: data, and what goes with each example."""

    x: jax.Array
    condition: jax.Array | None


class Logits(NamedTuple):
    """The discriminator's logits for data and for samples."""

    real: jax.Array
    fake: jax.Array


class Means(NamedTuple):
    """`Progress`, before it has left the device."""

    discriminator_loss: jax.Array
    generator_loss: jax.Array
    on_data: jax.Array
    on_samples: jax.Array


def rules(game: Game) -> tuple[optax.GradientTransformation, optax.GradientTransformation]:
    """The gradient rules of generator and discriminator."""
    settings = game.settings
    return (
        settings.generator_rule.transformation(game.iterations),
        settings.discriminator_rule.transformation(game.iterations * settings.steps),
    )


def made(
    game: Game, parameters: Parameters, z: jax.Array, condition: jax.Array | None
) -> jax.Array:
    """What a generator with these parameters makes of noise, shape `(n, *shape)`."""
    samples = game.generator.apply(parameters, z, condition)
    return jnp.asarray(samples).reshape(-1, *game.shape)


def logits_of(
    game: Game, parameters: Parameters, batch: Batch, dropout: jax.Array | None
) -> jax.Array:
    """The logits of a discriminator with these parameters, shape `(n,)`."""
    logits = game.discriminator.apply(parameters, batch.x, batch.condition, dropout)
    return jnp.asarray(logits)[:, 0]


def alternating(game: Game, state: State, batches: Batch, key: jax.Array) -> tuple[State, Means]:
    """k updates of the discriminator, then one of the generator with fresh noise."""
    for_discriminator, for_generator = jax.random.split(key)
    keys = jax.random.split(for_discriminator, game.settings.steps)

    def improve(state: State, turn: tuple[Batch, jax.Array]) -> tuple[State, Logits]:
        return improve_discriminator(game, state, *turn)

    state, logits = jax.lax.scan(improve, state, (batches, keys))
    last = None if batches.condition is None else batches.condition[-1]
    state, fake = improve_generator(game, state, last, for_generator)
    return state, means(game, logits.real, logits.fake, fake)


def improve_generator(
    game: Game, state: State, condition: jax.Array | None, key: jax.Array
) -> tuple[State, jax.Array]:
    """One update of the generator; also the logits of its samples before."""
    for_noise, for_dropout = jax.random.split(key)
    z = game.noise(for_noise, game.settings.batch)

    def objective(generator: Parameters) -> tuple[jax.Array, jax.Array]:
        samples = Batch(made(game, generator, z, condition), condition)
        fake = logits_of(game, state.discriminator, samples, for_dropout)
        return LOSSES[game.settings.loss].generator(fake), fake

    gradient, fake = jax.grad(objective, has_aux=True)(state.generator)
    return _update_generator(game, state, gradient), fake


def improve_discriminator(
    game: Game, state: State, batch: Batch, key: jax.Array
) -> tuple[State, Logits]:
    """One update of the discriminator; also its logits before."""
    for_noise, for_dropout, for_penalty = jax.random.split(key, 3)
    z = game.noise(for_noise, game.settings.batch)
    samples = made(game, state.generator, z, batch.condition)
    loss = LOSSES[game.settings.loss]

    def objective(discriminator: Parameters) -> tuple[jax.Array, Logits]:
        logits = _judge_both(game, discriminator, batch, samples, for_dropout)
        value = loss.discriminator(*logits)
        if loss.penalty is not None:

            def critic(x: jax.Array) -> jax.Array:
                return logits_of(game, discriminator, Batch(x, batch.condition), None)

            penalty = loss.penalty(critic, batch.x, samples, for_penalty)
            value += game.settings.penalty_weight * penalty
        return game.settings.discriminator_scale * value, logits

    gradient, logits = jax.grad(objective, has_aux=True)(state.discriminator)
    return _update_discriminator(game, state, gradient), logits


def simultaneous(game: Game, state: State, batches: Batch, key: jax.Array) -> tuple[State, Means]:
    """Both gradients at the same point: the samples and the discriminator's pass are shared."""
    for_noise, for_dropout = jax.random.split(key)
    batch: Batch = jax.tree.map(lambda array: array[0], batches)
    z = game.noise(for_noise, game.settings.batch)
    samples, through_generator = jax.vjp(
        lambda generator: made(game, generator, z, batch.condition), state.generator
    )
    logits, through_discriminator = jax.vjp(
        lambda parameters, samples: _judge_both(game, parameters, batch, samples, for_dropout),
        state.discriminator,
        samples,
    )
    loss = LOSSES[game.settings.loss]
    scale = game.settings.discriminator_scale

    def discriminator_loss(logits: Logits) -> jax.Array:
        return scale * loss.discriminator(*logits)

    def generator_loss(logits: Logits) -> jax.Array:
        return loss.generator(logits.fake)

    for_discriminator, _ = through_discriminator(jax.grad(discriminator_loss)(logits))
    _, for_samples = through_discriminator(jax.grad(generator_loss)(logits))
    (for_generator,) = through_generator(for_samples)
    state = _update_discriminator(game, state, for_discriminator)
    state = _update_generator(game, state, for_generator)
    return state, means(game, logits.real, logits.fake, logits.fake)


def _judge_both(
    game: Game, parameters: Parameters, batch: Batch, samples: jax.Array, dropout: jax.Array
) -> Logits:
    """Logits of data and samples in one pass."""
    condition = batch.condition
    if condition is not None:
        condition = jnp.concatenate([condition, condition])
    both = Batch(jnp.concatenate([batch.x, samples]), condition)
    logits = logits_of(game, parameters, both, dropout)
    return Logits(*jnp.split(logits, 2))


def _update_discriminator(game: Game, state: State, gradient: Parameters) -> State:
    change, rule = rules(game)[1].update(gradient, state.discriminator_rule)
    parameters = optax.apply_updates(state.discriminator, change)
    return state._replace(discriminator=parameters, discriminator_rule=rule)


def _update_generator(game: Game, state: State, gradient: Parameters) -> State:
    change, rule = rules(game)[0].update(gradient, state.generator_rule)
    parameters = optax.apply_updates(state.generator, change)
    average = parameters
    if decay := game.settings.average:
        average = optax.incremental_update(parameters, state.average, 1.0 - decay)
    return state._replace(generator=parameters, average=average, generator_rule=rule)


def means(game: Game, real: jax.Array, fake: jax.Array, after: jax.Array) -> Means:
    """Of logits for data and samples, and for the samples of the generator's update."""
    loss = LOSSES[game.settings.loss]
    return Means(
        loss.discriminator(real.reshape(-1), fake.reshape(-1)),
        loss.generator(after),
        jnp.mean(jax.nn.sigmoid(real)),
        jnp.mean(jax.nn.sigmoid(fake)),
    )
