"""Pages that look like hopflow's reports, and sections for existing ones.

    page = Page("Games", "What an observer of one link learns.")
    pairs = page.section("Who talks to whom")
    pairs.prose("Half of the pairs belong together; `AUC` is the area under the curve.")
    pairs.table(["transport", "AUC"], [["vanilla", (0.71, 0.02)], ["backtap", (0.64, 0.03)]])
    pairs.chart("roc", "ROC", Axis("false"), Axis("true"), [Series("vanilla", x, y)])
    page.write(folder)                               # folder/report.html, and charts as SVG files

A `Section` alone can be added to the report of a result folder: `add_section(folder, section)`
keeps it in `folder/sections/` and writes the page anew; whoever writes it later keeps it too.
"""

from __future__ import annotations

import base64
import json
import math
import numbers
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, SupportsFloat, get_args

from hopflow import _files
from hopflow._binding import native
from hopflow._claims import being_made, claimed_for
from hopflow._errors import HopflowError
from hopflow.results import MANIFEST, Results

Mark = Literal["line", "steps", "curve", "points", "paper"]
"""A line through many points, a line that jumps, a line with markers, markers alone, a paper's."""


@dataclass(frozen=True)
class Axis:
    """An axis of a chart.

    Attributes:
        label: What it measures.
        unit: In which unit; empty for plain numbers.
        log: Whether it is logarithmic; values that are not positive are then left out.
        include: Values that it reaches even if the data do not; others than finite ones count for
            nothing.
    """

    label: str
    unit: str = ""
    log: bool = False
    include: Sequence[float] = ()


@dataclass(frozen=True)
class Series:
    """One curve or cloud of a chart; points that are not finite are left out.

    Attributes:
        label: Its name in the legend.
        x: Where its points are on the horizontal axis, ascending unless `mark` is `points`.
        y: Where they are on the vertical axis.
        low: Lower ends of the intervals of `y`, one for each point; given with `high` or not at
            all. Intervals that are not finite are left out.
        high: Upper ends.
        mark: How points are drawn.
        colour: The number of its colour; by default its place in the chart.
    """

    label: str
    x: Iterable[SupportsFloat]
    y: Iterable[SupportsFloat]
    low: Iterable[SupportsFloat] | None = None
    high: Iterable[SupportsFloat] | None = None
    mark: Mark = "line"
    colour: int | None = None


@dataclass(frozen=True)
class Horizontal:
    """A horizontal line to compare with, at `y`; none if that is not finite."""

    label: str
    y: float


@dataclass(frozen=True)
class Special:
    """A cell of a table that is more than a text or a number; made by the functions below."""

    form: dict[str, Any]


Cell = str | SupportsFloat | tuple[SupportsFloat, SupportsFloat] | Special | None
"""Text, a number, a number with half the width of its interval, or nothing.

A number that is not finite is shown as missing."""


def verdict(name: str) -> Special:
    """A cell that says how a value compares with a paper's.

    Args:
        name: `reproduced`, `not reproduced`, `undecided` or `not judged`.
    """
    return Special({"verdict": name})


def label(text: str, colour: int) -> Special:
    """A cell that names a series, beside its colour."""
    return Special({"label": [text, colour]})


def link(text: str, path: str) -> Special:
    """A cell that leads to a file or folder; the path is taken from the page's folder."""
    return Special({"link": [text, path]})


def figures(text: str, faint: bool = False) -> Special:
    """A cell of numbers as text; faint ones recede."""
    return Special({"faint" if faint else "figures": text})


def interval(mean: float, low: float, high: float, digits: int = 3) -> Special | None:
    """A cell of a number with an interval that need not be symmetric, `digits` places each.

    Without an interval that is finite it is the number alone; a number that is not finite is
    missing.
    """
    if not math.isfinite(mean):
        return None
    if not (math.isfinite(low) and math.isfinite(high)):
        return figures(f"{mean:.{digits}f}")
    return figures(f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]")


@dataclass
class Section:
    """A part of a page under one heading; its methods add to it and return it."""

    heading: str
    _prose: list[str] = field(default_factory=list)
    _blocks: list[dict[str, Any]] = field(default_factory=list)

    def prose(self, *paragraphs: str) -> Section:
        """Adds paragraphs; what stands between backticks is set as code.

        They stand before the section's tables and charts; later ones become notes.
        """
        if self._blocks:
            self._blocks.extend({"note": paragraph} for paragraph in paragraphs)
        else:
            self._prose.extend(paragraphs)
        return self

    def note(self, text: str) -> Section:
        """Adds a remark that stands out."""
        self._blocks.append({"note": text})
        return self

    def table(
        self,
        columns: Sequence[str | tuple[str, str]],
        rows: Iterable[Sequence[Cell]],
        caption: str = "",
    ) -> Section:
        """Adds a table.

        Args:
            columns: Headings, each with the unit of the column's numbers if it has one.
            rows: A cell per column each.
            caption: What it shows.

        Raises:
            HopflowError: A row has not as many cells as there are columns.
        """
        cells = [[_cell(cell) for cell in row] for row in rows]
        for number, row in enumerate(cells):
            if len(row) != len(columns):
                raise HopflowError(
                    f"row {number} of the table {caption!r} has {len(row)} cells; "
                    f"allowed are {len(columns)}"
                )
        heads = [_column(column, [row[n] for row in cells]) for n, column in enumerate(columns)]
        self._blocks.append({"table": {"caption": caption, "columns": heads, "rows": cells}})
        return self

    def chart(
        self,
        id: str,
        title: str,
        x: Axis,
        y: Axis,
        series: Iterable[Series],
        *,
        caption: str = "",
        references: Iterable[Horizontal] = (),
        wide: bool = False,
    ) -> Section:
        """Adds a chart; neighbours stand side by side where there is room.

        Args:
            id: Name of the SVG file made from it: lower-case letters, digits and hyphens.
            title: What it shows.
            x: The horizontal axis, whose values are given.
            y: The vertical axis, whose values are measured.
            series: The curves, in the order of the legend.
            caption: How to read it: what was averaged, what an interval means.
            references: Lines to compare with.
            wide: Whether it takes the whole width of the page.
        """
        chart = {
            "id": id,
            "title": title,
            "caption": caption,
            "x": _axis(x),
            "y": _axis(y),
            "wide": wide,
            "series": [_series(one, number) for number, one in enumerate(series)],
            "references": [
                {"horizontal": {"label": one.label, "y": float(one.y)}}
                for one in references
                if math.isfinite(one.y)
            ],
        }
        self._blocks.append({"chart": chart})
        return self

    def image(self, png: bytes | Path, caption: str) -> Section:
        """Adds a picture: the bytes of a PNG file, or its path.

        Raises:
            HopflowError: The file cannot be read.
        """
        try:
            content = png.read_bytes() if isinstance(png, Path) else png
        except OSError as error:
            raise HopflowError(f"the image {caption!r} cannot be read: {error}") from error
        encoded = base64.b64encode(content).decode("ascii")
        self._blocks.append({"image": {"caption": caption, "png": encoded}})
        return self

    def code(self, caption: str, text: str) -> Section:
        """Adds text to be read letter by letter; long ones are folded away."""
        self._blocks.append({"code": {"caption": caption, "text": text}})
        return self

    def form(self) -> dict[str, Any]:
        """The section as the JSON that hopflow's reports read."""
        return {"heading": self.heading, "prose": self._prose, "blocks": self._blocks}


class Page:
    """A page: a title, a sentence, facts, and sections."""

    FILE = "page.json"
    """What the page was made from, beside it: `hopflow report DIR` makes it again."""

    def __init__(self, title: str, subtitle: str = "") -> None:
        """A page without sections."""
        self.title = title
        self.subtitle = subtitle
        self._facts: list[dict[str, str]] = []
        self._sections: list[Section] = []

    def fact(self, label: str, value: object) -> Page:
        """Adds one of the few facts that a reader wants first."""
        self._facts.append({"label": label, "value": str(value)})
        return self

    def section(self, heading: str) -> Section:
        """Begins a section, short enough for the navigation."""
        self._sections.append(Section(heading))
        return self._sections[-1]

    def add(self, section: Section) -> Page:
        """Adds a section."""
        self._sections.append(section)
        return self

    def form(self) -> dict[str, Any]:
        """The page as the JSON that hopflow's reports read."""
        return {
            "title": self.title,
            "subtitle": self.subtitle,
            "facts": self._facts,
            "sections": [section.form() for section in self._sections],
        }

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Writes `report.html`, and each chart as an SVG file below `plots`; returns the path.

        Raises:
            HopflowError: The folder holds runs, which have a report of their own; a file cannot be
                written; or something on the page has no known form.
        """
        folder = Path(folder)
        experiment = claimed_for(folder)
        if experiment is not None and not being_made(folder):
            raise HopflowError(
                f"{folder} holds {experiment}, whose page this would replace; allowed is another "
                "folder"
            )
        if (folder / MANIFEST).exists():
            raise HopflowError(
                f"{folder} holds runs, whose report the page would replace; allowed is another "
                "folder, or a section in that report (hopflow.report.add_section)"
            )
        text = json.dumps(self.form(), allow_nan=False, ensure_ascii=False)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = native().write_page(text, folder)
            _files.replace(folder / self.FILE, text.encode())
        except OSError as error:
            raise HopflowError(f"the page cannot be written: {error}") from error
        return path


def add_section(folder: str | os.PathLike[str], section: Section, name: str | None = None) -> Path:
    """Adds a section to the report of a result folder; returns the page's path.

    Args:
        folder: A folder that holds runs, which any way of running wrote.
        section: The section; one of the same name is replaced.
        name: Under which it is kept; by default made from the heading. Sections stand in the order
            of their names, before the report's last one.

    Raises:
        HopflowError: The folder holds no results, the name is empty or has other characters than
            lower-case letters, digits and hyphens, something in the section has no known form, or a
            file cannot be written. Sections are then as they were.
    """
    folder = Path(folder)
    if name is None:
        name = re.sub(r"[^a-z0-9]+", "-", section.heading.lower()).strip("-")
    path = _section_file(folder, name)
    _ = Results(folder).manifest
    text = json.dumps(section.form(), allow_nan=False, ensure_ascii=False)
    try:
        before = path.read_bytes() if path.is_file() else None
        _files.replace(path, text.encode())
    except OSError as error:
        raise HopflowError(f"the section cannot be written: {error}") from error
    try:
        return native().write_report(folder)
    except BaseException:
        if before is None:
            path.unlink(missing_ok=True)
        else:
            _files.replace(path, before)
        raise


def remove_section(folder: str | os.PathLike[str], name: str) -> None:
    """Removes a section from the report of a result folder, if there is one of this name.

    Raises:
        HopflowError: It is no name of a section, or the report cannot be written.
    """
    path = _section_file(Path(folder), name)
    if path.is_file():
        path.unlink()
        native().write_report(Path(folder))


def _section_file(folder: Path, name: str) -> Path:
    if not re.fullmatch(r"[a-z0-9-]+", name):
        raise HopflowError(
            f"a section has the name {name!r}; allowed are lower-case letters, digits and hyphens: "
            "give such a one as `name`"
        )
    return folder / "sections" / f"{name}.json"


def _cell(cell: Cell) -> Any:
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, Special):
        return cell.form
    if isinstance(cell, tuple):
        value, half_width = (float(number) for number in cell)
        known = math.isfinite(value) and math.isfinite(half_width)
        return [value, half_width] if known else _cell(value)
    if isinstance(cell, numbers.Integral) and int(cell) >= 0:
        return {"count": int(cell)}
    value = float(cell)
    return value if math.isfinite(value) else None


def _column(column: str | tuple[str, str], cells: list[Any]) -> dict[str, Any]:
    heading, unit = (column, "") if isinstance(column, str) else column
    texts = [cell for cell in cells if isinstance(cell, dict)]
    is_figures = any("figures" in cell or "faint" in cell for cell in texts)
    return {"heading": heading, "unit": unit, "figures": is_figures}


def _axis(axis: Axis) -> dict[str, Any]:
    return {
        "label": axis.label,
        "unit": axis.unit,
        "log": axis.log,
        "include": [float(value) for value in axis.include if math.isfinite(value)],
    }


def _series(series: Series, number: int) -> dict[str, Any]:
    if series.mark not in get_args(Mark):
        allowed = ", ".join(get_args(Mark))
        raise HopflowError(
            f"the series {series.label!r} has the mark {series.mark!r}; allowed: {allowed}"
        )
    return {
        "label": series.label,
        "colour": number if series.colour is None else series.colour,
        "mark": series.mark,
        "points": _points(series),
    }


def _points(series: Series) -> list[dict[str, Any]]:
    x, y = _numbers(series.x), _numbers(series.y)
    if len(x) != len(y):
        raise HopflowError(f"the series {series.label!r} has {len(x)} x and {len(y)} y")
    points: list[dict[str, Any]] = [
        {"x": at, "y": value, "interval": end if end and all(map(math.isfinite, end)) else None}
        for at, value, end in zip(x, y, _intervals(series, len(x)), strict=True)
        if math.isfinite(at) and math.isfinite(value)
    ]
    if series.mark == "points":
        points.sort(key=lambda point: (point["x"], point["y"]))
    return points


def _intervals(series: Series, count: int) -> Sequence[tuple[float, float] | None]:
    """The intervals of a series' points."""
    if series.low is None and series.high is None:
        return [None] * count
    low, high = _numbers(series.low), _numbers(series.high)
    if not len(low) == len(high) == count:
        raise HopflowError(
            f"the series {series.label!r} has {count} points, {len(low)} lower and {len(high)} "
            "upper ends of intervals; allowed are as many of all"
        )
    return list(zip(low, high, strict=True))


def _numbers(values: Iterable[SupportsFloat] | None) -> list[float]:
    return [] if values is None else [float(value) for value in values]
