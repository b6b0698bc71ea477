"""Chunks: the runs of one transport at one point over a few networks, which share their files.

A chunk's name has the hash of what its runs are made from, so that nobody writes two contents under
one name. A worker makes a chunk alone, and writes it itself.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopflow._binding import native
from hopflow._errors import HopflowError
from hopflow.campaign.definition import quantities
from hopflow.campaign.points import contents
from hopflow.campaign.storage import Store

if TYPE_CHECKING:
    import pyarrow as pa

RUNS = "runs"
"""The table with a row per run; its file is written last, and says that a chunk is complete."""


@dataclass(frozen=True)
class Order:
    """A chunk to be made.

    Attributes:
        text: The scenario, as TOML.
        transport: The label of the transport.
        first: The first network.
        count: Number of networks.
        content: The hash of what its runs are made from.
        points: The points that it is of: their names, and their values by column. Runs in which a
            varied key plays no part are the same at several points, and made once.
        columns: The types of these values.
    """

    text: str
    transport: str
    first: int
    count: int
    content: str
    points: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]
    columns: tuple[tuple[str, str], ...]

    @property
    def kind(self) -> tuple[str, str]:
        """What chunks that take about as long have in common: roughly, and more closely."""
        return self.transport, self.points[0][0]

    @property
    def about(self) -> str:
        """What it is, for people."""
        return f"{self.transport} at {', '.join(point for point, _ in self.points)}"

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.count

    @property
    def seeds(self) -> str:
        """Its seeds, for people."""
        last = self.first + self.count - 1
        return f"seed {last}" if self.count == 1 else f"seeds {self.first} to {last}"

    def file(self, table: str, point: str) -> str:
        """The name of the file of a table."""
        return file_name(table, point, self.transport, self.first, self.count, self.content)


@dataclass(frozen=True)
class Setting:
    """How all chunks of a campaign are made.

    Attributes:
        store: Where they are written.
        build: The build of hopflow, and of what writes the files.
        tables: The tables that are kept.
    """

    store: Store
    build: str
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Runs:
    """Runs of a transport, as the compiled part reads it."""

    transport: str
    seeds: tuple[int, ...]
    tables: tuple[str, ...]
    build: str


@dataclass(frozen=True)
class Made:
    """What a worker tells of an order; its results are in files.

    Attributes:
        runs: Number of runs.
        seconds: Time that it took.
        simulated: Time of that within the simulator.
        failures: Seeds of runs that failed, each with the reason.
    """

    runs: int
    seconds: float
    simulated: float
    failures: tuple[tuple[int, str], ...]


def file_name(table: str, point: str, transport: str, first: int, count: int, content: str) -> str:
    """The name of the file of a chunk's table, from the campaign's folder on."""
    identity = f"{content}/{transport}/{first}/{count}"
    digest = hashlib.blake2b(identity.encode(), digest_size=8).hexdigest()
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", transport)[:40]
    # Readers take files that begin with `_` or `.` for hidden ones, and labels may begin so.
    return f"data/{table}/point={point}/of-{plain}-{first:06}-{digest}.parquet"


@lru_cache(maxsize=1)
def identity() -> str:
    """Identifies what decides the bits of results and files: this build, and the writer."""
    import pyarrow

    module = native()
    return f"{module.build(Path(module.__file__))}-pyarrow-{pyarrow.__version__}"


def make(
    order: Order,
    setting: Setting,
    stop: threading.Event | None = None,
    end: float | None = None,
) -> Made:
    """Makes the runs of a chunk and writes its files.

    Args:
        order: The chunk.
        setting: How it is made.
        stop: Set when the user wants no more.
        end: A time as `time.time` tells it: what waits for memory then is not begun any more.

    Raises:
        TimeIsOver: It was not begun by the end.
        HopflowError: This is another build, files that the scenario names are others here, or the
            store cannot be written.
    """
    check_build(setting.build)
    begun = time.perf_counter()
    _check_content(order, setting.build)
    seeds = range(order.first, order.first + order.count)
    wanted = Runs(order.transport, tuple(seeds), setting.tables, setting.build)
    made = list(native().run_each((True, order.text), wanted, until(stop, end)))
    # The runs read files anew.
    _check_content(order, setting.build)
    runs = [json.loads(about) for about, _ in made]
    tables = {
        table: _together(content for _, kept in made for name, content in kept if name == table)
        for table in setting.tables
        if any(name == table for _, kept in made for name, _ in kept)
    }
    tables[RUNS] = _rows(runs)
    for point, values in order.points:
        for table, rows in tables.items():
            content = _file(_with_parameters(rows, values, order.columns))
            setting.store.write(order.file(table, point), content)
    return Made(
        runs=len(runs),
        seconds=time.perf_counter() - begun,
        simulated=sum(run.get("wall_seconds", 0.0) for run in runs),
        failures=tuple((run["key"]["seed"], run["error"]) for run in runs if "error" in run),
    )


def _check_content(order: Order, build: str) -> None:
    """Refuses files that are not those of the campaign."""
    if contents(order.text, build).get(order.transport) != order.content:
        raise HopflowError(
            f"{order.transport}: the scenario has another content here: a file that it names has "
            "changed, or is not the same on all machines"
        )


def check_build(build: str) -> None:
    """Refuses another build.

    Raises:
        HopflowError: This is another.
    """
    if build != identity():
        raise HopflowError(
            f"this worker has another build of hopflow ({identity()}) than the campaign ({build}), "
            "and its results may differ; allowed is the same package on all machines"
        )


class TimeIsOver(Exception):
    """What was to be made was not begun in time."""


def until(stop: threading.Event | None, end: float | None = None) -> Callable[..., None]:
    """Watches runs, and ends them when the user wants no more, or if none is begun by the end."""

    def watch(finished: float, _planned: float, passed: float, _all: float) -> None:
        if stop is not None and stop.is_set():
            raise KeyboardInterrupt
        if end is not None and time.time() >= end and finished == 0 and passed == 0:
            raise TimeIsOver

    return watch


def _together(files: Iterable[bytes]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.concat_tables([pq.ParquetFile(pa.BufferReader(file)).read() for file in files])


def _rows(runs: Iterable[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    names = list(quantities())
    schema = pa.schema(
        [("transport", pa.string()), ("network", pa.uint32()), ("seed", pa.uint64())]
        + [(name, pa.string()) for name in ("run", "results", "error")]
        + [(name, pa.float64()) for name in names]
    )
    rows = []
    for run in runs:
        key = run["key"]
        row = {name: key[name] for name in ("transport", "network", "seed")}
        row |= {"run": key["content"], "error": run.get("error"), "results": run.get("results")}
        rows.append(row | dict(zip(names, run.get("measures", ()), strict=False)))
    return pa.Table.from_pylist(rows, schema=schema)


def _with_parameters(
    rows: pa.Table, values: Iterable[tuple[str, Any]], columns: Iterable[tuple[str, str]]
) -> pa.Table:
    import pyarrow as pa

    types = {"double": pa.float64(), "int64": pa.int64(), "bool": pa.bool_(), "text": pa.string()}
    kinds = dict(columns)
    for number, (name, value) in enumerate(values):
        column = pa.repeat(pa.scalar(value, types[kinds[name]]), len(rows))
        rows = rows.add_column(number, pa.field(name, types[kinds[name]]), column)
    return rows


def _file(rows: pa.Table) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content
