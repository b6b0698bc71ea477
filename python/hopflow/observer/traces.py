"""Reading what observers saw."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopflow._errors import HopflowError

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]

CHANNELS = ("up_packets", "up_bytes", "down_packets", "down_bytes")
"""What is counted per bin, in the order of a trace's second axis."""

PLACES = ("entry", "exit")
"""Where observers are."""


@dataclass(frozen=True)
class Visits:
    """Visits of recorded pages, one per row.

    Attributes:
        circuit: Number of the circuit.
        page: Which page it was.
        load: Which recorded load of the page was played.
        begin: Bin of the first request; negative before recording began.
    """

    circuit: Numbers
    page: Numbers
    load: Numbers
    begin: Numbers


@dataclass(frozen=True)
class Watched:
    """What was seen in one run.

    Attributes:
        transport: The transport's label.
        network: Number of the sampled network.
        bin_s: Width of a bin, in seconds.
        traces: For each place what passed per bin, shape `(circuits, 4, bins)`; the second axis is
            `CHANNELS`.
        visits: Visits of recorded pages.
        bulk: Whether each circuit's user is one, shape `(circuits,)`.
    """

    transport: str
    network: int
    bin_s: float
    traces: dict[str, Floats]
    visits: Visits
    bulk: NDArray[np.bool_]

    @property
    def bins(self) -> int:
        """Bins of each trace."""
        return int(self.traces["entry"].shape[2])


def read(folder: Path) -> list[Watched]:
    """All runs of a result folder, by transport and network.

    Raises:
        HopflowError: The folder holds no results, or they have no traces.
    """
    return [_run(folder, run) for run in listed(folder)]


def listed(folder: Path) -> list[dict[str, Any]]:
    """What a result folder says of each of its runs, by transport and network.

    Raises:
        HopflowError: The folder holds no results.
    """
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HopflowError(f"{folder} holds no results: {error}") from error
    return sorted(manifest["runs"], key=lambda run: (run["transport"], int(run["network"])))


def _run(folder: Path, run: dict[str, Any]) -> Watched:
    tables = {name: table(folder, run, name) for name in ("traces", "circuits")}
    traces = tables["traces"]
    if not traces:
        raise HopflowError(
            f"the run {run['folder']} has no table `traces`; "
            'scenarios ask for it by [record] traces = "50 ms"'
        )
    ticks = np.rint(traces["t_s"] * 1e9).astype(np.int64)
    first, width = int(ticks.min()), int(np.gcd.reduce(np.diff(np.unique(ticks))))
    if width == 0:
        raise HopflowError(f"the run {run['folder']} has traces of one bin; needed are more")
    places = np.asarray(traces["place"])
    count, bins = len(tables["circuits"]["circuit"]), (int(ticks.max()) - first) // width + 1
    seen = {}
    for place in PLACES:
        mine = places == place
        seen[place] = np.zeros((count, len(CHANNELS), bins), np.float32)
        rows, columns = traces["circuit"][mine], (ticks[mine] - first) // width
        for number, channel in enumerate(CHANNELS):
            seen[place][rows, number, columns] = traces[channel][mine]

    def bin_of(seconds: Any) -> Numbers:
        return np.asarray((np.asarray(seconds) * 1e9 - first) // width, np.int64)

    bulk = np.asarray(tables["circuits"]["class"]) == "bulk"
    visits = table(folder, run, "visits")
    return Watched(
        transport=run["transport"],
        network=int(run["network"]),
        bin_s=width / 1e9,
        traces=seen,
        visits=Visits(
            circuit=np.asarray(visits.get("circuit", []), np.int64),
            page=np.asarray(visits.get("page", []), np.int64),
            load=np.asarray(visits.get("instance", []), np.int64),
            begin=bin_of(visits.get("start_s", [])),
        ),
        bulk=bulk,
    )


def table(folder: Path, run: dict[str, Any], name: str) -> dict[str, Any]:
    """The columns of a table of a run; empty where it has none."""
    import pyarrow.parquet as pq

    if name not in run["files"]:
        return {}
    table = pq.read_table(folder / run["folder"] / run["files"][name]["name"])
    return columns(table)


def columns(table: Any) -> dict[str, NDArray[Any]]:
    """The columns of an Arrow table."""
    return {
        name: np.asarray(table.column(name).to_numpy(zero_copy_only=False))
        for name in table.column_names
    }
