from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hopflow.adversarial import Adam, Game, Layer, Momentum, Perceptron, Settings, checkpoint, paper
from hopflow.adversarial.data import Split
from hopflow.adversarial.losses import LOSSES, flat_on_data, steep_between
from hopflow.adversarial.settings import State


def same(first: State, second: State) -> bool:
    equal = jax.tree.map(lambda a, b: bool(np.array_equal(a, b)), first, second)
    return all(jax.tree.leaves(equal))


def quadratic(settings: Settings) -> Game:
    """One weight each, so that updates can be worked out by hand."""
    generator = Perceptron((Layer(1, "linear", 0.5),))
    discriminator = Perceptron((Layer(1, "linear", 0.5),))
    return Game(generator, discriminator, settings, 8, (1,))


def test_the_same_seed_gives_the_same_bits_and_another_does_not(game: Game, digits: Split) -> None:
    x = jnp.asarray(digits.train.x)
    states = [game.epoch(game.start(seed), x)[0] for seed in (1, 1, 2)]
    assert same(states[0], states[1])
    assert not same(states[0], states[2])


def test_momentum_follows_the_paper_s_rule() -> None:
    rule = Momentum(rate=0.1, decay=1.5, floor=0.05, first=0.5, last=0.7, grows=(1, 3))
    transformation = rule.transformation(updates_per_epoch=2)
    parameters = jnp.zeros(())
    memory = transformation.init(parameters)
    velocity, expected = 0.0, []
    for update in range(8):
        rate = max(0.1 / 1.5**update, 0.05)
        momentum = 0.5 + 0.2 * min(max((update // 2 - 1) / 2, 0.0), 1.0)
        velocity = momentum * velocity - rate * 2.0
        expected.append(velocity)
    found = []
    for _ in range(8):
        change, memory = transformation.update(jnp.asarray(2.0), memory)
        found.append(float(change))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_simultaneous_update_takes_both_gradients_at_the_same_point() -> None:
    plain = Momentum(rate=0.1, decay=1.0, first=0.0, last=0.0)
    settings = Settings(
        batch=8,
        schedule="simultaneous",
        noise_size=1,
        generator_rule=plain,
        discriminator_rule=plain,
    )
    game = quadratic(settings)
    x = jnp.linspace(0.0, 1.0, 8)[:, None]
    before = game.start(3)
    after, progress = game.epoch(before, x)
    g, d = (
        {k: float(v.reshape(())) for k, v in net["params"]["layer0"].items()}
        for net in (before.generator, before.discriminator)
    )
    # the noise follows from the change of D: look for it in what the same key draws
    key = jax.random.fold_in(jax.random.wrap_key_data(before.key), 2)
    for_noise, _ = jax.random.split(jax.random.fold_in(key, before.step))
    z = np.asarray(game.noise(for_noise, 8), np.float64)[:, 0]
    samples = g["kernel"] * z + g["bias"]
    real = 1.0 / (1.0 + np.exp(-(d["kernel"] * np.asarray(x)[:, 0] + d["bias"])))
    fake = 1.0 / (1.0 + np.exp(-(d["kernel"] * samples + d["bias"])))
    slope = 0.5 * (np.mean(-(1.0 - real) * np.asarray(x)[:, 0]) + np.mean(fake * samples))
    new = after.discriminator["params"]["layer0"]["kernel"]
    assert float(new.reshape(())) == pytest.approx(d["kernel"] - 0.1 * slope, abs=1e-6)
    slope = np.mean(-(1.0 - fake) * d["kernel"] * z)
    new = after.generator["params"]["layer0"]["kernel"]
    assert float(new.reshape(())) == pytest.approx(g["kernel"] - 0.1 * slope, abs=1e-6)
    assert progress.on_data == pytest.approx(real.mean(), abs=1e-6)


def test_losses_are_those_of_the_paper() -> None:
    real, fake = jnp.asarray([2.0, -1.0]), jnp.asarray([0.5, -3.0])
    d_real, d_fake = jax.nn.sigmoid(real), jax.nn.sigmoid(fake)
    value = jnp.mean(jnp.log(d_real)) + jnp.mean(jnp.log(1.0 - d_fake))
    for name in ("non-saturating", "minimax"):
        assert float(LOSSES[name].discriminator(real, fake)) == pytest.approx(-float(value), 1e-5)
    minimax, other = LOSSES["minimax"].generator(fake), LOSSES["non-saturating"].generator(fake)
    assert float(minimax) == pytest.approx(float(jnp.mean(jnp.log(1.0 - d_fake))), 1e-5)
    assert float(other) == pytest.approx(-float(jnp.mean(jnp.log(d_fake))), 1e-5)


def test_penalties_are_those_of_a_critic_whose_gradient_is_known() -> None:
    # The gradient of |x|^2 / 2 is x itself.
    real = jnp.asarray([[3.0, 4.0], [0.0, 2.0]])
    fake = jnp.zeros((2, 2))

    def critic(x: jax.Array) -> jax.Array:
        return 0.5 * jnp.sum(x**2, axis=1)

    key = jax.random.key(1)
    assert float(flat_on_data(critic, real, fake, key)) == pytest.approx((25.0 + 4.0) / 2.0)
    assert float(steep_between(critic, real, real, key)) == pytest.approx((16.0 + 1.0) / 2.0)


def test_a_penalty_weighs_the_same_beside_the_loss_whatever_scales_both() -> None:
    plain = Momentum(rate=0.1, decay=1.0, first=0.0, last=0.0)
    whole = quadratic(
        Settings(
            batch=8,
            noise_size=1,
            loss="non-saturating-r1",
            discriminator_scale=1.0,
            generator_rule=plain,
            discriminator_rule=plain,
        )
    )
    half = replace(whole, settings=replace(whole.settings, discriminator_scale=0.5))
    x = jnp.linspace(0.0, 1.0, 8)[:, None]
    start = whole.start(1)

    def change(game: Game) -> jax.Array:
        after = game.improve(start, x, discriminator=1).discriminator
        return (
            after["params"]["layer0"]["kernel"] - start.discriminator["params"]["layer0"]["kernel"]
        )

    assert float(change(whole)[0, 0]) == pytest.approx(2.0 * float(change(half)[0, 0]), rel=1e-4)


def test_updates_outside_of_epochs_draw_other_minibatches_each_time(
    game: Game, digits: Split
) -> None:
    x = jnp.asarray(digits.train.x)
    once = game.improve(game.start(1), x, discriminator=1)
    rewound = once._replace(step=jnp.zeros((), jnp.int32))
    fresh, again = (game.improve(state, x, discriminator=1) for state in (once, rewound))
    assert not same(fresh._replace(step=again.step), again)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(batch=50, steps=2),
        Settings(batch=50, loss="minimax", noise="gaussian"),
        Settings(
            batch=50,
            steps=2,
            loss="wgan-gp",
            generator_rule=Adam(),
            discriminator_rule=Adam(),
        ),
        Settings(batch=50, loss="non-saturating-r1", penalty=2.0),
    ],
)
def test_every_way_to_play_stays_finite(settings: Settings, game: Game, digits: Split) -> None:
    other = replace(game, settings=settings)
    state = other.start(1)
    for _ in range(3):
        state, progress = other.epoch(state, jnp.asarray(digits.train.x))
    assert all(np.isfinite(progress))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state.generator))
    assert int(state.step) == 3 * other.iterations


def test_a_conditional_generator_makes_what_it_is_told(digits: Split) -> None:
    generator = Perceptron((Layer(32, "relu"), Layer(2, "linear")))
    discriminator = Perceptron((Layer(16, "maxout", pieces=3), Layer(1, "linear")))
    settings = Settings(
        batch=100, noise_size=4, generator_rule=Adam(2e-3), discriminator_rule=Adam(4e-3)
    )
    game = Game(generator, discriminator, settings, 1000, (2,), conditions=2)
    random = np.random.default_rng(1)
    classes = random.integers(0, 2, 1000)
    told = np.eye(2, dtype=np.float32)[classes]
    x = (random.normal(0.0, 0.2, (1000, 2)) + 2.0 * classes[:, None]).astype(np.float32)
    state = game.start(1)
    for _ in range(80):
        state, _ = game.epoch(state, jnp.asarray(x), jnp.asarray(told))
    means = [
        game.sample(state, 500, 7, np.tile(np.eye(2, dtype=np.float32)[c], (500, 1))).mean()
        for c in (0, 1)
    ]
    assert means[0] == pytest.approx(0.0, abs=0.5)
    assert means[1] == pytest.approx(2.0, abs=0.5)


def test_a_game_goes_on_from_a_checkpoint_as_if_nothing_had_happened(
    game: Game, digits: Split, tmp_path: Path
) -> None:
    x = jnp.asarray(digits.train.x)
    state, _ = game.epoch(game.start(5), x)
    checkpoint.save(tmp_path / "state", game, state, {"note": [1, 2.5, None]})
    loaded, notes = checkpoint.load(tmp_path / "state", game)
    assert notes == {"note": [1, 2.5, None]}
    assert same(game.epoch(loaded, x)[0], game.epoch(state, x)[0])


def test_a_checkpoint_of_another_game_is_refused(game: Game, tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "state", game, game.start(1))
    other = replace(game, settings=replace(game.settings, batch=40))
    with pytest.raises(checkpoint.CheckpointError, match="other nets or settings"):
        checkpoint.load(tmp_path / "state", other)
    (tmp_path / "broken").write_bytes(b"nothing")
    with pytest.raises(checkpoint.CheckpointError, match="not a checkpoint"):
        checkpoint.load(tmp_path / "broken", game)


def test_checkpoints_stay_valid_though_defaults_change() -> None:
    data = np.linspace(0.0, 1.0, 4000).reshape(1000, 4)
    assert checkpoint.fingerprint(paper.mnist(data)) == "9365f9201addc398"
    assert checkpoint.fingerprint(paper.mnist_penalised(data)) == "f489f36d9d731e27"
    assert checkpoint.fingerprint(paper.small(data)) == "681ea607797f8b7d"
    assert checkpoint.fingerprint(paper.cifar_convolutional(50_000)) == "cb3a86c6077d4f40"


def test_a_game_that_takes_another_default_is_another_game(game: Game) -> None:
    @dataclass(frozen=True)
    class Other:
        rate: float = 0.2
        decay: float = 1.000004

    Other.__name__ = "Momentum"
    first, other = (
        checkpoint.fingerprint(replace(game, settings=Settings(generator_rule=rule)))
        for rule in (Momentum(), Other())
    )
    assert first != other


def test_a_checkpoint_of_another_way_of_training_is_refused(
    game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.save(tmp_path / "state", game, game.start(1))
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    monkeypatch.setattr(checkpoint, "RECIPE", checkpoint.RECIPE + 1)
    with pytest.raises(checkpoint.CheckpointError, match="which trains otherwise"):
        checkpoint.load(tmp_path / "state", game)


def test_settings_at_their_defaults_do_not_part_checkpoints(game: Game) -> None:
    spelt = replace(game, settings=replace(game.settings, penalty=None), conditions=0)
    other = replace(game, settings=replace(game.settings, average=0.5))
    assert checkpoint.fingerprint(spelt) == checkpoint.fingerprint(game)
    assert checkpoint.fingerprint(other) != checkpoint.fingerprint(game)


def test_bad_settings_say_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="allowed are alternating, simultaneous"):
        Settings(schedule="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one step and no gradient penalty"):
        Settings(schedule="simultaneous", steps=2)
    with pytest.raises(ValueError, match="for losses that have one"):
        Settings(penalty=1.0)
    with pytest.raises(ValueError, match="maxout needs two pieces"):
        Layer(3, "maxout")
