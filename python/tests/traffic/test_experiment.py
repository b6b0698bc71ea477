"""Comparing models of users: which trained generators are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hopflow.experiments import Options
from hopflow.traffic.experiment import trained
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
