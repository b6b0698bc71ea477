"""Experiments that need the nets, and what they share: options, values, verdicts.

Each is a function of `Options` that writes `values.csv` and a page into a folder and prints what it
found. `python -m hopflow reproduce NAME` calls it.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hopflow.report import Section

REGISTRY: dict[str, str] = {
    "gan-fig1": "hopflow.adversarial.reproduce.fig1:reproduce",
    "gan-theorem1": "hopflow.adversarial.reproduce.theorem1:reproduce",
    "gan-table1": "hopflow.adversarial.reproduce.mnist:table1",
    "gan-fig2": "hopflow.adversarial.reproduce.mnist:fig2",
    "gan-fig3": "hopflow.adversarial.reproduce.mnist:fig3",
    "traffic-table": "hopflow.traffic.experiment:table",
    "observer-games": "hopflow.observer.experiment:games",
    "observer-feedback": "hopflow.observer.experiment:feedback",
}
"""From an experiment's name to its function, as `module:function`."""


@dataclass(frozen=True)
class Options:
    """How an experiment is made.

    Attributes:
        out: Folder for the results.
        seeds: Number of seeds; `None`: as many as the experiment wants.
        data: Folder of the data set; `None`: `HOPFLOW_DATA`, then the cache.
        quick: Whether a smaller version will do, for tests: it is called so in the results.
        threads: Processes at the same time; `None`: one per core.
        epochs: Epochs of training, where nets are trained; `None`: as the experiment wants.
    """

    out: Path
    seeds: int | None = None
    data: Path | None = None
    quick: bool = False
    threads: int | None = None
    epochs: int | None = None


Verdict = Literal["reproduced", "same shape", "not reproduced", "not judged"]
"""How a value compares with the paper's; see `docs/reproductions.md`."""


@dataclass(frozen=True)
class Value:
    """One value of a figure or table; the columns of `values.csv`, as the binary writes them.

    Attributes:
        figure: The figure or table.
        quantity: What was measured.
        unit: Unit of all numbers but `x`; empty for plain numbers.
        transport: Transport or model that the value belongs to; empty for none.
        x: The swept value, where there is one.
        n: Runs that the mean was taken over.
        mean: The mean.
        ci_low: Lower end of its 95 % confidence interval.
        ci_high: Upper end.
        paper: The paper's value.
        band_low: Lower end of the band within which the value counts as reproduced.
        band_high: Upper end.
    """

    figure: str
    quantity: str
    unit: str
    transport: str
    x: float | None
    n: int
    mean: float
    ci_low: float | None = None
    ci_high: float | None = None
    paper: float | None = None
    band_low: float | None = None
    band_high: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the mean lies in the band."""
        if self.band_low is None and self.band_high is None:
            return "not judged"
        above = self.band_low is None or self.mean >= self.band_low
        below = self.band_high is None or self.mean <= self.band_high
        return "reproduced" if above and below else "not reproduced"


def write_values(folder: Path, values: Iterable[Value]) -> Path:
    """Writes `values.csv` into a folder, which is made if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "values.csv"
    names = [field.name for field in fields(Value)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "verdict"])
        for value in values:
            cells = [getattr(value, name) for name in names]
            writer.writerow(["" if cell is None else cell for cell in cells] + [value.verdict])
    return path


def half_width(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the width of the 95 % interval of the mean over the first axis (Student's t).

    Args:
        rows: Two values or more, shape `(n, ...)`.
    """
    from scipy import stats

    factor = stats.t.ppf(0.975, len(rows) - 1) / np.sqrt(len(rows))
    return np.asarray(factor * rows.std(axis=0, ddof=1))


def origin(name: str, options: Options, seeds: int) -> Section:
    """The section of a page that tells how to make it again.

    Args:
        name: The experiment.
        options: How it was made.
        seeds: The number of seeds; they are 1, 2, and so on.
    """
    from hopflow.report import Section

    try:
        version = metadata.version("hopflow")
    except metadata.PackageNotFoundError:
        version = "from its source, not installed"
    command = f"python -m hopflow reproduce {name} --seeds {seeds}"
    if options.epochs is not None:
        command += f" --epochs {options.epochs}"
    if options.quick:
        command += " --quick"
    section = Section("Origin")
    section.code("Command", command)
    section.code("Version and seeds", f"hopflow {version}, seeds 1 to {seeds}")
    return section


def find(name: str) -> Callable[[Options], None]:
    """The function of an experiment.

    Raises:
        KeyError: There is none of this name.
        ImportError: It needs packages that are not installed.
    """
    module, function = REGISTRY[name].split(":")
    found: Callable[[Options], None] = getattr(importlib.import_module(module), function)
    return found
