"""Results: tables over all runs of a folder."""

from __future__ import annotations

import hashlib
import html
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hopflow._binding import native
from hopflow._claims import claimed_for
from hopflow._errors import HopflowError

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
"""The file of a result folder that says which runs it holds."""

_VALUES = "values.csv"
"""The file of a reproduced figure or table beside it."""


@dataclass(frozen=True)
class Results:
    """A result folder; nothing is read before it is asked for.

    Each table spans all runs and begins with the columns `transport`, `network` and `seed`. Units
    end the names of columns: `_s` seconds, `_bytes`, `_cells`, `_bytes_per_s`. What the tables hold
    is documented with the crate `hopflow-results`.

    Attributes:
        folder: Where the results lie.
    """

    folder: Path
    _runs: frozenset[str] | None = field(default=None, repr=False, compare=False)
    _values: str | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of_now(cls, folder: Path, *, has_runs: bool = True) -> Results:
        """The results that a folder holds now: they are not taken for others if it is run again.

        Args:
            folder: Where they are.
            has_runs: Whether they are of runs, and not of an experiment that is made in Python.
        """
        found = cls(folder)
        runs = _runs_in(found.manifest) if has_runs else None
        return cls(folder, runs, _hash_of(found.folder / _VALUES))

    def __post_init__(self) -> None:
        """Takes the folder as a text, too."""
        object.__setattr__(self, "folder", Path(self.folder))

    @property
    def manifest(self) -> dict[str, Any]:
        """What the folder holds and how it was made: scenario, transports, seeds, runs.

        Raises:
            HopflowError: The folder holds no results, or of another format.
        """
        if (experiment := claimed_for(self.folder)) is not None:
            raise HopflowError(
                f"{self.folder} holds {experiment}, which is made in Python: there are no runs and "
                "no tables of them; allowed: values, report"
            )
        found = cast(dict[str, Any], json.loads(native().manifest(self.folder)))
        if self._runs is not None and self._runs != _runs_in(found):
            raise self._of_later_call("runs")
        return found

    def _of_later_call(self, what: str) -> HopflowError:
        return HopflowError(
            f"{self.folder} holds other {what} by now, of a later call; allowed is "
            "hopflow.open, which reads what it holds, or a folder (`out`) for each call"
        )

    def _check_call(self) -> None:
        """Refuses values, and a report, that are not of the call that these results are of."""
        is_of_python = claimed_for(self.folder) is not None
        has_runs = not is_of_python and (self.folder / MANIFEST).is_file()
        if self._runs is not None or has_runs:
            manifest = self.manifest
            missing = manifest.get("missing")
            if missing and (self.folder / _VALUES).is_file():
                command = manifest.get("command", "the last call")
                raise HopflowError(
                    f"{self.folder}: {command} did not finish; runs that are missing: {missing}. "
                    f"{_VALUES} and the report are of an earlier call; allowed is to give either "
                    "call again: finished runs are kept"
                )
        if self._values is not None and self._values != _hash_of(self.folder / _VALUES):
            raise self._of_later_call("values")

    @property
    def report(self) -> Path:
        """The report's page.

        Raises:
            HopflowError: The folder was made by a later call, or it holds a reproduction with runs
                whose last call did not finish.
        """
        self._check_call()
        return self._page

    @property
    def _page(self) -> Path:
        return self.folder / "report.html"

    @property
    def transports(self) -> list[str]:
        """The labels of the transports."""
        return list(self.manifest["transports"])

    @property
    def tables(self) -> list[str]:
        """The names of the tables that at least one run has."""
        return sorted({name for run in self.manifest["runs"] for name in run["files"]})

    @property
    def downloads(self) -> pa.Table:
        """Completed downloads: circuit, class, start, time to first and last byte."""
        return self.table("downloads")

    @property
    def circuits(self) -> pa.Table:
        """What each circuit carried: bytes, goodput, its max-min fair share, latency."""
        return self.table("circuits")

    @property
    def samples(self) -> pa.Table:
        """R(t) and W(t): bytes packaged at the exit and delivered to the client, over time."""
        return self.table("samples")

    @property
    def hops(self) -> pa.Table:
        """Queues, outstanding cells and windows hop by hop over time, where recorded."""
        return self.table("hops")

    @property
    def metrics(self) -> pa.Table:
        """What the transports' layers measure hop by hop over time, where hops were recorded.

        A row per value: circuit, hop, time, name of the metric, value. The table `metric_units`
        says in what unit a metric is, and what it means.

        Raises:
            HopflowError: No run has it: hops were not recorded, or no layer measures anything.
        """
        return self.table("metrics")

    @property
    def relays(self) -> pa.Table:
        """What the overlay's nodes did."""
        return self.table("relays")

    @property
    def links(self) -> pa.Table:
        """What the directions of access links did."""
        return self.table("links")

    def table(self, name: str) -> pa.Table:
        """A table over all runs that have it.

        Args:
            name: One of `tables`.

        Raises:
            HopflowError: No run has it, or a file is missing or damaged.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        runs = [run for run in self.manifest["runs"] if name in run["files"]]
        if not runs:
            raise HopflowError(
                f"{self.folder} has no table {name!r}; allowed: {', '.join(self.tables) or 'none'}"
            )
        folders = [(self.folder / run["folder"], run["files"][name]) for run in runs]
        try:
            contents = (_intact(path / file["name"], file["checksum"]) for path, file in folders)
            tables = [pq.ParquetFile(pa.BufferReader(content)).read() for content in contents]
            return pa.concat_tables(tables)
        except (OSError, pa.ArrowException) as error:
            raise HopflowError(f"the table {name!r} cannot be read: {error}") from error

    @property
    def values(self) -> pa.Table:
        """The values of a reproduced figure or table, beside the paper's.

        Columns: those of `hopflow.experiments.Value`, and `verdict`; of the same types for all
        experiments, so that tables can be concatenated.

        Raises:
            HopflowError: The folder is not one of a reproduction, was made by a later call, or its
                runs are those of a last call that did not finish.
        """
        import pyarrow as pa
        from pyarrow import csv

        self._check_call()
        try:
            return csv.read_csv(
                self.folder / _VALUES,
                convert_options=csv.ConvertOptions(column_types=_values_schema()),
            )
        except (OSError, pa.ArrowException) as error:
            raise HopflowError(f"there are no values: {error}") from error

    @property
    def summary(self) -> pa.Table:
        """How the transports compare: a row per quantity and transport, in base units.

        Columns: `quantity`, `title`, `unit`, `better` (what is better: higher, lower or neither),
        `transport`; `mean` over `n` networks with its 95 % confidence interval `ci_low`, `ci_high`;
        `at_least`, whether the true value may be larger; the `difference` to the first transport,
        or of a variant `TRANSPORT/NAME` to its transport,
        with its interval, in the unit and, as `percent`, of the value of that one; `finding`, what
        can be said about it.
        """
        import pyarrow as pa

        compared = self._compared()
        rows = [
            _summary_row(quantity, entry)
            for quantity in compared["quantities"]
            for entry in quantity["transports"]
        ]
        return pa.Table.from_pylist(rows, schema=_summary_schema())

    def _compared(self) -> dict[str, Any]:
        """The comparison as the compiled part makes it, of the runs that these results are of."""
        _ = self.manifest
        return cast(dict[str, Any], json.loads(native().summary(self.folder)))

    def _repr_html_(self) -> str:
        """The summary as a small table, for notebooks; of an experiment in Python, its page."""
        where = html.escape(str(self._page))
        if claimed_for(self.folder) is not None:
            return f"<p>Report: <code>{where}</code></p>"
        compared = self._compared()
        head = "".join(f"<th>{html.escape(label)}</th>" for label in compared["transports"])
        body = "".join(_html_row(quantity) for quantity in compared["quantities"])
        return (
            f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
            "<p>Means over networks with 95 % confidence intervals. "
            f"Report: <code>{where}</code></p>"
        )


def _values_schema() -> pa.Schema:
    import pyarrow as pa

    texts, numbers = ["figure", "quantity", "unit", "transport"], ["mean", "ci_low", "ci_high"]
    return pa.schema(
        [(name, pa.string()) for name in texts]
        + [("x", pa.float64()), ("n", pa.int64())]
        + [(name, pa.float64()) for name in [*numbers, "paper", "band_low", "band_high"]]
        + [("verdict", pa.string()), ("wanted", pa.int64())]
    )


def _summary_schema() -> pa.Schema:
    import pyarrow as pa

    texts = ["quantity", "title", "unit", "better", "transport"]
    numbers = ["difference", "difference_low", "difference_high"]
    numbers += ["percent", "percent_low", "percent_high"]
    return pa.schema(
        [(name, pa.string()) for name in texts]
        + [("n", pa.int64())]
        + [(name, pa.float64()) for name in ["mean", "ci_low", "ci_high"]]
        + [("at_least", pa.bool_())]
        + [(name, pa.float64()) for name in numbers]
        + [("finding", pa.string())]
    )


def _runs_in(manifest: dict[str, Any]) -> frozenset[str]:
    """The runs that a manifest lists, and its seeds: some experiments have no runs."""
    seeds = (f"seed {seed}" for seed in manifest["seeds"])
    return frozenset([*(str(run["folder"]) for run in manifest["runs"]), *seeds])


def _hash_of(path: Path) -> str | None:
    """What tells a file's content from another; `None` if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _intact(path: Path, checksum: str) -> bytes:
    """The content of a file.

    Raises:
        OSError: It cannot be read.
        HopflowError: It is not what was written.
    """
    content = path.read_bytes()
    if (found := native().checksum(content)) != checksum:
        raise HopflowError(
            f"{path} is damaged: its checksum is {found}, it was written with {checksum}; the call "
            "that made it makes damaged runs again"
        )
    return content


def _summary_row(quantity: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    difference = entry["difference"] or {}
    percent = difference.get("percent") or {}
    return {
        "quantity": quantity["key"],
        **{name: quantity[name] for name in ("title", "unit", "better")},
        **{name: entry[name] for name in ("transport", "n", "mean", "ci_low", "ci_high")},
        "at_least": entry["at_least"],
        "difference": difference.get("mean"),
        "difference_low": difference.get("ci_low"),
        "difference_high": difference.get("ci_high"),
        "percent": percent.get("mean"),
        "percent_low": percent.get("ci_low"),
        "percent_high": percent.get("ci_high"),
        "finding": difference.get("finding"),
    }


def _html_row(quantity: dict[str, Any]) -> str:
    cells = "".join(f"<td>{html.escape(it['text'])}</td>" for it in quantity["transports"])
    return f"<tr><th>{html.escape(quantity['heading'])}</th>{cells}</tr>"
