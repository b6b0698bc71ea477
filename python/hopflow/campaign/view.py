"""A campaign as its report looks at it: points, parameters, units for readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopflow.campaign.definition import quantities
from hopflow.campaign.points import shown
from hopflow.campaign.results import CampaignResults
from hopflow.campaign.summary import Row

USUAL = ("web_ttlb_median", "web_ttfb_median", "bulk_ttlb_median", "bulk_goodput", "latency")
"""Quantities that are shown where none was asked for."""

_UNITS = {
    "_bytes_per_s": (1e-3, "kB/s"),
    "_bytes": (1e-3, "kB"),
    "_packets": (1.0, "packets"),
    "_s": (1e3, "ms"),
}


@dataclass(frozen=True)
class View:
    """What a report shows.

    Attributes:
        rows: The summary.
        manifest: What was found.
        parameters: The columns of the parameters with their types.
        keys: The key of each.
    """

    rows: list[Row]
    manifest: dict[str, Any]
    parameters: dict[str, str]
    keys: dict[str, str]

    @classmethod
    def of(cls, results: CampaignResults, rows: list[Row]) -> View:
        """The view of a campaign with this summary."""
        given = results.about["parameters"]
        return cls(
            rows,
            results.manifest,
            {it["column"]: it["type"] for it in given},
            {it["column"]: " = ".join(it["keys"]) for it in given},
        )

    @property
    def points(self) -> list[str]:
        """The points that have runs."""
        return sorted({row["point"] for row in self.rows})

    @property
    def transports(self) -> list[str]:
        """The transports that have runs, those of the last request first."""
        first = self.manifest["transports"]
        return [*first, *sorted({row["transport"] for row in self.rows} - set(first))]

    @property
    def shown(self) -> list[str]:
        """The quantities that are shown: those asked for, else the usual ones that runs have."""
        # Points that were lost in the first round have no differences.
        known = (it["differences"] for it in self.manifest["points"] if it["differences"])
        asked = [it["quantity"] for it in next(known, [])]
        there = {row["quantity"] for row in self.rows}
        return [name for name in dict.fromkeys(asked or USUAL) if name in there]

    @property
    def numeric(self) -> list[str]:
        """The columns of parameters that are numbers and vary."""
        return [
            column
            for column, kind in self.parameters.items()
            if kind in ("double", "int64") and len(self.values(column)) > 1
        ]

    @property
    def logarithmic(self) -> list[bool]:
        """By numeric parameter, whether ratios count."""
        return [self.is_log(column) for column in self.numeric]

    def is_log(self, column: str) -> bool:
        """Whether a parameter's values span a factor of eight, and lie evenly so."""
        values = np.asarray(self.values(column), dtype=np.float64)
        if values.min() <= 0.0 or values.max() / values.min() < 8.0:
            return False
        share = (np.median(values) - values.min()) / (values.max() - values.min())
        return bool(share < 0.4)

    def values(self, column: str) -> list[Any]:
        """The values of a parameter, rising."""
        return sorted({row[column] for row in self.rows})

    def of_quantity(self, quantity: str) -> list[Row]:
        """The rows of a quantity, by parameters, then transport."""
        found = [row for row in self.rows if row["quantity"] == quantity]
        order = {label: number for number, label in enumerate(self.transports)}
        return sorted(
            found, key=lambda row: (*(row[it] for it in self.parameters), order[row["transport"]])
        )

    def response(
        self, quantity: str, transport: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The settings of the numeric parameters, and the means of a quantity there."""
        found = [row for row in self.of_quantity(quantity) if row["transport"] == transport]
        settings = [[float(row[column]) for column in self.numeric] for row in found]
        means = [row["mean"] for row in found]
        return np.asarray(settings, dtype=np.float64), np.asarray(means, dtype=np.float64)

    def readable(self, quantity: str) -> tuple[float, str]:
        """The factor to a unit for readers, and that unit."""
        unit = quantities()[quantity]["unit"]
        means = [abs(row["mean"]) for row in self.rows if row["quantity"] == quantity]
        largest = max(means, default=0.0)
        if unit == "seconds":
            return (1e3, "ms") if largest < 1.0 else (1.0, "s")
        if unit in ("bytes", "bytes per second"):
            end = "/s" if unit.endswith("second") else ""
            return (1e-6, f"MB{end}") if largest >= 1e7 else (1e-3, f"kB{end}")
        return 1.0, ""

    def name(self, column: str) -> str:
        """A parameter for readers: its key without the common beginnings."""
        return self.keys[column].removeprefix("network.").removeprefix("transports.")

    @property
    def names(self) -> list[str]:
        """All parameters for readers."""
        return [self.name(column) for column in self.parameters]

    def unit(self, column: str) -> tuple[float, str]:
        """The factor from a parameter's column to a unit for readers, and that unit."""
        found = (it for end, it in _UNITS.items() if column.endswith(end))
        is_number = self.parameters[column] == "double"
        return next(found, (1.0, "")) if is_number else (1.0, "")

    @property
    def headings(self) -> list[tuple[str, str]]:
        """The headings of the parameters' columns in tables."""
        return [(self.name(column), self.unit(column)[1]) for column in self.parameters]

    def cells(self, values: Mapping[str, Any]) -> list[Any]:
        """The parameters of a row or point as cells of a table."""
        return [self.value(column, values[column]) for column in self.parameters]

    def value(self, column: str, value: Any) -> str:
        """A parameter's value for readers, in the unit of its heading."""
        if isinstance(value, float):
            return shown(value * self.unit(column)[0])
        return shown(value)
