"""The experiments `observer-games` and `observer-feedback`.

What they simulate is in `hopflow.observer.scenarios`; recorded pages come from the folder of data
files (`--data`, or `HOPFLOW_DATA`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hopflow
from hopflow._errors import HopflowError
from hopflow.experiments import Options, Value, origin, write_values
from hopflow.observer import page, play, scenarios
from hopflow.observer.cli import TRAININGS, Played, over
from hopflow.observer.play import Score
from hopflow.observer.scenarios import Transports
from hopflow.report import Cell, Page, figures

NETWORKS = 5
"""Networks of each scenario, unless the options say otherwise."""


def games(options: Options) -> None:
    """What transports give away: kinds, pages, pairs, and company at the bottleneck.

    Raises:
        HopflowError: The recorded pages are missing, or a simulation fails.
    """
    transports = scenarios.TRANSPORTS
    large = _large(options, transports)
    shared = _simulated(options, "shared", scenarios.shared(transports, _seeds(options)))
    trainings = 2 if options.quick else TRAININGS
    finish(
        ("observer-games", options),
        "What transports give away to observers",
        [
            over(large, list(transports), [play.KINDS, play.PAGES, play.PAIRS], trainings),
            over(shared, list(transports), [play.company(scenarios.PAIRS)], trainings),
        ],
        costs(large, list(transports)),
    )


def feedback(options: Options) -> None:
    """What BackTap's feedback gives away when it waits for company, or for regular times.

    Raises:
        HopflowError: As for `games`.
    """
    transports = scenarios.FEEDBACK
    large = _large(options, transports)
    trainings = 2 if options.quick else TRAININGS
    finish(
        ("observer-feedback", options),
        "What BackTap's feedback gives away, and what it costs to keep it back",
        [over(large, list(transports), [play.PAGES, play.PAIRS], trainings)],
        costs(large, list(transports)),
    )


def first_visits(visits: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """How long the first visit of each user took, in seconds: infinite if it did not end.

    Every user counts once, with the same page under all transports: who begins more visits in the
    time that is simulated is faster. A visit has ended if its circuit visits another page later.
    One that ends less than a pause before the end of the run counts as one that did not, which
    leaves quantiles alone that are shorter than any user is watched for, less the longest pause.

    Args:
        visits: The columns of the table `visits`, of one transport.
    """
    order = np.lexsort([visits[name] for name in ("start_s", "circuit", "seed", "network")])
    users = np.stack([visits[name][order] for name in ("network", "seed", "circuit")], 1)
    changes = (users[1:] != users[:-1]).any(1)
    first, again = np.append(True, changes), np.append(~changes, False)
    took = np.where(again, (visits["end_s"] - visits["start_s"])[order], np.inf)
    return np.asarray(took[first], np.float64)


Costs = Mapping[str, Mapping[str, float]]
"""Means of measures of performance over networks, by transport."""


def costs(folder: Path, transports: Sequence[str]) -> Costs:
    """What users of each transport get: goodput of bulk circuits, times of bytes and of pages.

    Raises:
        HopflowError: The folder holds no results.
    """
    results = hopflow.Results(folder)
    circuits, downloads, visits = (
        _columns(results, name) for name in ("circuits", "downloads", "visits")
    )
    found = {}
    for label in transports:
        mine, fetched, seen = (
            table["transport"] == label for table in (circuits, downloads, visits)
        )
        bulk = mine & (circuits["class"] == "bulk")
        web = fetched & (downloads["class"] == "web")
        took = first_visits({name: column[seen] for name, column in visits.items()})
        found[label] = {
            "goodput of a bulk circuit (kB/s)": circuits["goodput_bytes_per_s"][bulk].mean() / 1e3,
            "time to first byte, median (s)": np.median(downloads["ttfb_s"][web]),
            "first visit of a page, median (s)": np.median(took),
            "latency of a cell, median (s)": np.nanmedian(circuits["latency_mean_s"][mine]),
        }
    return found


def _columns(results: hopflow.Results, name: str) -> dict[str, NDArray[Any]]:
    table = results.table(name)
    return {
        column: np.asarray(table.column(column).to_numpy(zero_copy_only=False))
        for column in table.column_names
    }


Made = tuple[str, Options]
"""An experiment's name, and how it was made."""


def finish(of: Made, title: str, played: Sequence[Played], cost: Costs) -> Path:
    """Prints what was found, and writes values and a page; returns the page's path."""
    name, options = of
    all_games = [game for one in played for game in one.games]
    controls = [control for one in played for control in one.controls]
    print(page.text(all_games, controls))
    write_values(options.out, [value for _, scores in all_games for value in _values(scores)])
    made = Page(title, "Adversaries that learn, and classical ones, on networks they do not know.")
    made.fact("verdict", page.verdict(controls))
    made.add(page.section("What it gives away", all_games, controls))
    measures = list(next(iter(cost.values())))
    made.section("What users get").table(
        ["transport", *measures],
        [[label, *_figures(of, measures)] for label, of in cost.items()],
        "In the same runs",
    )
    made.add(origin(name, options, len(_seeds(options))))
    path = made.write(options.out)
    print(f"\nreport   {path}")
    return path


def _figures(of: Mapping[str, float], measures: Sequence[str]) -> list[Cell]:
    return [figures(f"{of[name]:.3g}") for name in measures]


def _values(scores: Sequence[Score]) -> Iterator[Value]:
    for score in scores:
        for measure, found in score.measures.items():
            yield Value(
                figure="observer",
                quantity=f"{score.game}: {measure} of {score.adversary}",
                unit="bit" if measure == "bits" else "",
                transport=score.transport,
                x=None,
                n=score.networks[1],
                mean=found.mean,
                ci_low=found.low,
                ci_high=found.high,
            )


def _large(options: Options, transports: Transports) -> Path:
    pages = _pages(options)
    text = scenarios.large(transports, _seeds(options), str(pages))
    return _simulated(options, "large", text)


def _simulated(options: Options, name: str, text: str) -> Path:
    return hopflow.run(text, threads=options.threads, out=options.out / name).folder


def _seeds(options: Options) -> Sequence[int]:
    return range(1, 1 + (options.seeds or (2 if options.quick else NETWORKS)))


def _pages(options: Options) -> Path:
    folder = options.data or Path(os.environ.get("HOPFLOW_DATA", "."))
    path = (folder / scenarios.PAGES).absolute()
    if not path.is_file():
        raise HopflowError(
            f"there is no {path}, the recorded page loads; name the folder that holds "
            f"{scenarios.PAGES} by --data or in HOPFLOW_DATA"
        )
    return path
