"""Charts of a campaign: response curves, and heat maps of differences."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from hopflow.campaign.definition import quantities
from hopflow.campaign.summary import Row, percent
from hopflow.campaign.view import View
from hopflow.report import Axis, Series

MOST_CHARTS = 6
"""Charts of a quantity; tables and the data set have the rest."""


def curves(view: View, quantity: str) -> Iterator[dict[str, Any]]:
    """Arguments of `Section.chart`: the quantity over the first numeric parameter.

    There is a chart for each combination of the others, as far as they are few.
    """
    if not view.numeric:
        return
    along = max(view.numeric, key=lambda column: len(view.values(column)))
    others = [column for column in view.parameters if column != along]
    found = view.of_quantity(quantity)
    groups = list(dict.fromkeys(tuple(row[column] for column in others) for row in found))
    lone = len(found) < 2 * len(groups) * len(view.transports)
    if lone:
        # A sampled design: hardly two points differ in one parameter only.
        groups, others = [()], []
    for number, group in enumerate(groups[:MOST_CHARTS]):
        rows = [row for row in found if tuple(row[column] for column in others) == group]
        where = ", ".join(
            f"{view.name(column)} = {view.value(column, value)} {view.unit(column)[1]}".strip()
            for column, value in zip(others, group, strict=True)
        )
        yield _chart(view, quantity, (along, rows), where, f"{quantity}-{number}", lone)


def _chart(
    view: View, quantity: str, over: tuple[str, list[Row]], where: str, id: str, lone: bool
) -> dict[str, Any]:
    along, rows = over
    factor, unit = view.unit(along)
    scale, measured = view.readable(quantity)
    title = quantities()[quantity]["about"].rstrip(".")
    series = []
    for transport in view.transports:
        own = [row for row in rows if row["transport"] == transport]
        halves = [np.nan if row["half_width"] is None else row["half_width"] for row in own]
        means = np.asarray([row["mean"] for row in own], dtype=np.float64)
        spread = np.asarray(halves, dtype=np.float64)
        series.append(
            Series(
                transport,
                [float(row[along]) * factor for row in own],
                means * scale,
                low=(means - spread) * scale,
                high=(means + spread) * scale,
                mark="points" if lone else "curve",
            )
        )
    return {
        "id": id.replace("_", "-"),
        "title": f"{title}{f', where {where}' if where else ''}",
        "x": Axis(view.name(along), unit, log=view.is_log(along)),
        "y": Axis(title, measured, include=[] if lone else [0.0]),
        "series": series,
        "caption": "Means with confidence sequences.",
    }


def heat_maps(view: View, quantity: str) -> Iterator[tuple[str, bytes]]:
    """Captions and pictures of differences over two parameters, in a complete grid.

    A cell without a percentage leaves the grid incomplete.
    """
    if len(view.parameters) != 2:
        return
    down, along = view.parameters
    rows, columns = view.values(down), view.values(along)
    if len(rows) < 2 or len(columns) < 2:
        return
    baseline = view.manifest["baseline"]
    shares = [
        (row, share) for row in view.of_quantity(quantity) if (share := percent(row)) is not None
    ]
    # One scale for all transports, so that equal colours are equal differences.
    largest = max([1e-9, *(abs(share) for _, share in shares)])
    for transport in view.transports:
        cells = {
            (row[down], row[along]): (share, row["difference"], row["difference_half_width"])
            for row, share in shares
            if row["transport"] == transport
        }
        if len(cells) < len(rows) * len(columns):
            continue
        found = np.array([[cells[r, c][0] for c in columns] for r in rows])
        known = [
            [cells[r, c][2] is not None and abs(cells[r, c][1]) > cells[r, c][2] for c in columns]
            for r in rows
        ]
        title = quantities()[quantity]["about"].rstrip(".")
        caption = (
            f"{title}: {transport} less {baseline}, in percent of {baseline}; cells whose interval "
            "covers zero are in brackets"
        )
        yield caption, _picture(view, found, np.array(known), largest)


def _picture(view: View, shares: Any, known: Any, largest: float) -> bytes:
    from matplotlib.figure import Figure

    down, along = view.parameters
    height, width = shares.shape
    figure = Figure(figsize=(1.6 + 0.9 * width, 1.2 + 0.5 * height), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shares, cmap="PuOr", vmin=-largest, vmax=largest, aspect="auto")
    axes.set_xticks(range(width), [view.value(along, value) for value in view.values(along)])
    axes.set_yticks(range(height), [view.value(down, value) for value in view.values(down)])
    for axis, column in ((axes.set_xlabel, along), (axes.set_ylabel, down)):
        axis(
            " ".join(filter(None, (view.name(column), f"[{view.unit(column)[1]}]"))).replace(
                " []", ""
            )
        )
    for (row, column), value in np.ndenumerate(shares):
        text = f"{value:+.0f}".replace("-", "−")
        text = text if known[row, column] else f"({text})"
        dark = abs(value) > 0.5 * largest
        axes.text(column, row, text, ha="center", va="center", color="white" if dark else "black")
    sink = io.BytesIO()
    figure.savefig(sink, format="png", dpi=110, metadata={"Software": None})
    return sink.getvalue()
