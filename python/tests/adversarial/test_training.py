from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hopflow.adversarial import Game, Layer, Perceptron, Plan, paper, parzen, train
from hopflow.adversarial.checkpoint import CheckpointError
from hopflow.adversarial.data import Split
from hopflow.adversarial.extensions import features, train_inference
from hopflow.adversarial.training import Training


@pytest.fixture(scope="module")
def trained(game: Game, digits: Split) -> Training:
    return train(game, digits.train.x, digits.validation.x, Plan(120, every=40, samples=500))


def test_training_brings_samples_near_the_data(
    game: Game, digits: Split, trained: Training
) -> None:
    def likelihood(training: Training) -> float:
        samples = game.sample(training.best, 500, seed=9)
        return parzen.estimate(samples, digits.validation.x, digits.test.x).mean

    start = game.start(1)
    untrained = likelihood(Training(start, start))
    assert likelihood(trained) > untrained + 10.0
    assert trained.best_epoch in (40, 80, 120)


def test_an_interrupted_training_ends_where_an_uninterrupted_one_does(
    game: Game, digits: Split, tmp_path: Path
) -> None:
    x, validation = digits.train.x, digits.validation.x
    whole = train(game, x, validation, Plan(4, every=2, samples=100))
    train(game, x, validation, Plan(2, every=2, samples=100, folder=tmp_path))
    resumed = train(game, x, validation, Plan(4, every=2, samples=100, folder=tmp_path))
    for one, other in ((whole.state, resumed.state), (whole.best, resumed.best)):
        assert np.array_equal(game.sample(one, 10, seed=1), game.sample(other, 10, seed=1))
    assert [row.parzen for row in whole.history] == [row.parzen for row in resumed.history]


@pytest.mark.parametrize(("values", "best"), [([1.0, 9.0, 0.5], 2), ([1.0, 9.0, 2.0], 4)])
def test_a_training_that_goes_on_further_ends_as_if_planned_so(
    game: Game,
    digits: Split,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    values: list[float],
    best: int,
) -> None:
    """Looked at: epoch 2, epoch 3 out of turn, and epoch 4."""
    x, validation = digits.train.x, digits.validation.x

    def says(*numbers: float) -> None:
        found = iter(numbers)
        look = lambda *_: parzen.Estimate(next(found), 0.0, 0.1, np.zeros(1))  # noqa: E731
        monkeypatch.setattr(parzen, "choose_sigma", look)

    says(values[0], values[2])
    whole = train(game, x, validation, Plan(4, every=2, samples=50))
    says(*values)
    shorter = train(game, x, validation, Plan(3, every=2, samples=50, folder=tmp_path))
    again = train(game, x, validation, Plan(3, every=2, samples=50, folder=tmp_path))
    assert shorter.best_epoch == again.best_epoch == 3
    longer = train(game, x, validation, Plan(4, every=2, samples=50, folder=tmp_path))
    assert whole.best_epoch == longer.best_epoch == best
    assert [row.parzen for row in whole.history] == [row.parzen for row in longer.history]
    for one, other in ((shorter.best, again.best), (whole.best, longer.best)):
        assert np.array_equal(game.sample(one, 10, seed=1), game.sample(other, 10, seed=1))


def test_a_training_does_not_go_on_with_other_looks(
    game: Game, digits: Split, tmp_path: Path
) -> None:
    x, validation = digits.train.x, digits.validation.x
    train(game, x, validation, Plan(1, every=1, samples=50, folder=tmp_path))
    for other, message in (
        (Plan(2, every=2, samples=50, folder=tmp_path), "every = 1, not 2"),
        (Plan(2, every=1, samples=60, folder=tmp_path), "samples = 50, not 60"),
        (Plan(2, every=1, samples=50, seed=2, folder=tmp_path), "seed = 1, not 2"),
    ):
        with pytest.raises(CheckpointError, match=message):
            train(game, x, validation, other)


def test_two_trainings_in_a_folder_follow_one_another(
    game: Game, digits: Split, tmp_path: Path
) -> None:
    x, validation = digits.train.x, digits.validation.x
    plan = Plan(2, every=1, samples=50, folder=tmp_path)
    epochs: list[int] = []
    with ThreadPoolExecutor(2) as threads:
        both = [
            threads.submit(train, game, x, validation, plan, lambda row: epochs.append(row.epoch))
            for _ in range(2)
        ]
        found = [one.result() for one in both]
    assert epochs == [1, 2]
    assert found[0].history == found[1].history


def test_an_inference_net_finds_the_noise_behind_samples(game: Game, trained: Training) -> None:
    net = Perceptron((Layer(256, "relu"), Layer(game.settings.noise_size, "linear")))
    inference = train_inference(game, trained.best, net, steps=300, seed=1)
    z = np.random.default_rng(0).uniform(-(3**0.5), 3**0.5, (200, game.settings.noise_size))
    found = inference(game.generate(trained.best, z.astype(np.float32)))
    # variance 1: to know nothing is an error of 1
    assert ((found - z) ** 2).mean() < 0.9
    assert inference.errors[-20:].mean() < inference.errors[:20].mean()


def test_the_discriminator_s_layers_are_features_for_few_labels(
    game: Game, digits: Split, trained: Training
) -> None:
    few = 60
    found = features(game, trained.state, digits.train.x[:few])
    assert found.shape == (few, 64)
    classifier = LogisticRegression(max_iter=2000).fit(found, digits.train.labels[:few])
    score = classifier.score(features(game, trained.state, digits.test.x), digits.test.labels)
    assert score > 0.6


def test_a_training_that_has_gone_further_is_not_passed_off_as_a_shorter_one(
    game: Game, digits: Split, tmp_path: Path
) -> None:
    x, validation = digits.train.x, digits.validation.x
    train(game, x, validation, Plan(2, every=1, samples=50, folder=tmp_path))
    with pytest.raises(CheckpointError, match="has 2 epochs already"):
        train(game, x, validation, Plan(1, every=1, samples=50, folder=tmp_path))


def test_a_training_does_not_go_on_with_other_data(
    game: Game, digits: Split, tmp_path: Path
) -> None:
    x, validation = digits.train.x, digits.validation.x
    train(game, x, validation, Plan(1, every=1, samples=50, folder=tmp_path))
    with pytest.raises(CheckpointError, match="other data"):
        train(game, 1.0 - x, validation, Plan(2, every=1, samples=50, folder=tmp_path))


def test_our_way_of_training_for_mnist_learns_the_digits(digits: Split) -> None:
    game = paper.mnist_penalised(digits.train.x)
    found = train(game, digits.train.x, digits.validation.x, Plan(20, every=20, samples=300))
    assert found.best_parzen > -20.0
