"""Tables and charts of the games."""

from __future__ import annotations

from collections.abc import Sequence

from hopflow.observer.play import Control, Game, Score, best
from hopflow.report import Axis, Cell, Section, Series, figures

MODEL = (
    "An observer of the wire between a client and its router sees sizes and times of all packets "
    "in both directions, feedback included, in bins of `[record] traces`; a malicious exit sees "
    "the cells of data that it sends on, circuit by circuit. Adversaries are trained on some "
    "networks and judged on others, and where pages are told apart on other recorded loads of "
    "them, too. Intervals (95 %) are over circuits. All measures are those of one adversary, the "
    "strongest by the game's first measure; it is chosen by what is judged, which favours the "
    "observer a little."
)
"""What is assumed of observers, for pages."""

HEADINGS = {
    "auc": "AUC",
    "accuracy": "accuracy",
    "bits": "bits learnt, at least",
    "detected-1e-2": "found at 1 % false alarms",
    "detected-1e-3": "found at 0.1 %",
}
"""Measures as tables call them."""


def verdict(controls: Sequence[Control]) -> str:
    """`valid`, or `VOID` where a control that decides fails."""
    return "valid" if not _failed(controls) else "VOID"


def _failed(controls: Sequence[Control]) -> list[Control]:
    return [control for control in controls if control.decides and not control.holds]


def section(
    heading: str,
    played: Sequence[tuple[Game, Sequence[Score]]],
    controls: Sequence[Control],
) -> Section:
    """A section with a table per game, a chart per game, and the controls."""
    made = Section(heading).prose(MODEL)
    for game, scores in played:
        of_game = [control for control in controls if control.game == game.name]
        made.table(*_table(game, scores, of_game))
        made.chart(*_chart(game, scores))
    made.table(
        ["game", "transport", "what was done", "measured", "allowed", "holds"],
        [_control(control) for control in controls],
        "What has to hold: where a control fails, its game says nothing about the transport",
    )
    return made


def text(played: Sequence[tuple[Game, Sequence[Score]]], controls: Sequence[Control]) -> str:
    """The same for terminals, in Markdown."""
    lines: list[str] = []
    for game, scores in played:
        of_game = [control for control in controls if control.game == game.name]
        columns, rows, caption = _table(game, scores, of_game)
        lines += ["", f"{caption}", "", _row(columns), _row(["---"] * len(columns))]
        lines += [_row([_plain(cell) for cell in row]) for row in rows]
    failed, deciding = _failed(controls), [control for control in controls if control.decides]
    lines += ["", f"controls: {len(deciding) - len(failed)} of {len(deciding)} hold"]
    lines += [f"  VOID: {_words(control)}" for control in failed]
    lines += [f"  shown only: {_words(some)}" for some in controls if not some.decides]
    return "\n".join(lines)


def transports(scores: Sequence[Score]) -> list[str]:
    """The labels, in the order in which they were played."""
    return list(dict.fromkeys(score.transport for score in scores))


def _table(
    game: Game, scores: Sequence[Score], controls: Sequence[Control]
) -> tuple[list[str], list[list[Cell]], str]:
    measures = [name for name in HEADINGS if any(name in one.measures for one in scores)]
    columns = ["transport", *(HEADINGS[name] for name in measures), "adversary", "controls"]
    rows: list[list[Cell]] = []
    for label in transports(scores):
        mine = [score for score in scores if score.transport == label]
        top = best(game, mine)
        cells: list[Cell] = [
            figures(top.measures[name].text()) if name in top.measures else "" for name in measures
        ]
        judged = [control for control in controls if control.transport == label]
        rows.append([label, *cells, top.adversary, verdict(judged)])
    first = scores[0]
    caption = (
        f"{game.title}: trained on {first.networks[0]} networks, judged on {first.networks[1]} "
        f"({first.examples} examples of {first.classes} labels for {first.transport})"
    )
    return columns, rows, caption[0].upper() + caption[1:]


def _chart(game: Game, scores: Sequence[Score]) -> tuple[str, str, Axis, Axis, list[Series]]:
    labels = transports(scores)
    series = []
    for number, label in enumerate(labels):
        top = best(game, [score for score in scores if score.transport == label])
        found = top.measures[game.main]
        series.append(
            Series(label, [number + 1], [found.mean], [found.low], [found.high], mark="points")
        )
    name = HEADINGS[game.main]
    axis = Axis(f"{name} of the strongest adversary")
    return f"game-{game.name}", game.title, Axis("transport, as in the legend"), axis, series


def _control(control: Control) -> list[Cell]:
    return [
        control.game,
        control.transport,
        control.name,
        figures(control.measured.text()),
        figures(f"{control.low:.2f} to {control.high:.2f}"),
        ("yes" if control.holds else "no") + ("" if control.decides else ", shown only"),
    ]


def _words(control: Control) -> str:
    allowed = f"{control.low:.2f} to {control.high:.2f}"
    where = f"{control.game}, {control.transport}, {control.name}"
    return f"{where}: {control.measured.text()}, allowed {allowed}"


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _plain(cell: Cell) -> str:
    form = getattr(cell, "form", None)
    return str(form["figures"]) if form else str(cell)
