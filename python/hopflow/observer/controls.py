"""Controls: what has to hold, or what was measured means nothing.

A control holds if the interval of its measure lies within a band, and fails if it lies wholly
outside of it. Otherwise it is undecided: there are too few data to tell, which is no support.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hopflow.experiments import half_width
from hopflow.observer import score
from hopflow.observer.adversaries import forest
from hopflow.observer.games import UNIT, Examples
from hopflow.observer.play import Dealt, Game, deal, measures
from hopflow.observer.score import Estimate, Resamples
from hopflow.observer.traces import Numbers, Watched

SHUFFLED = "shuffled labels"
CONSTANT = "entry padded to a constant rate"
IDENTICAL = "the exit's trace at the entry"

SHUFFLES = 60
"""Shuffles of labels; so many that the interval of their mean is narrower than the band."""

MOST = 600
"""Examples that the forest of a control is trained on, and judged on, at most."""

TREES = 30
"""Trees of a control's forest."""

Decision = Literal["holds", "undecided", "fails"]
"""What is known of a control."""


@dataclass(frozen=True)
class Control:
    """Something that has to hold.

    Attributes:
        game: The game's name.
        transport: The transport's label.
        name: What was done.
        measured: The measure that was looked at.
        low: The least that is allowed.
        high: The most.
    """

    game: str
    transport: str
    name: str
    measured: Estimate
    low: float
    high: float

    @property
    def decision(self) -> Decision:
        """Whether the interval lies within what is allowed, or wholly outside of it."""
        low, high = self.low - 1e-9, self.high + 1e-9
        if low <= self.measured.low and self.measured.high <= high:
            return "holds"
        outside = self.measured.high < low or self.measured.low > high
        return "fails" if outside else "undecided"


def controls(
    game: Game[Watched], runs: Sequence[Watched], dealt: Dealt, shuffles: int = SHUFFLES
) -> list[Control]:
    """The controls of a game against one transport; a small forest plays them.

    Args:
        game: The game.
        runs: The transport's runs.
        dealt: Their examples.
        shuffles: How often labels are shuffled.
    """
    found = [shuffled(game, dealt, shuffles)]
    if game.name == "pair":
        for name, change, band in (
            (CONSTANT, constant, (0.45, 0.55)),
            (IDENTICAL, identical, (0.99, 1.0)),
        ):
            measured = _measured(game, deal(game, change(runs)))
            found.append(Control(game.name, dealt.transport, name, measured, *band))
    return found


def shuffled(game: Game[Any], dealt: Dealt, shuffles: int = SHUFFLES) -> Control:
    """Labels that tell nothing, many times: adversaries must be no better than guessing.

    A label is drawn for each circuit, or for each recorded load where pages are told apart, once
    for all parts of the examples. What is known from training is therefore worth something if it is
    judged again: the control fails if it is. The interval is that of the mean over shuffles.
    """
    train, judged = dealt.fitted.joined(dealt.valid), dealt.judged
    keys = [_keys(part) for part in (judged, train)]
    found = []
    for turn in range(shuffles):
        random = np.random.default_rng([1, turn])
        some = [random.permutation(len(part))[:MOST] for part in keys]
        told = _drawn(
            [part[rows] for part, rows in zip(keys, some, strict=True)], judged.classes, random
        )
        asked, fitted = (
            replace(part.take(rows), labels=labels)
            for part, rows, labels in zip((judged, train), some, told, strict=True)
        )
        found.append(_played(game, fitted, asked, turn, Resamples.of(asked.units, count=0)).mean)
    means = np.asarray(found)
    mean, half = float(means.mean()), float(half_width(means))
    measured = Estimate(mean, mean - half, mean + half)
    guess, around = (0.5, 0.05) if game.main == "auc" else (1 / judged.classes, 0.02)
    band = (max(0.0, guess - around), guess + around)
    return Control(game.name, dealt.transport, SHUFFLED, measured, *band)


def _keys(part: Examples) -> Numbers:
    """What each example would be known by again."""
    return part.units if part.loads is None else part.labels * UNIT + part.loads


def _drawn(
    keys: Sequence[Numbers], classes: int, random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Labels by key, the same for a key in all parts; each for about as many keys of a part.

    Args:
        keys: The keys of the examples of each part.
        classes: Number of labels.
        random: Draws them.
    """
    label_of: dict[int, int] = {}
    for part in keys:
        new = [key for key in np.unique(part).tolist() if key not in label_of]
        names = random.permutation(classes)
        labels = random.permutation(names[np.arange(len(new)) % classes])
        label_of |= dict(zip(new, labels.tolist(), strict=True))
    return [np.asarray([label_of[key] for key in part.tolist()], np.int64) for part in keys]


def _measured(game: Game[Watched], dealt: Dealt) -> Estimate:
    """What a forest reaches that is trained on a part of the examples."""
    train, judged = dealt.fitted.joined(dealt.valid), dealt.judged
    few = np.random.default_rng(1).permutation(len(train.labels))[:MOST]
    return _played(game, train.take(few), judged, 1, Resamples.of(judged.units, judged.far))


def _played(
    game: Game[Any], fitted: Examples, judged: Examples, seed: int, resamples: Resamples
) -> Estimate:
    predict = forest(fitted, fitted, [seed], trees=TREES)
    return score.estimates(measures(predict(judged.features), judged), resamples)[game.main]


def constant(runs: Sequence[Watched]) -> list[Watched]:
    """Runs whose clients pad their links to one rate: nothing is left to be seen at the entry."""
    return _changed(runs, lambda run: np.full_like(run.traces["entry"], 1000))


def identical(runs: Sequence[Watched]) -> list[Watched]:
    """Runs in which the observer at the entry sees what leaves the exit, at once and unchanged."""
    return _changed(runs, lambda run: run.traces["exit"])


def _changed(
    runs: Iterable[Watched], entry: Callable[[Watched], NDArray[np.float32]]
) -> list[Watched]:
    return [replace(run, traces={**run.traces, "entry": entry(run)}) for run in runs]
