"""The report of a campaign: response curves, differences, heat maps, what matters."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hopflow.campaign.curves import curves, heat_maps
from hopflow.campaign.definition import quantities
from hopflow.campaign.results import CampaignResults
from hopflow.campaign.sensitivity import sensitivity
from hopflow.campaign.summary import Row, percent, rows
from hopflow.campaign.view import View
from hopflow.report import Page, Section, figures, link

MOST_ROWS = 400
"""Rows of a table; the data set has all."""


def write(results: CampaignResults) -> Path:
    """Writes the report into the folder of a campaign; returns the page.

    It shows means and intervals, whatever the number of runs.
    """
    view = View.of(results, rows(results))
    page = Page(f"Campaign {results.about['name']}", _subtitle(view))
    manifest = view.manifest
    page.fact("points", len(view.points))
    page.fact("transports", len(view.transports))
    page.fact("runs", sum(sum(point["networks"].values()) for point in manifest["points"]))
    if any(point["differences"] for point in manifest["points"]):
        page.fact("decided", sum(1 for point in manifest["points"] if point["decided"]))
    page.fact("failed runs", len(manifest["failures"]))
    for number, quantity in enumerate(view.shown):
        page.add(_quantity(view, quantity, is_first=number == 0))
    for section in _matters(view):
        page.add(section)
    page.add(_points(view))
    if manifest["left_out"]:
        page.add(_left_out(view))
    if manifest["failures"]:
        page.add(_failures(manifest["failures"]))
    page.add(_origin(results, view))
    return page.write(results.url)


def _subtitle(view: View) -> str:
    names = " and ".join(view.names) if view.parameters else "nothing"
    return f"Varied: {names}. Differences are to {view.manifest['baseline']}."


def _quantity(view: View, quantity: str, is_first: bool) -> Section:
    section = Section(quantities()[quantity]["about"].rstrip("."))
    if is_first:
        section.prose(
            "Means over sampled networks. Bands and brackets are "
            f"{100 * view.manifest['confidence']:.6g} % confidence sequences: they hold at all "
            "numbers of networks at once, so that stopping when they are narrow enough does not "
            "spoil them."
        )
    for chart in curves(view, quantity):
        section.chart(**chart)
    for caption, png in heat_maps(view, quantity):
        section.image(png, caption)
    _differences(section, view, quantity)
    return section


def _differences(section: Section, view: View, quantity: str) -> None:
    found = [row for row in view.of_quantity(quantity) if row["difference"] is not None]
    if not found:
        return
    scale, unit = view.readable(quantity)
    table = [
        [
            *view.cells(row),
            row["transport"],
            row["pairs"],
            _interval(row["baseline"], None, scale),
            _interval(row["difference"], row["difference_half_width"], scale),
            _percent(row),
        ]
        for row in found[:MOST_ROWS]
    ]
    columns: list[Any] = [
        *view.headings,
        "transport",
        "networks",
        (view.manifest["baseline"], unit),
    ]
    columns += [("difference", unit), ("", "%")]
    cut = "" if len(found) <= MOST_ROWS else f" (the first {MOST_ROWS} of {len(found)})"
    section.table(columns, table, f"Differences, network by network{cut}")


def _interval(mean: float | None, half: float | None, scale: float) -> Any:
    if mean is None:
        return None
    if half is None:
        return _numbers(f"{mean * scale:.4g}", faint=True)
    low, high = (mean - half) * scale, (mean + half) * scale
    return _numbers(f"{mean * scale:.4g} [{low:.4g}, {high:.4g}]", faint=low <= 0.0 <= high)


def _numbers(text: str, faint: bool) -> Any:
    """Numbers with a true minus."""
    return figures(text.replace("-", "−"), faint)


def _percent(row: Row) -> Any:
    half, share = row["difference_half_width"], percent(row)
    if half is None or share is None:
        return None
    return _numbers(
        f"{share:+.1f} ± {100 * half / row['baseline']:.1f}",
        faint=abs(row["difference"]) <= half,
    )


def _matters(view: View) -> Iterator[Section]:
    """What the surrogates say, where parameters are numbers."""
    if not view.numeric:
        return
    section = Section("Which parameters matter")
    section.prose(
        "A Gaussian process is fitted to the means of the points. `alone` is the share of the "
        "variance over the box of the parameters that a parameter explains alone (first Sobol "
        "index), `in all` what it explains together with others. `error` is that of the fit at "
        "points left out, as a share of the spread: near 1 nothing was learned."
    )
    table: list[list[Any]] = []
    for quantity in view.shown:
        for transport in view.transports:
            settings, values = view.response(quantity, transport)
            with _quiet():
                found = sensitivity(settings, values, view.logarithmic)
            if found is None:
                continue
            name = quantities()[quantity]["about"].rstrip(".")
            for column, first, total in zip(view.numeric, found.first, found.total, strict=True):
                shares = [figures(f"{first:.2f}"), figures(f"{total:.2f}")]
                error = figures(f"{found.error:.2f}", faint=found.error > 0.5)
                table.append([name, transport, view.name(column), *shares, error])
    if table:
        columns = ["quantity", "transport", "parameter", "alone", "in all", "error"]
        yield section.table(columns, table, "Sobol indices of the fitted surrogate")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """A fit at the border of its ranges is no news: the error tells whether it is good."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _points(view: View) -> Section:
    section = Section("Points and their runs")
    section.prose(
        "A point leads to the files of its runs, `data/runs/point=ID`; their tables lie beside. "
        "`python -m hopflow campaign FILE --point ID` prints the point's scenario, with which "
        "`hopflow run` makes the same runs."
    )
    asked = any(point["differences"] for point in view.manifest["points"])
    table = [
        [
            link(point["point"], f"data/runs/point={point['point']}/"),
            *view.cells(point["parameters"]),
            max(point["networks"].values()),
            sum(point["networks"].values()),
            ("yes" if point["decided"] else "no") if asked else "-",
        ]
        for point in view.manifest["points"][:MOST_ROWS]
    ]
    columns: list[Any] = ["point", *view.headings, "networks", "runs", "decided"]
    return section.table(columns, table, "Points")


def _left_out(view: View) -> Section:
    section = Section("Points that are left out")
    section.prose("These combinations of values cannot be run.")
    table = [[*view.cells(it["parameters"]), it["reason"]] for it in view.manifest["left_out"]]
    return section.table([*view.headings, "reason"], table[:MOST_ROWS], "Points that are left out")


def _failures(failures: Sequence[dict[str, Any]]) -> Section:
    section = Section("Failed runs")
    table = [[it["point"], it["transport"], it["seed"], it["error"]] for it in failures]
    return section.table(["point", "transport", "seed", "reason"], table[:MOST_ROWS], "Failed runs")


def _origin(results: CampaignResults, view: View) -> Section:
    section = Section("Origin")
    section.table(
        ["what", "value"],
        [
            ["build", str(results.about["build"])],
            ["results", str(view.manifest["results"])],
            ["request", f"requests/{view.manifest['request']}.json"],
        ],
        "What the results were made from",
    )
    request = json.loads(
        (Path(results.url) / f"requests/{view.manifest['request']}.json").read_text()
    )
    return section.code("What was asked", json.dumps(request, indent=1, ensure_ascii=False))
