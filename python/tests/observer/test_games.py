"""What adversaries are given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hopflow._errors import HopflowError
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


def test_runs_shorter_than_a_window_have_no_kinds(runs: list[Watched]) -> None:
    short = replace(runs[0], traces={at: x[:, :, :100] for at, x in runs[0].traces.items()})
    assert len(games.kinds([short]).labels) == 0
    assert len(games.kinds([short, runs[1]]).labels) == len(games.kinds([runs[1]]).labels)


def test_no_pair_is_there_twice(runs: list[Watched]) -> None:
    def pairs_of(circuits: int) -> tuple[int, int, bool]:
        """True and false pairs of as many circuits of a class, and whether all are different."""
        some = replace(
            runs[0],
            traces={at: x[: 2 * circuits] for at, x in runs[0].traces.items()},
            bulk=runs[0].bulk[: 2 * circuits],
        )
        found = games.pairs([some], others=6)
        rows = np.concatenate([found.features, found.units[:, None], found.far[:, None]], 1)
        return (
            int(found.labels.sum()),
            int((1 - found.labels).sum()),
            len(np.unique(rows, axis=0)) == len(rows),
        )

    windows = len(games.pairs(runs[:1], others=0).labels) // len(runs[0].bulk)
    assert windows > 1
    assert pairs_of(1) == (0, 0, True)
    assert pairs_of(2) == (4 * windows, 4 * windows, True)
    assert pairs_of(4) == (8 * windows, 24 * windows, True)
    assert pairs_of(20) == (40 * windows, 240 * windows, True)


def test_partners_are_drawn_alike_each_time(runs: list[Watched]) -> None:
    one, again = (games.pairs(runs, others=6) for _ in range(2))
    assert (one.features == again.features).all()
    assert (one.far == again.far).all()


def test_every_other_watched_circuit_has_company(runs: list[Watched]) -> None:
    found = games.neighbours(runs, 10)
    assert found.labels.mean() == 0.5
    circuits = found.units % games.UNIT
    assert set(circuits[found.labels == 1]) == {0, 2, 4, 6, 8}


def test_a_circuit_that_shows_nothing_has_features_without_gaps() -> None:
    silent = np.zeros((3, 4, 100), np.float32)
    assert np.isfinite(features.of_trace(silent, 0.05)).all()
    found, correlation = features.of_pair(_longer(silent, 0.05), silent, 0.05)
    assert np.isfinite(found).all()
    assert (correlation == 0).all()


@pytest.mark.parametrize("bin_s", [0.05, 0.03, 0.5])
def test_the_whole_exit_window_is_found_at_the_greatest_lags(bin_s: float) -> None:
    far = np.random.default_rng(1).random((2, 4, 200)).astype(np.float32)
    more = features.margin(bin_s)
    wide = round(0.25 / bin_s) or 1
    for lag in (0, more // (2 * wide) * wide, round(2.0 / bin_s) // wide * wide):
        near = np.zeros((2, 4, 200 + 2 * more), np.float32)
        near[:, :, more + lag : more + lag + 200] = far
        _, found = features.of_pair(near, far, bin_s)
        assert found == pytest.approx(1.0, abs=1e-4)


def test_what_the_client_sends_is_looked_for_earlier_at_the_entry() -> None:
    far = np.random.default_rng(1).random((1, 4, 100)).astype(np.float32)
    near = np.zeros((1, 4, 180), np.float32)
    near[:, 1, :100] = far[:, 1]
    found, _ = features.of_pair(near, far, 0.05)
    columns_of_single = 7
    assert found[0, columns_of_single - 2] == pytest.approx(1.0, abs=1e-4)
    near[:, 1] = near[:, 1, ::-1]
    other, _ = features.of_pair(near, far, 0.05)
    assert other[0, columns_of_single - 2] < 0.9


def test_pairs_to_train_on_have_both_circuits_on_one_side(runs: list[Watched]) -> None:
    found = games.pairs(runs, divided=True)
    assert found.far is not None
    assert (games.held(found.units) == games.held(found.far)).all()
    assert ((found.units == found.far) == (found.labels == 1)).all()
    both = games.pairs(runs)
    assert both.far is not None
    assert (games.held(both.units) != games.held(both.far)).any()


def test_traces_shorter_than_a_window_have_no_pairs(runs: list[Watched]) -> None:
    assert len(games.pairs(runs, seconds=100.0).labels) == 0


def _longer(windows: np.ndarray, bin_s: float) -> np.ndarray:
    more = features.margin(bin_s)
    return np.pad(windows, ((0, 0), (0, 0), (more, more)))


@pytest.mark.parametrize("bin_s", [20.0, 1.0, 0.15])
def test_bins_that_do_not_divide_the_windows_are_refused(runs: list[Watched], bin_s: float) -> None:
    some = [replace(runs[0], bin_s=bin_s)]
    asked = (games.kinds, games.pages, games.pairs, lambda runs: games.neighbours(runs, 2))
    for game in asked:
        with pytest.raises(HopflowError, match=rf"bins of {bin_s:g} s.*up to 250 ms"):
            game(some)
