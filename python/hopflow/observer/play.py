"""Playing the games: training on some networks, judging on others, and the controls."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hopflow.observer import games, score
from hopflow.observer.adversaries import ADVERSARIES, Adversary, Predict
from hopflow.observer.games import Examples
from hopflow.observer.score import Doubles, Estimate, Statistic
from hopflow.observer.traces import Watched

HELD_OUT = 0.4
"""Share of the networks, the last ones, that no adversary is trained on."""

LOADS = 5
"""Loads of each page are dealt in so many turns: the first `TRAINED_LOADS` are trained on."""

TRAINED_LOADS = 3
"""Of `LOADS` turns those whose loads are trained on; the others' loads are judged."""

FALSE_PAIRS = 2
"""False pairs for each true one where detection is judged; half of the examples in training."""


@dataclass(frozen=True)
class Game:
    """A game that can be played.

    Attributes:
        name: Its short name.
        title: What is asked.
        main: The measure that adversaries are compared by.
        make: Makes the examples of runs: to train on, and to be judged on.
    """

    name: str
    title: str
    main: str
    make: Callable[[Sequence[Watched], bool], Examples]


def _pairs(runs: Sequence[Watched], judged: bool) -> Examples:
    return games.pairs(runs, others=FALSE_PAIRS if judged else 1)


def _pages(runs: Sequence[Watched], judged: bool) -> Examples:
    """Visits of the loads to train on or to be judged on: what is judged was never seen before."""
    found = games.pages(runs)
    assert found.loads is not None
    return found.take((found.loads % LOADS >= TRAINED_LOADS) == judged)


KINDS = Game("kind", "page or bulk file", "auc", lambda runs, _: games.kinds(runs))
PAGES = Game("page", "which page", "accuracy", _pages)
PAIRS = Game("pair", "same circuit at entry and exit", "auc", _pairs)


def company(watched: int) -> Game:
    """The game whether the first `watched` circuits have company at their bottleneck."""
    return Game(
        "company",
        "a second circuit at the bottleneck",
        "auc",
        lambda runs, _: games.neighbours(runs, watched),
    )


@dataclass(frozen=True)
class Score:
    """What one adversary reached in one game against one transport.

    Attributes:
        game: The game's name.
        transport: The transport's label.
        adversary: The adversary's name.
        networks: Networks that it was trained on, and judged on.
        examples: Examples that it was judged on.
        classes: Labels that it had to choose from.
        measures: `auc`, `accuracy`, `bits`, and the share of true examples that is detected with
            at most 1 % and 0.1 % of false alarms, `detected-1e-2` and `detected-1e-3`.
    """

    game: str
    transport: str
    adversary: str
    networks: tuple[int, int]
    examples: int
    classes: int
    measures: dict[str, Estimate]


@dataclass(frozen=True)
class Control:
    """Something that has to hold, or what was measured means nothing.

    Attributes:
        game: The game's name.
        transport: The transport's label.
        name: What was done.
        measured: The measure that was looked at.
        low: The least that is allowed.
        high: The most.
        decides: Whether the game is void where it fails.
    """

    game: str
    transport: str
    name: str
    measured: Estimate
    low: float
    high: float
    decides: bool = True

    @property
    def holds(self) -> bool:
        """Whether the interval reaches what is allowed."""
        return self.measured.low <= self.high and self.measured.high >= self.low


def split(runs: Sequence[Watched]) -> tuple[list[Watched], list[Watched]]:
    """The runs to train on and to be judged on: of different networks.

    With one network there is none to train on.
    """
    networks = sorted({run.network for run in runs})
    held = networks[len(networks) - max(1, round(HELD_OUT * len(networks))) :]
    train = [run for run in runs if run.network not in held]
    return train, [run for run in runs if run.network in held]


def play(game: Game, runs: Sequence[Watched], seeds: Sequence[int]) -> list[Score]:
    """Has all adversaries play a game against one transport.

    Raises:
        ValueError: There are runs of more than one transport, or of none.
    """
    (transport,) = {run.transport for run in runs}
    train_runs, judged_runs = split(runs)
    train, judged = game.make(train_runs, False), game.make(judged_runs, True)
    networks = (len({run.network for run in train_runs}), len(judged_runs))
    fitted, valid, judged = prepared(train, judged)
    weighted = score.weights(judged.units)

    def scored(name: str, measures: dict[str, Estimate]) -> Score:
        examples = len(judged.labels)
        return Score(game.name, transport, name, networks, examples, judged.classes, measures)

    scores = []
    for name, adversary in ADVERSARIES.items():
        predict = _honest(adversary, fitted, valid, seeds)
        scores.append(scored(name, _measures(predict(judged.features), judged, weighted)))
    if judged.simple is not None:
        simple = [judged.simple.astype(np.float64)]
        scores.append(scored("correlation", _binary(simple, judged, weighted)))
    return scores


def best(game: Game, scores: Iterable[Score]) -> Score:
    """The adversary that reached most."""
    return max(scores, key=lambda one: one.measures[game.main].mean)


def controls(game: Game, runs: Sequence[Watched], seeds: Sequence[int]) -> list[Control]:
    """What has to hold: labels that tell nothing, circuits that show nothing, pairs that show all.

    The forest plays them, which is cheap, and had the most to overfit with.
    """
    (transport,) = {run.transport for run in runs}
    train_runs, judged_runs = split(runs)
    found = []

    def control(name: str, make: Callable[[Sequence[Watched], bool], Examples], band: Band) -> None:
        train, judged = make(train_runs, False), make(judged_runs, True)
        if name == SHUFFLED:
            train, judged = train.shuffled(1), judged.shuffled(2)
        measured = _controlled(game, train, judged, seeds[:1])
        found.append(Control(game.name, transport, name, measured, *band(judged)))

    control(SHUFFLED, game.make, _chance)
    control(CONSTANT, lambda some, judged: game.make(_all_constant(some), judged), _chance)
    if game.name == "pair":
        control(
            IDENTICAL,
            lambda some, judged: game.make(_all_identical(some), judged),
            lambda _: (0.99, 1.0),
        )
    return found


def itself(game: Game, runs: Sequence[Watched], seeds: Sequence[int]) -> Control | None:
    """The control that a transport cannot be told from itself in other networks.

    Every other network is called another transport, and adversaries see the game's examples of
    both. With so few networks some are alike by chance: it is shown, and does not decide. `None`
    with fewer than four networks.
    """
    networks = sorted({run.network for run in runs})
    if len(networks) < 4:
        return None
    halves = []
    for part in (networks[: len(networks) // 2], networks[len(networks) // 2 :]):
        examples = game.make([run for run in runs if run.network in part], False)
        odd = np.isin(examples.networks, part[1::2]).astype(np.int64)
        halves.append(replace(examples, labels=odd, classes=2))
    measured = _controlled(replace(game, main="auc"), halves[0], halves[1], seeds[:1])
    return Control(game.name, runs[0].transport, OTHER_SEEDS, measured, 0.4, 0.6, decides=False)


MOST_CONTROLLED = 600
"""Examples that controls train on, at most."""


SHUFFLED, CONSTANT = "shuffled labels", "entry padded to a constant rate"
IDENTICAL, OTHER_SEEDS = "the exit's trace at the entry", "the same transport, other networks"

Band = Callable[[Examples], tuple[float, float]]


def _chance(judged: Examples) -> tuple[float, float]:
    """What guessing reaches, and a little around it: circuits are few."""
    if judged.classes == 2:
        return 0.45, 0.55
    guess = float(np.bincount(judged.labels).max() / len(judged.labels))
    return 0.0, max(guess, 1 / judged.classes) + 0.02


def _controlled(game: Game, train: Examples, judged: Examples, seeds: Sequence[int]) -> Estimate:
    few = np.random.default_rng(1).permutation(len(train.labels))[:MOST_CONTROLLED]
    fitted, valid, judged = prepared(train.take(few), judged)
    predict = ADVERSARIES["forest"](fitted, valid, seeds)
    weighted = score.weights(judged.units)
    return _measures(predict(judged.features), judged, weighted)[game.main]


def _all_constant(runs: Sequence[Watched]) -> list[Watched]:
    """Runs whose clients pad their links to one rate: nothing is left to be seen at the entry."""
    constant = [np.ones_like(run.traces["entry"]) * 1000 for run in runs]
    return [
        replace(run, traces={**run.traces, "entry": flat})
        for run, flat in zip(runs, constant, strict=True)
    ]


def _all_identical(runs: Sequence[Watched]) -> list[Watched]:
    """Runs in which the observer at the entry sees what leaves the exit, at once and unchanged."""
    return [replace(run, traces={**run.traces, "entry": run.traces["exit"]}) for run in runs]


def prepared(train: Examples, judged: Examples) -> tuple[Examples, Examples, Examples]:
    """Examples to fit on, to validate on, and to be judged on, with the same labels.

    Labels are those that there is something to fit on; examples with others are left out.
    """
    fitted, valid = _halves(train)
    known = np.unique(fitted.labels)
    return fitted.among(known), valid.among(known), judged.among(known)


def _halves(train: Examples) -> tuple[Examples, Examples]:
    """Examples to fit and to validate on: a fifth of the circuits, chosen by their numbers.

    Where recorded loads are played these are divided instead, so that no load is in both.
    """
    if train.loads is not None:
        held = train.loads % (2 * LOADS) == TRAINED_LOADS - 1
    else:
        held = np.asarray(
            [zlib.crc32(int(unit).to_bytes(8, "little")) % 5 == 0 for unit in train.units], bool
        )
    return train.take(~held), train.take(held)


def _honest(
    adversary: Adversary, fitted: Examples, valid: Examples, seeds: Sequence[int]
) -> Predict:
    """The adversary with its probabilities calibrated on the validation data, if there are some."""
    predict = adversary(fitted, valid, seeds)
    if not len(valid.labels):
        return predict
    changes = [
        score.calibrated(one, valid.labels, valid.classes) for one in predict(valid.features)
    ]
    return lambda features: np.stack(
        [change(one) for change, one in zip(changes, predict(features), strict=True)]
    )


def _measures(probabilities: Doubles, judged: Examples, weighted: Doubles) -> dict[str, Estimate]:
    """All measures, averaged over trainings."""
    statistics: dict[str, list[Statistic]] = {
        "bits": [score.bits(one, judged.labels) for one in probabilities],
        "accuracy": [score.accuracy(one, judged.labels) for one in probabilities],
    }
    found = {
        name: score.estimate(score.averaged(some), weighted) for name, some in statistics.items()
    }
    if judged.classes == 2:
        found |= _binary([one[:, 1] for one in probabilities], judged, weighted)
    return found


def _binary(scores: Sequence[Doubles], judged: Examples, weighted: Doubles) -> dict[str, Estimate]:
    statistics: dict[str, Callable[[Doubles], Statistic]] = {
        "auc": lambda one: score.auc(one, judged.labels),
        "detected-1e-2": lambda one: score.detection(one, judged.labels, 1e-2),
        "detected-1e-3": lambda one: score.detection(one, judged.labels, 1e-3),
    }
    return {
        name: score.estimate(score.averaged([statistic(one) for one in scores]), weighted)
        for name, statistic in statistics.items()
    }
