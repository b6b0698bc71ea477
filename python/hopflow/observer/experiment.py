"""The experiments `observer-games`, `observer-feedback` and `observer-words`.

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
from hopflow.observer.tournament import TRAININGS, Played, over, over_words
from hopflow.observer.words import PLACES
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


def words(options: Options) -> None:
    """What relays learn of clients from the rates that nodes tell each other.

    Raises:
        HopflowError: One network is asked for, or a simulation fails.
    """
    transports = scenarios.WORDS
    text = scenarios.linked(transports, _seeds(options, 2 * NETWORKS, 1001))
    linked = _simulated(options, "linked", text)
    games = [*(play.client(place) for place in PLACES), play.GUARDS]
    finish(
        ("observer-words", options),
        "What relays learn of clients from the rates that nodes tell",
        over_words(linked, list(transports), games, _trainings(options)),
        {},
        WATCHED,
    )


WATCHED = (
    "Two circuits of one client lead over a guard, a middle relay and an exit that are drawn for "
    "each. Relays of a kind that work together know the rates that successors tell about each "
    "circuit, and what passes; they watch the first circuit for 10 s and the second for the next "
    "10 s, and ask whether both are of one client. Exits also ask whether two circuits that they "
    "watch for the same 10 s lead over one guard. False pairs are of the same network and time. "
    "Words are sampled every 100 ms; a relay sees each. Adversaries are trained on some networks "
    "and judged on others; all measures are those of the one that is strongest on examples that it "
    "was validated on, of networks that were trained on.",
    "Intervals (95 %) are percentiles of a bootstrap over clients, or over guards, which are drawn "
    "alike for all transports. They do not hold the spread between networks, nor do they allow for "
    "the number of comparisons. Bits are those that are learnt where both answers are equally "
    "likely. Named among 300: how often the client's other circuit scores highest among those of "
    "300 clients, if scores of wrong ones are independent of each other; precision: the share of "
    "alarms that are right there, at 1 % of false alarms.",
)
"""What is assumed of relays that watch words."""

Made = tuple[str, Options]
"""An experiment's name, and how it was made."""


def finish(
    of: Made, title: str, played: Played, cost: Costs, model: Sequence[str] = page.MODEL
) -> Path:
    """Prints what was found, and writes values and a page; returns the page's path."""
    name, options = of
    print(page.text(played))
    judged = [value for _, scores in played.games for value in _values(scores)]
    networks = sum(played.games[0][1][0].networks)
    made = Page(title, "Learned and classical adversaries, tested on unseen networks.")
    made.fact("verdict", page.verdict(played.controls))
    made.add(page.section("What it leaks", played, model))
    if cost:
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


def _seeds(options: Options, networks: int = NETWORKS, first: int = 1) -> Sequence[int]:
    if options.seeds is not None:
        play.check_networks("--seeds", options.seeds)
    return range(first, first + (options.seeds or (2 if options.quick else networks)))


def _pages(options: Options) -> Path:
    return find(scenarios.PAGES, options.data).absolute()
