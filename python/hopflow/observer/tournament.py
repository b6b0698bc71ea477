"""All games against all transports of a result folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopflow._errors import HopflowError
from hopflow.observer import traces, words
from hopflow.observer.controls import Control, controls, shuffled
from hopflow.observer.play import Dealt, Game, R, Score, TooFew, deal, play
from hopflow.observer.traces import Watched
from hopflow.observer.words import Told

TRAININGS = 5
"""Seeds of the adversaries that learn."""


@dataclass(frozen=True)
class Played:
    """All games that were played.

    Attributes:
        games: Each game with the scores of all adversaries against all transports.
        controls: What has to hold.
        missing: What was left out, and why.
    """

    games: list[tuple[Game[Any], list[Score]]]
    controls: list[Control]
    missing: list[str]

    @classmethod
    def joined(cls, parts: Iterable[Played]) -> Played:
        """What was played over several folders."""
        found = cls([], [], [])
        for part in parts:
            found.games.extend(part.games)
            found.controls.extend(part.controls)
            found.missing.extend(part.missing)
        return found


def over(
    folder: Path,
    transports: Sequence[str],
    games: Sequence[Game[Watched]],
    trainings: int = TRAININGS,
) -> Played:
    """Plays games against transports over the traces of a folder.

    What there are too few examples for, such as pages where nobody visits any, is left out.

    Raises:
        HopflowError: None of the games can be played.
    """
    runs = traces.read(folder)
    return tournament((folder, runs), transports, games, controls, trainings)


def over_words(
    folder: Path,
    transports: Sequence[str],
    games: Sequence[Game[Told]],
    trainings: int = TRAININGS,
) -> Played:
    """The same over the rates that nodes told each other in the runs of a folder."""
    runs = words.read(folder)
    return tournament(
        (folder, runs),
        transports,
        games,
        lambda game, _, dealt: [shuffled(game, dealt)],
        trainings,
    )


Checks = Callable[[Game[R], Sequence[R], Dealt], list[Control]]
"""The controls of a game against the runs of one transport."""


def tournament(
    seen: tuple[Path, Sequence[R]],
    transports: Sequence[str],
    games: Sequence[Game[R]],
    checks: Checks[R],
    trainings: int,
) -> Played:
    """Plays games against transports over the runs of a folder, whatever was seen of them."""
    folder, runs = seen
    found = Played([], [], [])
    for game in games:
        scores: list[Score] = []
        for label in transports:
            mine = [run for run in runs if run.transport == label]
            try:
                dealt = deal(game, mine)
            except TooFew as error:
                found.missing.append(f"{game.name}, {label}: {error}")
                continue
            scores += play(game, dealt, range(1, trainings + 1))
            found.controls.extend(checks(game, mine, dealt))
        if scores:
            found.games.append((game, scores))
    if not found.games:
        raise HopflowError(
            f"{folder} has too little for the games, which takes more circuits, more networks "
            f"(--seeds), or a longer duration: {'; '.join(found.missing)}"
        )
    return found
