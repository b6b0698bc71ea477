"""What adversaries are given."""

from __future__ import annotations

import numpy as np

from hopflow.observer import features, games
from hopflow.observer.traces import Watched


def test_half_of_the_pairs_are_true_or_as_few_as_asked_for(runs: list[Watched]) -> None:
    found = games.pairs(runs)
    assert found.labels.mean() == 0.5
    assert set(found.networks) == {1, 2, 3, 4}
    assert np.isfinite(found.features).all()
    assert games.pairs(runs, others=4).labels.mean() == 0.2


def test_the_correlation_of_a_true_pair_is_nearly_one(runs: list[Watched]) -> None:
    found = games.pairs(runs)
    assert found.simple is not None
    assert np.median(found.simple[found.labels == 1]) > 0.9
    assert np.median(found.simple[found.labels == 0]) < 0.7


def test_windows_of_pages_begin_with_the_visit_and_end_before_the_trace_does(
    runs: list[Watched],
) -> None:
    found = games.pages(runs, seconds=12.0)
    assert len(found.labels) == 4 * 80
    assert found.classes == 3
    assert len(games.pages(runs, seconds=15.0).labels) == 4 * 40


def test_kinds_are_balanced(runs: list[Watched]) -> None:
    found = games.kinds(runs)
    assert found.labels.mean() == 0.5
    assert len(found.labels) > 100


def test_every_other_watched_circuit_has_company(runs: list[Watched]) -> None:
    found = games.neighbours(runs, 10)
    assert found.labels.mean() == 0.5
    circuits = found.units % games.UNIT
    assert set(circuits[found.labels == 1]) == {0, 2, 4, 6, 8}


def test_a_circuit_that_shows_nothing_has_features_without_gaps() -> None:
    silent = np.zeros((3, 4, 100), np.float32)
    assert np.isfinite(features.of_trace(silent, 0.05)).all()
    found, correlation = features.of_pair(silent, silent, 0.05)
    assert np.isfinite(found).all()
    assert (correlation == 0).all()


def test_the_correlation_finds_the_lag() -> None:
    far = np.random.default_rng(1).random((2, 4, 200)).astype(np.float32)
    _, found = features.of_pair(np.roll(far, 10, axis=2), far, 0.05)
    assert (found > 0.9).all()
