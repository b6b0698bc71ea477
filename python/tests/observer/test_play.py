"""Games over traces that are made up, in which everything is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hopflow import _scenario
from hopflow._errors import HopflowError
from hopflow._scenario import read_scenario
from hopflow.observer import play
from hopflow.observer.adversaries import Predict
from hopflow.observer.cli import with_traces
from hopflow.observer.games import Examples
from hopflow.observer.play import Dealt, TooFew
from hopflow.observer.score import Estimate
from hopflow.observer.traces import Floats, Visits, Watched


@pytest.fixture(scope="module")
def dealt(runs: list[Watched]) -> Dealt:
    return play.deal(play.PAIRS, runs)


@pytest.fixture(scope="module")
def pairs(dealt: Dealt) -> list[play.Score]:
    return play.play(play.PAIRS, dealt, [1, 2])


def test_networks_to_train_on_and_to_be_judged_on_are_different(runs: list[Watched]) -> None:
    train, judged = play.split(runs)
    assert {run.network for run in train} == {1, 2}
    assert {run.network for run in judged} == {3, 4}
    assert play.split(runs[:1]) == ([], runs[:1])
    with pytest.raises(TooFew, match="fewer than 2 networks"):
        play.deal(play.PAIRS, runs[:1])


def test_pairs_to_fit_on_share_no_circuit_with_those_to_validate_on(dealt: Dealt) -> None:
    ends = []
    for part in (dealt.fitted, dealt.valid):
        assert part.far is not None
        ends.append(set(part.units.tolist()) | set(part.far.tolist()))
    assert ends[0].isdisjoint(ends[1])


def test_all_adversaries_find_pairs_that_are_plain_to_see(pairs: list[play.Score]) -> None:
    assert {score.adversary for score in pairs} == {"maxout", "forest", "nearest", "correlation"}
    for score in pairs:
        assert score.measures["auc"].mean > 0.85, score.adversary
        assert score.measures["auc"].low <= score.measures["auc"].mean
    assert play.best(pairs).measures["auc"].mean > 0.95


def weak(count: int, seed: int) -> Examples:
    """Examples whose feature rises a little with label 1: an AUC of 0.62."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(count) % 2)
    features = random.normal(0.43 * labels[:, None], 1.0, (count, 1)).astype(np.float32)
    return Examples(features, labels, np.arange(count), 2)


def too_sure(train: Examples, valid: Examples, seeds: Sequence[int]) -> Predict:
    """Takes the feature for more than it says."""

    def predict(features: Floats) -> np.ndarray:
        true = 1 / (1 + np.exp(-3.0 * features[:, 0].astype(np.float64)))
        return np.stack([1 - true, true], 1)[None]

    return predict


def test_ranks_are_those_that_adversaries_tell_whatever_calibration_makes_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(play, "ADVERSARIES", {"too sure": too_sure})
    judged = weak(2000, seed=0)
    guessed = 0
    for seed in range(1, 21):
        dealt = Dealt("made-up", (1, 1), judged, weak(30, seed), judged)
        (found,) = play.play(play.KINDS, dealt, [1])
        assert found.measures["auc"].mean == pytest.approx(0.62, abs=0.02)
        (ranked,) = play.measures(too_sure(judged, judged, [])(dealt.valid.features), dealt.valid)
        assert found.validated == ranked(np.ones((1, 30)))["auc"][0]
        # Without calibration they would be below -0.3.
        assert -0.1 < found.measures["bits"].mean < 0.1
        guessed += found.measures["bits"].mean == 0.0
    assert guessed > 0


def test_the_likeliest_page_is_the_one_that_adversaries_tell() -> None:
    labels = np.arange(90) % 3
    told = np.full((1, 90, 3), 0.25)
    told[0, np.arange(90), np.where(np.arange(90) < 45, labels, (labels + 1) % 3)] = 0.5
    asked = Examples(np.zeros((90, 1), np.float32), labels, np.arange(90), 3)
    (found,) = play.measures(told, asked, [lambda one: np.full_like(one, 1 / 3)])
    values = found(np.ones((1, 90)))
    assert values["accuracy"][0] == pytest.approx(0.5)
    assert values["bits"][0] == pytest.approx(0.0)


def test_the_strongest_is_chosen_by_what_was_validated_and_not_by_what_is_judged(
    pairs: list[play.Score],
) -> None:
    one = replace(pairs[0], validated=0.9, measures={"auc": Estimate(0.5, 0.4, 0.6)})
    other = replace(pairs[0], validated=0.8, measures={"auc": Estimate(1.0, 1.0, 1.0)})
    assert play.best([other, one]) is one


def test_games_need_examples_of_all_labels(runs: list[Watched]) -> None:
    assert play.deal(play.KINDS, runs).judged.classes == 2
    nothing = np.zeros(0, np.int64)
    nobody = [replace(run, visits=Visits(nothing, nothing, nothing, nothing)) for run in runs]
    with pytest.raises(TooFew, match="0 examples to train on"):
        play.deal(play.PAGES, nobody)


@pytest.mark.parametrize("game", [play.KINDS, play.PAGES, play.PAIRS, play.company(10)])
def test_runs_shorter_than_a_window_have_too_few_examples(
    runs: list[Watched], game: play.Game
) -> None:
    short = [
        replace(run, traces={at: x[:, :, :50] for at, x in run.traces.items()}) for run in runs
    ]
    with pytest.raises(TooFew, match="0 examples to train on and 0 to be judged on"):
        play.deal(game, short)


def test_pages_are_judged_on_recorded_loads_that_were_not_trained_on(runs: list[Watched]) -> None:
    train_runs, judged_runs = play.split(runs)
    train, judged = play.PAGES.make(train_runs, False), play.PAGES.make(judged_runs, True)
    loads = [set(some.loads.tolist()) for some in (*play.halves(train), judged)]
    assert loads == [{0, 1, 5, 6, 7}, {2}, {3, 4, 8, 9}]


def test_numbers_of_pages_may_have_gaps_and_pages_never_trained_on_are_not_asked_about(
    runs: list[Watched],
) -> None:
    def called(run: Watched) -> Watched:
        page_of = run.visits.page * 1000 + (run.network == 4) * (run.visits.circuit == 5)
        return replace(run, visits=replace(run.visits, page=page_of))

    some = [called(run) for run in runs]
    found = play.play(play.PAGES, play.deal(play.PAGES, some), [1])
    assert {score.classes for score in found} == {3}
    assert all(score.measures["bits"].mean < 0.6 for score in found)


def test_games_need_something_to_validate_on(runs: list[Watched]) -> None:
    loads = np.array([0, 1, 3, 4])
    few = [
        replace(run, visits=replace(run.visits, load=loads[run.visits.load % 4])) for run in runs
    ]
    assert len(play.deal(play.PAGES, runs).valid.labels) > 0
    with pytest.raises(TooFew, match="validate"):
        play.deal(play.PAGES, few)


def test_a_scenario_gets_observers_unless_it_has_some() -> None:
    found = with_traces({"record": {"hops": "1 s"}})
    assert found == {"record": {"hops": "1 s", "traces": "50 ms"}}
    assert with_traces({"a": 1}) == {"a": 1, "record": {"traces": "50 ms"}}
    own = {"record": {"traces": "5 ms"}}
    assert with_traces(own) == own


def test_files_beside_a_scenario_are_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_built_in = SimpleNamespace(scenario_text=lambda name: None)
    monkeypatch.setattr(_scenario, "native", lambda: nothing_built_in)
    (tmp_path / "pages.csv").write_text("")
    (tmp_path / "some.toml").write_text(
        'record = { hops = "1 s" } # TOML in its other forms\n'
        'circuits = [{ workload = { replay = "pages.csv" } }, { workload = "web" }]\n'
        'network.source.circuits = "elsewhere.csv"\n'
    )
    found = read_scenario(str(tmp_path / "some.toml"))
    assert found["circuits"][0]["workload"]["replay"] == str(tmp_path / "pages.csv")
    assert found["network"]["source"]["circuits"] == "elsewhere.csv"
    assert found["record"] == {"hops": "1 s"}
    (tmp_path / "some.toml").write_text("= 1")
    with pytest.raises(HopflowError, match="is no TOML"):
        read_scenario(str(tmp_path / "some.toml"))
