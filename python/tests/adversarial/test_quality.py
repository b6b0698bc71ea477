from __future__ import annotations

import numpy as np
import pytest

from hopflow.adversarial import quality
from hopflow.adversarial.data import Split


def test_the_frechet_distance_is_that_of_the_closed_form() -> None:
    random = np.random.default_rng(1)
    one = random.normal(0.0, 1.0, (200_000, 2))
    other = random.normal([1.0, 2.0], 3.0, (200_000, 2))
    # Of independent coordinates: the squared difference of means, and of standard deviations.
    assert quality.frechet(one, other) == pytest.approx(5.0 + 2 * 2.0**2, rel=0.02)
    assert quality.frechet(one, one) == pytest.approx(0.0, abs=1e-9)


def test_samples_of_one_mode_are_precise_and_recall_half() -> None:
    random = np.random.default_rng(2)
    real = random.normal(0.0, 1.0, (1000, 4))
    real[:500, 0] += 100.0
    samples = random.normal(0.0, 1.0, (1000, 4))
    precision, recall = quality.precision_and_recall(real, samples)
    assert precision > 0.9
    assert recall == pytest.approx(0.5, abs=0.05)
    everywhere = random.normal(0.0, 100.0, (1000, 4))
    precision, _ = quality.precision_and_recall(real, everywhere)
    assert precision < 0.05


def test_blur_brings_nothing(digits: Split) -> None:
    judge = quality.classifier(digits.train.x, digits.train.labels)
    found = judge.classes(digits.test.x)
    assert (found == digits.test.labels).mean() > 0.85
    real, images = judge.features(digits.test.x), digits.train.x
    blurred = 0.5 * images + 0.5 * images.mean(axis=0)
    sharp = quality.frechet(real, judge.features(images))
    assert quality.frechet(real, judge.features(blurred)) > 3.0 * sharp


def test_a_classifier_is_the_same_for_the_same_data(digits: Split) -> None:
    x, labels = digits.train.x[:500], digits.train.labels[:500]
    one, other = (quality.classifier(x, labels).features(digits.test.x) for _ in range(2))
    assert np.array_equal(one, other)
