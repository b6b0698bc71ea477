"""Experiments that need the nets, and what they share: options, values, verdicts.

Each is a function of `Options` that writes `values.csv` and a page into a folder and prints what it
found. `python -m hopflow reproduce NAME` and `hopflow.reproduce(NAME)` make it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from hopflow._bands import band
from hopflow._binding import native
from hopflow._claims import claim
from hopflow._errors import HopflowError
from hopflow._extra import call, load

if TYPE_CHECKING:
    from hopflow.report import Section


@dataclass(frozen=True)
class Experiment:
    """An experiment that is made in Python.

    Attributes:
        function: Its function, as `module:function`.
        options: The options that it takes beside `out`: names of fields of `Options`.
    """

    function: str
    options: tuple[str, ...]


_NETS = ("data", "epochs", "quick")
_OBSERVED = ("seeds", "data", "threads", "quick")

REGISTRY: dict[str, Experiment] = {
    "gan-fig1": Experiment("hopflow.adversarial.reproduce.fig1:reproduce", ("seeds",)),
    "gan-theorem1": Experiment("hopflow.adversarial.reproduce.theorem1:reproduce", ()),
    "gan-table1": Experiment(
        "hopflow.adversarial.reproduce.mnist:table1", ("seeds", "threads", *_NETS)
    ),
    "gan-fig2": Experiment("hopflow.adversarial.reproduce.mnist:fig2", _NETS),
    "gan-fig3": Experiment("hopflow.adversarial.reproduce.mnist:fig3", _NETS),
    "gan-faces": Experiment(
        "hopflow.adversarial.reproduce.faces:reproduce", ("seeds", "threads", *_NETS)
    ),
    "gan-sec7": Experiment(
        "hopflow.adversarial.reproduce.section7:reproduce", ("seeds", "threads", *_NETS)
    ),
    "traffic-table": Experiment("hopflow.traffic.experiment:table", ("seeds", *_NETS)),
    "observer-games": Experiment("hopflow.observer.experiment:games", _OBSERVED),
    "observer-feedback": Experiment("hopflow.observer.experiment:feedback", _OBSERVED),
    "observer-words": Experiment(
        "hopflow.observer.experiment:words", ("seeds", "threads", "quick")
    ),
}
"""The experiments by name: those that the program lists as needing the Python package."""


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


Verdict = Literal["reproduced", "not reproduced", "undecided", "not judged"]
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

    @classmethod
    def of_runs(cls, figure: str, quantity: str, numbers: Sequence[float], unit: str = "") -> Value:
        """The mean over runs with its interval, and with what is judged of it.

        A single number has no interval.
        """
        rows = np.asarray(numbers, np.float64)
        mean = float(rows.mean())
        half = float(half_width(rows)) if len(rows) > 1 else None
        ends = (None, None) if half is None else (mean - half, mean + half)
        said = band(figure, quantity)
        return cls(
            *(figure, quantity, unit, "", None, len(rows), mean),
            *(*ends, said.paper, said.low, said.high),
        )

    @classmethod
    def exact(cls, figure: str, quantity: str, number: float, n: int = 1) -> Value:
        """What is computed without chance, the largest of `n` for instance."""
        said = band(figure, quantity)
        ends = (number, number)
        return cls(
            *(figure, quantity, "", "", None, n, number),
            *(*ends, said.paper, said.low, said.high),
        )

    @property
    def judged(self) -> tuple[Verdict, int | None]:
        """How it compares with the band, and about how many runs would decide an open case.

        The rule is that of all experiments; see `docs/reproductions.md`.
        """
        return cast("tuple[Verdict, int | None]", native().judge(astuple(self)[4:]))

    @property
    def verdict(self) -> Verdict:
        """Whether the whole interval lies in the band, or outside."""
        return self.judged[0]


def write_values(folder: Path, values: Iterable[Value]) -> Path:
    """Writes `values.csv` into a folder, which is made if needed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "values.csv"
    names = [field.name for field in fields(Value)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "verdict", "wanted"])
        for value in values:
            cells = [*(getattr(value, name) for name in names), *value.judged]
            writer.writerow(["" if cell is None else cell for cell in cells])
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

    The folder of the data set is called `DIR`, for it is another elsewhere.

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
    used = f"seeds 1 to {seeds}" if seeds > 1 else "seed 1"
    section = Section("Origin")
    section.code("Command", _command(name, options, seeds))
    section.code("Version and seeds", f"hopflow {version}, {used}")
    return section


def _command(name: str, options: Options, seeds: int) -> str:
    words = [f"python -m hopflow reproduce {name}"]
    if "seeds" in REGISTRY[name].options:
        words.append(f"--seeds {seeds}")
    if options.data is not None:
        words.append("--data DIR")
    if options.threads is not None:
        words.append(f"--threads {options.threads}")
    if options.epochs is not None:
        words.append(f"--epochs {options.epochs}")
    if options.quick:
        words.append("--quick")
    return " ".join(words)


def find(name: str) -> Callable[[Options], None]:
    """The function of an experiment.

    Raises:
        KeyError: There is none of this name.
        ImportError: It needs packages that are not installed.
    """
    return load(REGISTRY[name].function)


def make(name: str, options: Options) -> None:
    """Makes an experiment again, in a folder that holds nothing else.

    Raises:
        KeyError: There is none of this name.
        HopflowError: It does not take an option, data or packages are missing, or the folder holds
            something else.
    """
    given = {field.name: getattr(options, field.name) for field in fields(Options)}
    refuse_others(name, given, ("out", *REGISTRY[name].options))
    with claim(options.out, name):
        call(REGISTRY[name].function, options)


def refuse_others(name: str, given: Mapping[str, object], allowed: Sequence[str]) -> None:
    """Refuses options that were given and that an experiment does not take.

    Args:
        name: The experiment.
        given: Options by name; `None` and `False` are those that were not given.
        allowed: Names of the options that it takes.

    Raises:
        HopflowError: There is one; the message names those that are allowed.
    """
    for option, value in given.items():
        if option not in allowed and value is not None and value is not False:
            raise HopflowError(f"{name} takes no {option}; allowed: {', '.join(allowed)}")
