"""Intervals that hold however often one looks, by simulated campaigns with known truth."""

from __future__ import annotations

import math

import pytest

from hopflow.campaign.coverage import LAWS, covered
from hopflow.campaign.stopping import Target, difference, interval, next_networks, width_factor


def test_the_interval_is_that_of_the_mixture_t_test() -> None:
    # The mixture's Bayes factor at the ends of the interval is 1 / alpha.
    for n in (5, 10, 50):
        t = width_factor(n, 0.05) * math.sqrt(n)
        u, g = t * t / (n - 1), 1.0 + n
        factor = g**-0.5 * ((1.0 + u) / (1.0 + u / g)) ** (n / 2)
        assert factor == pytest.approx(1.0 / 0.05)
    assert math.isinf(width_factor(2, 0.05))
    found = interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.05)
    assert (found.n, found.mean) == (5, 3.0)
    assert found.half_width == pytest.approx(math.sqrt(2.5) * width_factor(5, 0.05))


def test_a_difference_is_taken_over_the_networks_that_both_have() -> None:
    base = {1: 10.0, 2: 12.0, 3: 11.0, 4: 13.0, 5: 11.5, 6: 11.5, 8: 10.0}
    own = {1: 11.0, 2: 13.1, 3: 12.0, 4: 13.9, 5: 12.5, 6: 12.5, 7: 99.0}
    found = difference(own, base, "own", Target("latency", 0.5, relative=True), 0.05)
    assert found.interval.n == 6
    assert found.interval.mean == pytest.approx(1.0)
    assert found.baseline == pytest.approx(11.5)
    assert found.decided
    strict = difference(own, base, "own", Target("latency", 1e-3), 0.05)
    assert not strict.decided and strict.networks_needed() > 1e4
    assert next_networks([strict], 4, 4, 100) == 8
    assert next_networks([strict], 64, 4, 100) == 100
    nothing = difference({}, base, "own", Target("latency", 1.0), 0.05)
    assert nothing.interval.n == 0 and not nothing.decided


@pytest.mark.parametrize("law", LAWS)
def test_the_intervals_cover_the_truth(law: str) -> None:
    pytest.importorskip("scipy")
    found = covered(law, campaigns=100, seed=1)
    assert found.coverage >= 0.95 > found.student
    assert found.mean_networks < 0.6 * found.fixed_networks
