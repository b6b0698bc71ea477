"""The experiments `observer-games` and `observer-feedback`.

What they simulate is in `hopflow.observer.scenarios`; recorded pages come from the folder of data
files (`--data`, or `HOPFLOW_DATA`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import hopflow
from hopflow._data import find
from hopflow.experiments import Options, Value, origin, write_values
from hopflow.observer import costs, page, play, scenarios
from hopflow.observer.costs import Costs
from hopflow.observer.play import Score
from hopflow.observer.scenarios import Transports
from hopflow.observer.score import Estimate
from hopflow.observer.tournament import TRAININGS, Played, over
from hopflow.report import Axis, Cell, Page, Section, Series, figures

NETWORKS = 5
"""Networks of each scenario, unless the options say otherwise."""


def games(options: Options) -> None:
    """What transports leak: kinds, pages, pairs, and other circuits at the bottleneck.

    Raises:
        HopflowError: The recorded pages are missing, one network is asked for, or a simulation
            fails.
    """
    transports = scenarios.TRANSPORTS
    large = _large(options, transports)
    shared = _simulated(options, "shared", scenarios.shared(transports, _seeds(options)))
    played = [
        over(large, list(transports), [play.KINDS, play.PAGES, play.PAIRS], _trainings(options)),
        over(shared, list(transports), [play.company(scenarios.PAIRS)], _trainings(options)),
    ]
    finish(
        ("observer-games", options),
        "What transports leak to observers",
        Played.joined(played),
        _costs(large, transports),
    )


def feedback(options: Options) -> None:
    """What BackTap's feedback leaks when it is aggregated, or leaves at regular times.

    Raises:
        HopflowError: As for `games`.
    """
    transports = scenarios.FEEDBACK
    large = _large(options, transports)
    finish(
        ("observer-feedback", options),
        "What BackTap's feedback leaks, and the cost of delaying it",
        over(large, list(transports), [play.PAGES, play.PAIRS], _trainings(options)),
        _costs(large, transports),
    )


Made = tuple[str, Options]
"""An experiment's name, and how it was made."""


def finish(of: Made, title: str, played: Played, cost: Costs) -> Path:
    """Prints what was found, and writes values and a page; returns the page's path."""
    name, options = of
    print(page.text(played))
    judged = [value for _, scores in played.games for value in _values(scores)]
    networks = len(_seeds(options))
    made = Page(title, "Learned and classical adversaries, tested on unseen networks.")
    made.fact("verdict", page.verdict(played.controls))
    made.add(page.section("What it leaks", played))
    made.add(_paid(cost, played))
    made.add(origin(name, options, networks))
    write_values(options.out, [*judged, *_costs_as_values(cost, networks)])
    path = made.write(options.out)
    print(f"\nreport   {path}")
    return path


FOUND = "detected-1e-2"
"""What is drawn against performance."""


def _paid(cost: Costs, played: Played) -> Section:
    """What users get, and how it goes with what an observer of pairs finds."""
    made = Section("Performance")
    names = list(next(iter(cost.values())))
    rows: list[list[Cell]] = [
        [label, *(figures(_three(found[name])) for name in names)] for label, found in cost.items()
    ]
    made.table(["transport", *names], rows, PAID)
    first, *others = cost
    apart: list[list[Cell]] = [
        [label, *(figures(_three(cost[label][name].minus(cost[first][name]))) for name in names)]
        for label in others
    ]
    made.table(["transport", *names], apart, f"The same: differences to {first}")
    for game, scores in played.games:
        top = page.strongest_of(scores)
        if game.name != play.PAIRS.name or any(FOUND not in one.measures for one in top.values()):
            continue
        found = {label: one.measures[FOUND] for label, one in top.items()}
        for id, name in (("found-latency", costs.LATENCY), ("found-goodput", costs.GOODPUT)):
            series = [_point(label, cost[label][name], some) for label, some in found.items()]
            of_pairs = Axis("pairs found at 1 % false alarms")
            made.chart(id, f"Pairs found against {name}", Axis(name), of_pairs, series)
    return made


PAID = (
    "In the same runs, with 95 % intervals over circuits. A page's time is the median by Kaplan "
    "and Meier of each user's first visit, the same page at the same time under all transports; "
    "visits that last until a longest pause before the end of the run are censored there"
)
"""What the table of performance shows."""


def _point(label: str, at: Estimate, found: Estimate) -> Series:
    return Series(label, [at.mean], [found.mean], [found.low], [found.high], mark="points")


def _three(found: Estimate) -> str:
    return f"{found.mean:.3g} [{found.low:.3g}, {found.high:.3g}]"


def _values(scores: Sequence[Score]) -> Iterator[Value]:
    for score in scores:
        for measure, found in score.measures.items():
            quantity = f"{score.game}: {measure} of {score.adversary}"
            unit = "bit" if measure == "bits" else ""
            yield _value(quantity, unit, score.transport, score.networks[1], found)


def _costs_as_values(cost: Costs, networks: int) -> Iterator[Value]:
    for label, measures in cost.items():
        for name, found in measures.items():
            quantity, unit = name.removesuffix(")").rsplit(" (", 1)
            yield _value(quantity, unit, label, networks, found)


def _value(quantity: str, unit: str, transport: str, networks: int, found: Estimate) -> Value:
    ends = (found.low, found.high)
    return Value("observer", quantity, unit, transport, None, networks, found.mean, *ends)


def _costs(large: Path, transports: Transports) -> Costs:
    return costs.costs(large, list(transports), scenarios.END_S, scenarios.PAUSE_S[1])


def _trainings(options: Options) -> int:
    return 2 if options.quick else TRAININGS


def _large(options: Options, transports: Transports) -> Path:
    seeds = _seeds(options)
    text = scenarios.large(transports, seeds, str(_pages(options)))
    return _simulated(options, "large", text)


def _simulated(options: Options, name: str, text: str) -> Path:
    return hopflow.run(text, threads=options.threads, out=options.out / name).folder


def _seeds(options: Options) -> Sequence[int]:
    if options.seeds is not None:
        play.check_networks("--seeds", options.seeds)
    return range(1, 1 + (options.seeds or (2 if options.quick else NETWORKS)))


def _pages(options: Options) -> Path:
    return find(scenarios.PAGES, options.data).absolute()
