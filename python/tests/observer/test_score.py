"""Scores against what is known of them."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow.observer import score
from hopflow.observer.score import Estimate, Resamples

LABELS = np.array([0, 0, 1, 1])
ONCE = np.ones((1, 4))


def test_auc_is_the_share_of_pairs_in_order_and_ties_count_half() -> None:
    for scores, expected in [([1, 2, 3, 4], 1.0), ([4, 3, 2, 1], 0.0), ([1, 1, 1, 1], 0.5)]:
        found = score.binary(np.array(scores, float), LABELS)(ONCE)["auc"]
        assert found[0] == pytest.approx(expected)
    assert score.binary(np.array([1.0, 3, 2, 4]), LABELS)(ONCE)["auc"][0] == pytest.approx(0.75)


def test_weights_count_as_copies() -> None:
    random = np.random.default_rng(1)
    labels = np.repeat([0, 1], [3000, 200])
    scores = np.round(random.random(3200) + 0.5 * labels, 2)
    weights = random.integers(0, 3, 3200)
    copies = np.repeat(np.arange(3200), weights)
    expected = score.binary(scores[copies], labels[copies], 300)(np.ones((1, len(copies))))
    found = score.binary(scores, labels, 300)(weights[None].astype(float))
    assert set(found) == {"auc", "detected-1e-2", "named", "precision"} == set(expected)
    for name in found:
        assert found[name][0] == pytest.approx(expected[name][0]), name


def test_detection_allows_no_more_false_alarms_than_it_says() -> None:
    scores = np.concatenate([np.arange(1000.0), np.arange(500.0, 1500.0)])
    labels = np.repeat([0, 1], 1000)
    # Ten false examples may score as high: the bar is 990, which 510 true ones reach.
    found = score.binary(scores, labels)(np.ones((1, 2000)))
    assert found["detected-1e-2"][0] == pytest.approx(0.51)
    none = score.binary(np.zeros(2000), labels)(np.ones((1, 2000)))
    assert none["detected-1e-2"][0] == 0.0


def test_rates_of_fewer_than_ten_false_examples_are_not_told() -> None:
    def told(false: int) -> set[str]:
        labels = np.repeat([0, 1], [false, 5])
        return set(score.binary(np.arange(false + 5.0), labels, 300)(np.ones((1, false + 5))))

    assert told(999) == {"auc"}
    assert told(1000) == {"auc", "detected-1e-2", "precision"}
    assert told(10_000) == {"auc", "detected-1e-2", "detected-1e-3", "named", "precision"}


def test_the_highest_among_many_is_as_likely_as_a_simulation_says() -> None:
    random = np.random.default_rng(1)
    false = np.round(random.normal(0, 1, 3000), 1)
    true = np.array([2.0, 2.5, 3.0, 3.5])
    draws = np.sort(random.choice(false, (20_000, 9)), 1)[:, -3:]
    expected = []
    for one in true:
        level = (draws == one).sum(1)
        expected.append(np.where((draws > one).any(1), 0, 1 / (1 + level)).mean())
    scores, labels = np.concatenate([false, true]), np.repeat([0, 1], [3000, 4])
    found = score.binary(scores, labels, 10)(np.ones((1, 3004)))["named"]
    assert found[0] == pytest.approx(np.mean(expected), abs=0.01)


def test_precision_falls_with_the_number_of_false_examples() -> None:
    labels = np.repeat([0, 1], [1000, 10])
    found = score.binary(np.arange(1010.0), labels, 300)(np.ones((1, 1010)))
    assert found["detected-1e-2"][0] == 1.0
    assert found["precision"][0] == pytest.approx(1 / 3.99)


def test_bits_are_one_for_who_knows_and_none_for_who_guesses() -> None:
    sure = np.eye(2)[LABELS] * (1 - 2e-9) + 1e-9
    assert score.bits(sure, LABELS)(ONCE)["bits"][0] == pytest.approx(1.0, abs=1e-6)
    assert score.bits(np.full((4, 2), 0.5), LABELS)(ONCE)["bits"][0] == pytest.approx(0.0)
    wrong = np.eye(2)[1 - LABELS] * 0.8 + 0.1
    assert score.bits(wrong, LABELS)(ONCE)["bits"][0] < 0


def test_calibration_makes_who_is_wrongly_sure_guess() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 400)
    sure = np.eye(2)[random.integers(0, 2, 400)] * 0.98 + 0.01
    honest = score.calibrated(sure, labels, 2)
    assert -0.02 < score.bits(honest(sure), labels)(np.ones((1, 400)))["bits"][0] < 0.05


def test_intervals_are_over_circuits_and_not_over_examples() -> None:
    right = np.repeat(np.random.default_rng(1).random(20) < 0.5, 50)
    probabilities = np.eye(2)[right.astype(int)]
    labels = np.ones(1000, int)

    def width(units: np.ndarray) -> float:
        statistic = score.accuracy(probabilities, labels)
        found = score.estimates([statistic], Resamples.of(units))["accuracy"]
        return found.high - found.low

    assert width(np.repeat(np.arange(20), 50)) > 3 * width(np.arange(1000))


def test_resamples_without_a_class_are_left_out() -> None:
    units, labels = np.repeat([1, 2, 3], 20), np.repeat([1, 0, 0], 20)
    resamples = Resamples.of(units)
    drawn = resamples.drawn > 0
    both = drawn[:, 0] & (drawn[:, 1] | drawn[:, 2])
    assert 0.3 < both.mean() < 0.8
    scores = labels.astype(float)
    auc = score.estimates([score.binary(scores, labels)], resamples)["auc"]
    assert (auc.mean, auc.low, auc.high) == pytest.approx((1.0, 1.0, 1.0))
    assert (np.isnan(auc.values) == ~both).all()


def test_rates_are_not_known_without_a_class_and_bits_and_accuracy_without_examples() -> None:
    labels = np.repeat([0, 1], [1000, 5])
    rates = score.binary(np.arange(1005.0), labels, 100)
    without = np.stack([1.0 - labels, labels, 0.0 * labels])
    found = rates(without)
    assert set(found) == {"auc", "detected-1e-2", "precision", "named"}
    assert all(np.isnan(values).all() for values in found.values())
    guess = np.full((1005, 2), 0.5)
    assert score.bits(guess, labels)(without)["bits"].tolist() == pytest.approx(
        [0.0, 0.0, np.nan], nan_ok=True
    )
    assert score.accuracy(guess, labels)(without)["accuracy"].tolist() == pytest.approx(
        [1.0, 0.0, np.nan], nan_ok=True
    )


def test_a_true_pair_counts_as_often_as_its_circuit_and_others_as_both_together() -> None:
    near, far = np.array([1, 1, 2]), np.array([1, 2, 3])
    resamples = Resamples.of(near, far, count=50)
    (weights,) = resamples.chunks()
    drawn = {unit: resamples.drawn[:, unit - 1] for unit in (1, 2, 3)}
    assert (weights[0] == 1).all()
    assert (weights[:, 0] == drawn[1]).all()
    assert (weights[:, 1] == drawn[1] * drawn[2]).all()
    assert (weights[:, 2] == drawn[2] * drawn[3]).all()


def test_circuits_are_drawn_alike_whoever_else_there_is() -> None:
    (some,) = Resamples.of(np.array([5, 9, 7])).chunks()
    (others,) = Resamples.of(np.array([7, 1, 5, 5])).chunks()
    assert (some[:, [0, 0, 2]] == others[:, [2, 3, 0]]).all()


def test_chunks_of_resamples_change_nothing() -> None:
    resamples = Resamples.of(np.arange(30), count=20)
    (whole,) = resamples.chunks()
    assert (np.concatenate(list(resamples.chunks(90))) == whole).all()


def test_a_difference_under_equal_resamples_is_sharper_than_its_parts() -> None:
    random = np.random.default_rng(1)
    circuits = random.normal(0, 1, 1000)
    one = Estimate.of(np.append(0.0, circuits))
    other = Estimate.of(np.append(0.5, circuits + 0.5 + random.normal(0, 0.1, 1000)))
    found = other.minus(one)
    assert found.mean == 0.5
    assert found.high - found.low < 0.5 < one.high - one.low


def test_differences_to_what_is_infinite_are_infinite_or_not_known() -> None:
    one, other = (Estimate.of(np.array([x, 1.0, 2.0, np.inf])) for x in (np.inf, 1.0))
    assert one.minus(other).mean == np.inf
    assert np.isnan(one.minus(one).mean)
    assert (one.low, one.high) == (1.0, np.inf)


def test_intervals_hold_what_is_true_as_often_as_they_say() -> None:
    random, units = np.random.default_rng(1), np.arange(60)
    hits = 0
    for trial in range(100):
        right = np.eye(2)[(random.random(60) < 0.7).astype(int)]
        statistic = score.accuracy(right, np.ones(60, int))
        found = score.estimates([statistic], Resamples.of(units + 100 * trial, count=300))
        hits += found["accuracy"].low <= 0.7 <= found["accuracy"].high
    assert hits >= 88
