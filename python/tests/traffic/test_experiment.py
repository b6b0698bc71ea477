"""Comparing models of users: what is kept, and what intervals hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hopflow.experiments import Options
from hopflow.traffic import marginals
from hopflow.traffic.baselines import Empirical
from hopflow.traffic.copula import Copula
from hopflow.traffic.experiment import Fitted, trained
from hopflow.traffic.judge import QUANTITIES, Judge, real, summary
from hopflow.traffic.step import Split, Step, split

if TYPE_CHECKING:
    from hopflow.traffic.generator import Recipe


@dataclass(frozen=True)
class Untrained:
    """Stands in for a generator."""

    history: tuple[tuple[int, float], ...]

    def write(self, path: Path) -> None:
        path.write_bytes(b"")


def test_a_generator_is_kept_only_if_recipe_and_sessions_are_the_same(
    steps: list[Step], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = pytest.importorskip("hopflow.traffic.generator")
    epochs: list[int] = []

    def train(_: Mapping[str, Split], seed: int, recipe: Recipe) -> Untrained:
        epochs.append(recipe.epochs)
        return Untrained(((recipe.epochs, 0.5 + seed),))

    monkeypatch.setattr(generator, "train_generator", train)
    splits, others = {"web": split(steps)}, {"web": split(steps[:200])}
    full = Options(out=tmp_path)
    quick = replace(full, quick=True)

    trained(splits, 2, quick)
    trained(splits, 2, quick)
    assert epochs == [20, 20]
    trained(splits, 1, full)
    assert epochs[2:] == [2400]
    trained(splits, 1, replace(full, epochs=7))
    assert epochs[3:] == [7]
    trained(others, 1, replace(full, epochs=7))
    assert epochs[4:] == [7]
    record = tmp_path / "generators" / "seed-1.json"
    first = json.loads(record.read_text())
    del first["made_by"]["version"]
    record.write_text(json.dumps(first))
    trained(others, 1, replace(full, epochs=7))
    assert epochs[5:] == []
    monkeypatch.setattr(generator, "VERSION", generator.VERSION + 1)
    trained(others, 1, replace(full, epochs=7))
    assert epochs[5:] == [7]


def test_what_makes_generators_has_the_version_that_it_says() -> None:
    """Where this fails, the same recipe gives other generators: raise `VERSION`."""
    generator = pytest.importorskip("hopflow.traffic.generator")
    checkpoint = pytest.importorskip("hopflow.adversarial.checkpoint")
    games = [recipe.game(1000, 2) for recipe in (generator.Recipe(), generator.PAPER)]
    made_by = [checkpoint.fingerprint(game) for game in games]
    made_by += [checkpoint.RECIPE, marginals.KNOTS, marginals.FINE_KNOTS, generator.NOISE]
    assert (generator.VERSION, made_by) == (
        1,
        ["c7de4539485fbbf4", "1e45191f896370fb", 1, 33, 129, 32],
    )


def test_one_seed_has_no_interval(steps: list[Step]) -> None:
    parts = split(steps)
    judge = Judge.of(parts)
    runs = [judge.measure(Empirical(parts.train), seed) for seed in range(2)]
    assert summary(runs[:1])[1] is None
    assert np.array_equal(summary(runs[:1])[0], runs[0].quantities)


def test_intervals_hold_which_sessions_were_held_out(steps: list[Step]) -> None:
    parts = split(steps)
    run = Judge.of(parts).measure(Copula.fit(parts.train, np.random.default_rng(1)), 1)
    mean, half = summary([run, run])
    assert half is not None and (half > 0.0).all()
    assert np.allclose(mean, run.quantities)
    area = [name for name, _ in QUANTITIES].index("trees: AUC")
    assert 0.02 < half[area] < 0.3


def test_real_sessions_are_what_no_model_beats(steps: list[Step]) -> None:
    mean, half = summary(real(steps, 3))
    found = dict(zip((name for name, _ in QUANTITIES), mean, strict=True))
    assert half is not None
    assert found["W1, mean of features"] > 0.05
    assert abs(found["trees: AUC"] - 0.5) < 0.15
    assert abs(found["memorisation"] - 1.0) < 0.3


def test_models_are_written_for_the_simulator(steps: list[Step], tmp_path: Path) -> None:
    splits = {"web": split(steps), "bulk": split(steps[:100])}
    Fitted.to(splits).write(tmp_path / "models")
    names = sorted(path.name for path in (tmp_path / "models").iterdir())
    assert names == ["copula.safetensors", "parametric.safetensors"]
