"""Controls: they hold where nothing is wrong, and fail where something is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hopflow.observer import controls, page, play
from hopflow.observer.controls import Control
from hopflow.observer.score import Estimate
from hopflow.observer.tournament import Played
from hopflow.observer.traces import Watched


def control(low: float, high: float) -> Control:
    return Control("pair", "made-up", "some", Estimate((low + high) / 2, low, high), 0.45, 0.55)


def test_what_is_not_known_is_undecided() -> None:
    assert control(0.46, 0.55).decision == "holds"
    assert control(0.44, 0.54).decision == "undecided"
    assert control(0.3, 0.7).decision == "undecided"
    assert control(0.56, 0.7).decision == "fails"
    assert control(0.2, 0.4).decision == "fails"


def test_a_game_is_valid_only_if_all_controls_hold() -> None:
    holds, undecided, fails = control(0.5, 0.5), control(0.3, 0.7), control(0.6, 0.7)
    assert page.verdict([holds, holds]) == "valid"
    assert page.verdict([holds, undecided]) == "undecided"
    assert page.verdict([holds, undecided, fails]) == "VOID"
    text = page.text(Played([], [holds, undecided, fails], ["page, made-up: too few"]))
    assert "1 of 3 hold" in text
    assert "  VOID: pair, made-up, some: 0.650" in text
    assert "  undecided: pair" in text
    assert "left out: page, made-up: too few" in text


def test_no_control_fails_where_nothing_is_wrong(runs: list[Watched]) -> None:
    dealt = play.deal(play.PAIRS, runs)
    found = {one.name: one for one in controls.controls(play.PAIRS, runs, dealt, 30)}
    assert set(found) == {controls.SHUFFLED, controls.CONSTANT, controls.IDENTICAL}
    assert found[controls.SHUFFLED].decision == "holds", found
    assert found[controls.IDENTICAL].decision == "holds", found
    assert found[controls.CONSTANT].decision != "fails", found


def test_only_pairs_have_a_control_with_a_constant_entry(runs: list[Watched]) -> None:
    dealt = play.deal(play.KINDS, runs)
    (only,) = controls.controls(play.KINDS, runs, dealt, shuffles=2)
    assert only.name == controls.SHUFFLED


@pytest.mark.parametrize("game", [play.KINDS, play.PAGES, play.PAIRS], ids=lambda game: game.name)
def test_shuffled_labels_find_what_is_judged_among_what_was_trained_on(
    runs: list[Watched], game: play.Game
) -> None:
    dealt = play.deal(game, runs)
    honest = controls.shuffled(game, dealt, shuffles=12)
    assert honest.decision != "fails", honest
    leaky = replace(dealt, fitted=dealt.fitted.joined(dealt.judged))
    found = controls.shuffled(game, leaky, shuffles=12)
    assert found.decision == "fails", found


def test_what_is_known_again_has_one_label_in_all_parts() -> None:
    keys = [np.array([3, 3, 5, 7]), np.array([7, 5, 9, 11, 3])]
    first, second = controls._drawn(keys, 2, np.random.default_rng(1))
    assert first[0] == first[1] == second[4]
    assert (first[2], first[3]) == (second[1], second[0])
    assert set(first.tolist()) == {0, 1}
