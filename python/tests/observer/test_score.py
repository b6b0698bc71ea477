"""Scores against what is known of them."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow.observer import score

LABELS = np.array([0, 0, 1, 1])
ONCE = np.ones((1, 4))


def test_auc_is_the_share_of_pairs_in_order_and_ties_count_half() -> None:
    for scores, expected in [([1, 2, 3, 4], 1.0), ([4, 3, 2, 1], 0.0), ([1, 1, 1, 1], 0.5)]:
        found = score.auc(np.array(scores, float), LABELS)(ONCE)
        assert found[0] == pytest.approx(expected)
    assert score.auc(np.array([1.0, 3, 2, 4]), LABELS)(ONCE)[0] == pytest.approx(0.75)


def test_auc_counts_weights_as_copies() -> None:
    scores = np.array([1.0, 3, 2, 4])
    copies = np.repeat(np.arange(4), [1, 2, 1, 3])
    expected = score.auc(scores[copies], LABELS[copies])(np.ones((1, 7)))
    found = score.auc(scores, LABELS)(np.array([[1.0, 2, 1, 3]]))
    assert found[0] == pytest.approx(expected[0])


def test_detection_allows_no_more_false_alarms_than_it_says() -> None:
    scores = np.concatenate([np.arange(100.0), np.arange(50.0, 150.0)])
    labels = np.repeat([0, 1], 100)
    # One false example, 99, may score as high: the bar is 99, which 51 true ones reach.
    found = score.detection(scores, labels, 0.01)(np.ones((1, 200)))
    assert found[0] == pytest.approx(0.51)
    none = score.detection(np.zeros(200), labels, 0.01)(np.ones((1, 200)))
    assert none[0] == 0.0


def test_bits_are_one_for_who_knows_and_none_for_who_guesses() -> None:
    sure = np.eye(2)[LABELS] * (1 - 2e-9) + 1e-9
    assert score.bits(sure, LABELS)(ONCE)[0] == pytest.approx(1.0, abs=1e-6)
    assert score.bits(np.full((4, 2), 0.5), LABELS)(ONCE)[0] == pytest.approx(0.0)
    wrong = np.eye(2)[1 - LABELS] * 0.8 + 0.1
    assert score.bits(wrong, LABELS)(ONCE)[0] < 0


def test_calibration_makes_who_is_wrongly_sure_guess() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 400)
    sure = np.eye(2)[random.integers(0, 2, 400)] * 0.98 + 0.01
    honest = score.calibrated(sure, labels, 2)
    assert -0.02 < score.bits(honest(sure), labels)(np.ones((1, 400)))[0] < 0.05


def test_intervals_are_over_circuits_and_not_over_examples() -> None:
    right = np.repeat(np.random.default_rng(1).random(20) < 0.5, 50)
    probabilities = np.eye(2)[right.astype(int)]
    labels = np.ones(1000, int)

    def width(units: np.ndarray) -> float:
        found = score.estimate(score.accuracy(probabilities, labels), score.weights(units))
        return found.high - found.low

    assert width(np.repeat(np.arange(20), 50)) > 3 * width(np.arange(1000))
