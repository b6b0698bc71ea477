from __future__ import annotations

import numpy as np
import pytest

from hopflow.adversarial import theory


def test_a_generator_that_makes_the_data_has_the_least_criterion() -> None:
    p, q = np.asarray([0.25, 0.75]), np.asarray([0.5, 0.5])
    assert theory.criterion(p, p) == pytest.approx(-np.log(4.0))
    divergence = theory.jensen_shannon(p, q)
    assert theory.criterion(p, q) == pytest.approx(-np.log(4.0) + 2.0 * divergence)
    optimal = theory.optimal_discriminator(p, q)
    np.testing.assert_allclose(optimal, [1.0 / 3.0, 0.6])
    assert theory.value(optimal, p, q) == pytest.approx(theory.criterion(p, q))


def test_distributions_without_overlap_are_told_apart_completely() -> None:
    p, q = np.asarray([1.0, 0.0]), np.asarray([0.0, 1.0])
    assert theory.jensen_shannon(p, q) == pytest.approx(np.log(2.0))
    assert theory.criterion(p, q) == pytest.approx(0.0)


def test_the_descent_of_proposition_2_ends_at_the_data() -> None:
    data = np.asarray([0.1, 0.2, 0.7])
    criteria = theory.learn_generator(data, np.full(3, 1.0 / 3.0), rate=0.5, steps=200)
    assert criteria[-1] == pytest.approx(-np.log(4.0), abs=1e-9)
    assert np.diff(criteria).max() < 1e-12
