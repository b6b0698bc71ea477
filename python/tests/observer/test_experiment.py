"""Pages and values of the experiments, from scores that are made up."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from hopflow.experiments import Options
from hopflow.observer import costs, experiment, page, play
from hopflow.observer.play import Score
from hopflow.observer.score import Estimate
from hopflow.observer.tournament import Played

TRANSPORTS = ("vanilla", "backtap")


def estimate(mean: float) -> Estimate:
    return Estimate.of(mean + np.linspace(-0.05, 0.05, 101))


def scored(transport: str, adversary: str, validated: float, found: float) -> Score:
    measures = {"auc": estimate(found), "detected-1e-2": estimate(found / 2)}
    return Score("pair", transport, adversary, (3, 2), 5000, 2, validated, measures)


@pytest.fixture
def played() -> Played:
    scores = [
        scored(label, adversary, validated, 0.8 + validated / 10)
        for label in TRANSPORTS
        for adversary, validated in (("forest", 0.9), ("nearest", 0.7))
    ]
    return Played([(play.PAIRS, scores)], [], ["page, vanilla: there are too few"])


def test_pairs_found_are_drawn_against_latency_and_goodput(tmp_path: Path, played: Played) -> None:
    names = (costs.GOODPUT, costs.LATENCY, costs.FIRST_BYTE, costs.VISIT)
    cost = {
        label: {name: estimate(place + 1.0) for name in names}
        for place, label in enumerate(TRANSPORTS)
    }
    made = experiment.finish(
        ("observer-games", Options(tmp_path, seeds=5)), "Some title", played, cost
    )
    assert made.is_file()
    for name in ("found-latency", "found-goodput", "game-pair"):
        assert (tmp_path / "plots" / f"{name}.svg").is_file()
    text = made.read_text(encoding="utf-8")
    assert "page, vanilla: there are too few" in text
    assert "differences to vanilla" in text
    with (tmp_path / "values.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 2 + 2 * 4
    visits = [row for row in rows if row["quantity"] == "first visit of a page, median"]
    assert [row["unit"] for row in visits] == ["s", "s"]


def test_all_adversaries_are_on_the_page_and_one_counts(played: Played) -> None:
    ((game, scores),) = played.games
    columns, rows, _ = page.strongest(game, scores, played.controls)
    assert [row[0] for row in rows] == list(TRANSPORTS)
    assert {row[columns.index("adversary")] for row in rows} == {"forest"}
    assert rows[0][columns.index("AUC, difference to vanilla")] == "–"
    assert len(page.everyone(game, scores)[1]) == 4
