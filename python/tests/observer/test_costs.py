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


def test_the_first_visit_behind_the_warm_up_counts() -> None:
    visits = {
        "network": np.array([1, 2, 1, 1, 1, 1, 2]),
        "circuit": np.array([7, 7, 7, 8, 7, 9, 6]),
        "start_s": np.array([12.0, 11.0, 2.0, 3.0, 20.0, 41.0, 15.0]),
        "end_s": np.array([15.0, 14.0, 9.0, 10.0, 21.0, 41.5, 34.0]),
    }
    found = costs.first_visits(visits, (10.0, 45.0), 9.0)
    # That of 8 began before the warm-up ended, and that of 9 too late to be watched at all.
    assert found.units.tolist() == [100_007, 200_006, 200_007]
    # Those of network 2 had not ended 9 s before the end of the run.
    assert found.seconds.tolist() == [3.0, 21.0, 25.0]
    assert found.ended.tolist() == [True, False, False]


def test_a_visit_that_ends_within_the_last_pause_counts_as_not_ended() -> None:
    visits = {
        "network": np.array([1, 1]),
        "circuit": np.array([7, 7]),
        "start_s": np.array([12.0, 44.0]),
        "end_s": np.array([40.0, 44.5]),
    }
    found = costs.first_visits(visits, (10.0, 45.0), 9.0)
    assert (found.seconds.tolist(), found.ended.tolist()) == ([24.0], [False])


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
