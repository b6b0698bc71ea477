"""Tables and charts of the games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hopflow.observer.controls import Control
from hopflow.observer.play import Game, Score, best
from hopflow.observer.tournament import Played
from hopflow.report import Axis, Cell, Section, Series, figures

MODEL = (
    "An observer of the wire between a client and its router sees sizes and times of all packets "
    "in both directions, feedback included, in bins of `[record] traces`; a malicious exit sees "
    "the cells of data that it sends on, circuit by circuit. Adversaries are trained on some "
    "networks and judged on others, and where pages are told apart on other recorded loads of "
    "them, too. All measures are those of one adversary, the strongest on examples that it was "
    "validated on, of networks that were trained on.",
    "Intervals (95 %) are percentiles of a bootstrap over circuits, which are drawn alike for all "
    "transports: a difference has an interval of its own. They do not hold the spread between "
    "networks, nor do they allow for the number of comparisons. Bits are those that are learnt "
    "where all labels are equally likely. Named among 300: how often the true exit scores "
    "highest among 300 circuits that are active at the same time, if the scores of wrong ones are "
    "independent of each other; precision: the share of alarms that are right there, at 1 % of "
    "false alarms.",
)
"""What is assumed of observers and of measures, for pages."""

HEADINGS = {
    "auc": "AUC",
    "accuracy": "accuracy",
    "bits": "bits learnt, at least",
    "detected-1e-2": "found at 1 % false alarms",
    "detected-1e-3": "found at 0.1 %",
    "named": "named among 300",
    "precision": "precision among 300",
}
"""Measures as tables call them."""

Table = tuple[list[str], list[list[Cell]], str]
"""Columns, rows and caption."""


def verdict(controls: Sequence[Control]) -> str:
    """`valid`, `VOID` where a control fails, or `undecided` where one does not hold."""
    decisions = {control.decision for control in controls}
    if "fails" in decisions:
        return "VOID"
    return "undecided" if "undecided" in decisions else "valid"


def section(heading: str, played: Played, model: Sequence[str] = MODEL) -> Section:
    """A section with tables and a chart per game, and the controls; `model` stands before them."""
    made = Section(heading).prose(*model)
    for game, scores in played.games:
        made.table(*strongest(game, scores, played.controls))
        made.chart(*_chart(game, scores))
        made.table(*everyone(game, scores))
    if played.missing:
        made.note("Left out: " + "; ".join(played.missing) + ".")
    made.table(
        ["game", "transport", "what was done", "measured", "allowed", "decision"],
        [_control(control) for control in played.controls],
        "What has to hold: where a control fails, its game says nothing about the transport, and "
        "where it is undecided there are too few data to know",
    )
    return made


def text(played: Played) -> str:
    """The same for terminals, in Markdown, without charts and weaker adversaries."""
    lines: list[str] = []
    for game, scores in played.games:
        columns, rows, caption = strongest(game, scores, played.controls)
        lines += ["", f"{caption}", "", _row(columns), _row(["---"] * len(columns))]
        lines += [_row([_plain(cell) for cell in row]) for row in rows]
    hold = sum(control.decision == "holds" for control in played.controls)
    lines += ["", f"controls: {hold} of {len(played.controls)} hold"]
    lines += [
        f"  {'VOID' if control.decision == 'fails' else 'undecided'}: {_words(control)}"
        for control in played.controls
        if control.decision != "holds"
    ]
    lines += [f"left out: {what}" for what in played.missing]
    return "\n".join(lines)


def strongest_of(scores: Sequence[Score]) -> dict[str, Score]:
    """The adversary that counts, by transport, in the order in which they were played."""
    labels = dict.fromkeys(score.transport for score in scores)
    return {label: best(one for one in scores if one.transport == label) for label in labels}


def strongest(game: Game[Any], scores: Sequence[Score], controls: Sequence[Control]) -> Table:
    """What the adversary that counts reached, and how transports differ from the first."""
    top = strongest_of(scores)
    names = [name for name in HEADINGS if any(name in one.measures for one in top.values())]
    first = next(iter(top.values()))
    differs = f"{HEADINGS[game.main]}, difference to {first.transport}"
    columns = ["transport", *(HEADINGS[name] for name in names), differs]
    rows: list[list[Cell]] = []
    for label, score in top.items():
        of_both = [one for one in controls if (one.game, one.transport) == (game.name, label)]
        cells = [_measure(score, name) for name in names]
        difference: Cell = "–"
        if score is not first:
            apart = score.measures[game.main].minus(first.measures[game.main])
            difference = figures(apart.text())
        rows.append([label, *cells, difference, score.adversary, verdict(of_both)])
    caption = (
        f"{game.title}: trained on {first.networks[0]} networks, judged on {first.networks[1]} "
        f"({first.examples} examples of {first.classes} labels for {first.transport})"
    )
    return [*columns, "adversary", "controls"], rows, caption[0].upper() + caption[1:]


def everyone(game: Game[Any], scores: Sequence[Score]) -> Table:
    """What each adversary reached, and what it had reached on what it was validated on."""
    names = [name for name in HEADINGS if any(name in one.measures for one in scores)]
    heads = [HEADINGS[name] for name in names]
    rows = [
        [
            one.transport,
            one.adversary,
            figures(f"{one.validated:.3f}"),
            *(_measure(one, name) for name in names),
        ]
        for one in scores
    ]
    columns = ["transport", "adversary", f"{HEADINGS[game.main]}, validated", *heads]
    return columns, rows, f"All adversaries: {game.title}"


def _measure(score: Score, name: str) -> Cell:
    return figures(score.measures[name].text()) if name in score.measures else ""


def _chart(game: Game[Any], scores: Sequence[Score]) -> tuple[str, str, Axis, Axis, list[Series]]:
    series = []
    for number, (label, score) in enumerate(strongest_of(scores).items()):
        found = score.measures[game.main]
        series.append(
            Series(label, [number + 1], [found.mean], [found.low], [found.high], mark="points")
        )
    axis = Axis(f"{HEADINGS[game.main]} of the strongest adversary")
    return f"game-{game.name}", game.title, Axis("transport, as in the legend"), axis, series


def _control(control: Control) -> list[Cell]:
    return [
        control.game,
        control.transport,
        control.name,
        figures(control.measured.text()),
        figures(_allowed(control)),
        control.decision,
    ]


def _words(control: Control) -> str:
    where = f"{control.game}, {control.transport}, {control.name}"
    return f"{where}: {control.measured.text()}, allowed {_allowed(control)}"


def _allowed(control: Control) -> str:
    return f"{control.low:.2f} to {control.high:.2f}"


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _plain(cell: Cell) -> str:
    form = getattr(cell, "form", None)
    return str(form["figures"]) if form else str(cell)
