"""Playing the games: training on some networks, and judging on others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from hopflow._errors import HopflowError
from hopflow.observer import games, score, words
from hopflow.observer.adversaries import ADVERSARIES
from hopflow.observer.games import Examples
from hopflow.observer.score import Calibration, Doubles, Estimate, Resamples, Statistic
from hopflow.observer.traces import Watched
from hopflow.observer.words import Told

HELD_OUT = 0.4
"""Share of the networks, the last ones, that no adversary is trained on."""

LOADS = 5
"""Loads of each page are dealt in so many turns: the first `TRAINED_LOADS` are trained on."""

TRAINED_LOADS = 3
"""Of `LOADS` turns those whose loads are trained on; the others' loads are judged."""

FALSE_PAIRS = 6
"""False pairs for each true one where they are judged; in training there is one."""

LEAST = 40
"""Examples that must be there to train on, and to be judged on."""


class Run(Protocol):
    """What observers saw of one run."""

    @property
    def transport(self) -> str:
        """The transport's label."""

    @property
    def network(self) -> int:
        """Number of the sampled network."""


R = TypeVar("R", bound=Run)


@dataclass(frozen=True)
class Game(Generic[R]):
    """A game that can be played, with runs of a kind.

    Attributes:
        name: Its short name.
        title: What is asked.
        main: The measure that adversaries are compared by.
        make: Makes the examples of runs: to train on, and to be judged on.
    """

    name: str
    title: str
    main: str
    make: Callable[[Sequence[R], bool], Examples]


def _pairs(runs: Sequence[Watched], judged: bool) -> Examples:
    return games.pairs(runs, others=FALSE_PAIRS if judged else 1, divided=not judged)


def _pages(runs: Sequence[Watched], judged: bool) -> Examples:
    """Visits of the loads to train on or to be judged on: what is judged was never seen before."""
    found = games.pages(runs)
    assert found.loads is not None
    return found.take((found.loads % LOADS >= TRAINED_LOADS) == judged)


KINDS: Game[Watched] = Game("kind", "page or bulk file", "auc", lambda runs, _: games.kinds(runs))
PAGES: Game[Watched] = Game("page", "which page", "accuracy", _pages)
PAIRS: Game[Watched] = Game("pair", "same circuit at entry and exit", "auc", _pairs)


def company(watched: int) -> Game[Watched]:
    """The game whether the first `watched` circuits have company at their bottleneck."""
    return Game(
        "company",
        "a second circuit at the bottleneck",
        "auc",
        lambda runs, _: games.neighbours(runs, watched),
    )


def client(place: str) -> Game[Told]:
    """The game whether circuits at two relays of a kind (`words.PLACES`) are of one client."""

    def make(runs: Sequence[Told], judged: bool) -> Examples:
        others = FALSE_PAIRS if judged else 1
        return words.clients(runs, place, others=others, divided=not judged)

    relays = "middle relays" if place == "middle" else f"{place}s"
    return Game(f"client-{place}", f"two circuits of one client, at their {relays}", "auc", make)


def _guards(runs: Sequence[Told], judged: bool) -> Examples:
    return words.guards(runs, others=FALSE_PAIRS if judged else 1, divided=not judged)


GUARDS: Game[Told] = Game("guard", "two circuits over one guard, at their exits", "auc", _guards)


def check_networks(where: str, networks: int) -> None:
    """Refuses fewer networks than there must be.

    Raises:
        HopflowError: There are fewer than 2; `where` says what asks for them.
    """
    if networks < 2:
        raise HopflowError(
            f"{where}: it is {networks}; allowed are 2 or more, because some networks are for "
            "training and others for the test"
        )


class TooFew(HopflowError):
    """There are too few networks or examples to play a game."""


@dataclass(frozen=True)
class Dealt:
    """The examples of one game against one transport, with the same labels in all parts.

    Attributes:
        transport: The transport's label.
        networks: Networks that adversaries are trained on, and judged on.
        fitted: What they are trained on.
        valid: By what their training is stopped, and the strongest is chosen.
        judged: What they are judged on.
    """

    transport: str
    networks: tuple[int, int]
    fitted: Examples
    valid: Examples
    judged: Examples


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
        validated: The game's main measure on the examples that it was validated on.
        measures: `bits`, and those of `score.binary` with two labels, `accuracy` with more.
    """

    game: str
    transport: str
    adversary: str
    networks: tuple[int, int]
    examples: int
    classes: int
    validated: float
    measures: dict[str, Estimate]


def split(runs: Sequence[R]) -> tuple[list[R], list[R]]:
    """The runs to train on and to be judged on: of different networks.

    With one network there is none to train on.
    """
    networks = sorted({run.network for run in runs})
    held = networks[len(networks) - max(1, round(HELD_OUT * len(networks))) :]
    train = [run for run in runs if run.network not in held]
    return train, [run for run in runs if run.network in held]


def deal(game: Game[R], runs: Sequence[R]) -> Dealt:
    """The examples of a game against one transport.

    Labels are those that there is something to fit on; examples with others are left out.

    Args:
        game: The game.
        runs: Runs of one transport.

    Raises:
        TooFew: There are too few networks, examples or labels.
    """
    train, judged = split(runs)
    if not train:
        raise TooFew("there are fewer than 2 networks, one to train on and one to be judged on")
    fitted, valid = halves(game.make(train, False))
    known = np.unique(fitted.labels)
    parts = [part.among(known) for part in (fitted, valid, game.make(judged, True))]
    counts = (len(parts[0].labels) + len(parts[1].labels), len(parts[2].labels))
    if min(counts) < LEAST:
        raise TooFew(
            f"there are {counts[0]} examples to train on and {counts[1]} to be judged on; "
            f"allowed are {LEAST} or more of each"
        )
    if min(len(np.unique(part.labels)) for part in parts) < 2:
        raise TooFew("all examples to train, to validate or to be judged on have one label")
    return Dealt(runs[0].transport, (len(train), len(judged)), parts[0], parts[1], parts[2])


def halves(train: Examples) -> tuple[Examples, Examples]:
    """Examples to fit and to validate on: those of a fifth of the circuits.

    Pairs have both circuits in one part; others are left out. Where recorded loads are played,
    these are divided instead, so that no load is in both.
    """
    if train.loads is not None:
        kept = train.loads % (2 * LOADS) == TRAINED_LOADS - 1
        return train.take(~kept), train.take(kept)
    near = games.held(train.units)
    far = near if train.far is None else games.held(train.far)
    return train.take(~near & ~far), train.take(near & far)


def play(game: Game[Any], dealt: Dealt, seeds: Sequence[int]) -> list[Score]:
    """Has all adversaries play a game against one transport."""
    judged, valid = dealt.judged, dealt.valid
    resamples = Resamples.of(judged.units, judged.far)
    once = Resamples.of(valid.units, valid.far, count=0)

    def scored(name: str, asked: list[Statistic], validated: list[Statistic]) -> Score:
        return Score(
            game=game.name,
            transport=dealt.transport,
            adversary=name,
            networks=dealt.networks,
            examples=len(judged.labels),
            classes=judged.classes,
            validated=score.estimates(validated, once)[game.main].mean,
            measures=score.estimates(asked, resamples),
        )

    scores = []
    for name, adversary in ADVERSARIES.items():
        predict = adversary(dealt.fitted, valid, seeds)
        told = [predict(some.features) for some in (judged, valid)]
        honest = [score.calibrated(one, valid.labels, valid.classes) for one in told[1]]
        both = zip(told, (judged, valid), strict=True)
        scores.append(scored(name, *(measures(one, some, honest) for one, some in both)))
    if judged.simple is not None and valid.simple is not None:
        scores.append(scored("correlation", [_ranked(judged)], [_ranked(valid)]))
    return scores


def best(scores: Iterable[Score]) -> Score:
    """The adversary that counts: the strongest on what it was validated on, not judged on."""
    return max(scores, key=lambda one: one.validated)


def measures(
    probabilities: Doubles, asked: Examples, honest: Sequence[Calibration] | None = None
) -> list[Statistic]:
    """All measures of each training.

    Args:
        probabilities: What each training tells, shape `(seeds, n, classes)`.
        asked: The examples that it tells it of.
        honest: The calibration of each training, for `bits` alone: ranks and the likeliest label
            are those that the training tells.
    """
    if honest is None:
        return [_measures(one, one, asked) for one in probabilities]
    pairs = zip(honest, probabilities, strict=True)
    return [_measures(one, change(one), asked) for change, one in pairs]


def _measures(probabilities: Doubles, honest: Doubles, asked: Examples) -> Statistic:
    parts = [score.bits(honest, asked.labels)]
    if asked.classes == 2:
        parts.append(score.binary(probabilities[:, 1], asked.labels, asked.out_of))
    else:
        parts.append(score.accuracy(probabilities, asked.labels))
    return lambda weighted: {name: x for part in parts for name, x in part(weighted).items()}


def _ranked(asked: Examples) -> Statistic:
    assert asked.simple is not None
    return score.binary(asked.simple.astype(np.float64), asked.labels, asked.out_of)
