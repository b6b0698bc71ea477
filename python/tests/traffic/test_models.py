"""Vectors, marginals and models of users, on made-up sessions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hopflow.traffic import metrics
from hopflow.traffic.baselines import Crude, Empirical, Parametric, StepModel
from hopflow.traffic.copula import Copula
from hopflow.traffic.marginals import Marginals
from hopflow.traffic.step import Step, split
from hopflow.traffic.vector import FEATURES, NAMES, decode, encode


def _rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_a_step_survives_its_vector_within_a_few_percent(steps: list[Step]) -> None:
    vectors = encode(steps)
    assert vectors.shape == (len(steps), FEATURES) and len(NAMES) == FEATURES
    back = decode(vectors)
    for before, after in zip(steps, back, strict=True):
        assert len(before.objects) == len(after.objects)
        assert len(before.uploads) == len(after.uploads)
        assert abs(np.log(after.total / before.total)) < 0.35
    errors = [np.log(b.total / a.total) for a, b in zip(steps, back, strict=True)]
    assert abs(float(np.median(errors))) < 0.05


def test_quantiles_that_decrease_are_sorted_and_sizes_are_positive() -> None:
    vector = np.array([[5.0, 0.0, *np.linspace(9.0, 1.0, 16), 0.0, 0.0]])
    (step,) = decode(vector)
    assert list(step.objects) == sorted(step.objects)
    assert step.first == 1 and step.uploads == ()


def test_marginals_make_columns_uniform_and_are_inverted(steps: list[Step]) -> None:
    vectors = encode(steps)
    marginals = Marginals.fit(vectors)
    unit = marginals.to_unit(vectors, _rng())
    assert unit.min() >= 0.0 and unit.max() <= 1.0
    assert np.allclose(unit.mean(axis=0), 0.5, atol=0.05)
    assert np.allclose(marginals.from_unit(unit), vectors, atol=1e-6)


@pytest.mark.parametrize("name", ["crude", "empirical", "parametric", "copula"])
def test_the_same_generator_gives_the_same_steps(steps: list[Step], name: str) -> None:
    train = split(steps).train
    models: dict[str, StepModel] = {
        "crude": Crude.of("web"),
        "empirical": Empirical(train),
        "parametric": Parametric.fit(train),
        "copula": Copula.fit(train, _rng()),
    }
    model = models[name]
    assert model.sample(20, _rng()) == model.sample(20, _rng())


def test_measures_tell_good_models_from_bad_ones(steps: list[Step]) -> None:
    parts = split(steps)
    train, test = metrics.features(parts.train), metrics.features(parts.test)
    scale = metrics.Scale.of(train)
    train, test = scale.apply(train), scale.apply(test)

    def drawn(model: StepModel, count: int) -> metrics.Floats:
        return scale.apply(metrics.features(model.sample(count, _rng())))

    copula = Copula.fit(parts.train, _rng())
    parametric = Parametric.fit(parts.train)
    near, far = (metrics.wasserstein(test, drawn(it, 500)).mean() for it in (copula, parametric))
    assert near < far
    errors = [metrics.correlation_error(test, drawn(it, 500)) for it in (copula, parametric)]
    assert errors[0] < errors[1]
    assert metrics.memorisation(train, test, drawn(Empirical(parts.train), 100)) == 0.0
    assert metrics.memorisation(train, test, test) == 1.0


def test_distances_are_those_of_scipy_for_any_sample_of_the_real_rows() -> None:
    from scipy import stats

    rng = _rng()
    real, fake = rng.standard_normal((30, 2)), np.rint(rng.standard_normal((200, 2)))
    rows = rng.integers(30, size=30)
    expected = [stats.wasserstein_distance(real[rows, i], fake[:, i]) for i in range(2)]
    assert np.allclose(metrics.Distances.of(real, fake).against(rows), expected)


def test_a_two_sample_test_finds_no_difference_where_there_is_none() -> None:
    rng = _rng()
    same = [rng.standard_normal((300, 5)) for _ in range(2)]
    other = same[1] + 3.0
    assert abs(metrics.boosted_test(same[0], same[1], 0).auc - 0.5) < 0.1
    assert abs(metrics.nearest_neighbour_test(same[0], same[1]).accuracy - 0.5) < 0.1
    assert metrics.boosted_test(same[0], other, 0).auc > 0.95
    assert metrics.nearest_neighbour_test(same[0], other).accuracy > 0.95


def test_a_generator_learns_and_is_the_same_without_its_framework(
    steps: list[Step], tmp_path: Path
) -> None:
    pytest.importorskip("flax")
    from hopflow.traffic.generator import NOISE, Recipe, train_generator
    from hopflow.traffic.net import read_generator

    splits = {"web": split(steps), "bulk": split(steps[:60])}
    recipe = Recipe(epochs=4, look=2, hidden=(16, 24), batch=50)
    trained = train_generator(splits, 1, recipe)
    assert [epoch for epoch, _ in trained.history] == [2, 4]
    trained.write(tmp_path / "it.safetensors")
    net = read_generator(tmp_path / "it.safetensors")
    z = _rng().uniform(-(3.0**0.5), 3.0**0.5, (8, NOISE)).astype(np.float32)
    for number, name in enumerate(splits):
        condition = np.eye(2, dtype=np.float32)[np.full(8, number)]
        expected = trained.game.generate(trained.state, z, condition)
        assert np.allclose(net.unit(name, z), expected, atol=1e-5)
    assert len(net.of("web").sample(3, _rng())) == 3


def test_fewer_epochs_than_between_looks_still_give_a_trained_generator(steps: list[Step]) -> None:
    pytest.importorskip("flax")
    from hopflow.traffic.generator import Recipe, train_generator

    recipe = Recipe(epochs=1, look=2, hidden=(16, 24), batch=50)
    trained = train_generator({"web": split(steps)}, 1, recipe)
    assert [epoch for epoch, _ in trained.history] == [1]
    before, after = (
        next(iter(state.generator["params"].values()))["kernel"]
        for state in (trained.game.start(1), trained.state)
    )
    assert not np.array_equal(before, after)
