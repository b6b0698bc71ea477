"""What users get, from tables that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow.observer import costs
from hopflow.observer.costs import Times


def median(times: Times, weights: list[float] | None = None) -> float:
    weighted = np.asarray([weights or [1.0] * len(times.seconds)])
    return float(costs.survival_median(times)(weighted)[""][0])


def times(seconds: list[float], ended: list[bool]) -> Times:
    return Times(np.array(seconds), np.array(ended), np.arange(len(seconds)))


def test_the_first_visit_of_each_user_counts_until_a_pause_before_the_end() -> None:
    visits = {
        "network": np.array([1, 2, 1, 1, 1, 1, 1]),
        "circuit": np.array([7, 7, 7, 8, 7, 9, 8]),
        "start_s": np.array([12.0, 11.0, 2.0, 3.0, 20.0, 41.0, 44.0]),
        "end_s": np.array([15.0, 14.0, 9.0, 40.0, 21.0, 41.5, 44.5]),
    }
    found = costs.first_visits(visits, 45.0, 9.0)
    # Of 9 nothing is known: it began within the last pause.
    assert found.units.tolist() == [100_007, 100_008, 200_007]
    # That of 8 ended within the last pause, and that of network 2 did not end.
    assert found.seconds.tolist() == [7.0, 33.0, 25.0]
    assert found.ended.tolist() == [True, False, False]


def test_the_median_without_censoring_is_the_usual_one() -> None:
    assert median(times([5.0, 1.0, 3.0], [True] * 3)) == 3.0
    assert median(times([5.0, 1.0, 3.0, 4.0], [True] * 4)) == 3.0
    assert median(times([5.0, 1.0, 3.0], [True] * 3), [5.0, 1.0, 1.0]) == 5.0


def test_the_median_with_censoring_is_that_of_kaplan_and_meier() -> None:
    # Left: 5/6 after 6, then 5/6 * 3/4 after 10, and * 1/2 after 20: 0.3125.
    some = times([6.0, 7.0, 10.0, 11.0, 20.0, 25.0], [True, False, True, False, True, False])
    assert median(some) == 20.0
    assert median(times([1.0, 2.0, 3.0], [True, False, False])) == np.inf


def test_censoring_does_not_move_the_median() -> None:
    random = np.random.default_rng(1)
    took, until = random.exponential(10, 4000), random.uniform(0, 30, 4000)
    found = median(Times(np.minimum(took, until), took <= until, np.arange(4000)))
    assert found == pytest.approx(10 * np.log(2), rel=0.05)
