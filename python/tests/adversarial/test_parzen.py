from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from hopflow.adversarial import data, parzen


def test_it_is_the_mean_of_normal_densities() -> None:
    random = np.random.default_rng(1)
    samples, x = random.normal(size=(40, 3)), random.normal(size=(700, 3))
    found = parzen.log_likelihood(samples, x, 0.4)
    densities = np.mean(
        [multivariate_normal(one, 0.16 * np.eye(3)).pdf(x) for one in samples], axis=0
    )
    np.testing.assert_allclose(found.values, np.log(densities), atol=2e-4)
    assert found.mean == pytest.approx(np.log(densities).mean(), abs=1e-4)
    assert found.error == pytest.approx(np.log(densities).std() / 700**0.5, rel=1e-3)


def test_far_points_do_not_underflow() -> None:
    found = parzen.log_likelihood(np.zeros((5, 100)), np.full((3, 100), 50.0), 0.1)
    assert np.isfinite(found.values).all()


def test_sigma_is_the_best_of_the_grid_on_validation_data() -> None:
    random = np.random.default_rng(2)
    samples, x = random.normal(size=(500, 4)), random.normal(size=(200, 4))
    chosen = parzen.choose_sigma(samples, x)
    means = [parzen.log_likelihood(samples, x, float(s)).mean for s in parzen.SIGMAS]
    assert chosen.mean == pytest.approx(max(means))
    assert chosen.sigma == parzen.SIGMAS[int(np.argmax(means))]


def test_ten_thousand_training_images_of_mnist_have_244_nats() -> None:
    try:
        split = data.mnist()
    except data.DataError as error:
        pytest.skip(f"MNIST is not at hand: {error}")
    rows = np.random.default_rng(0).choice(50_000, 10_000, replace=False)
    found = parzen.estimate(split.train.x[rows], split.validation.x[:1000], split.test.x)
    assert found.mean == pytest.approx(244.0, abs=3.0)
    assert found.sigma == pytest.approx(0.1668, abs=1e-4)
