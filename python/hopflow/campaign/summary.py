"""The numbers of a campaign, over all its runs: computed by DuckDB, so that many fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopflow._errors import HopflowError
from hopflow.campaign.definition import quantities
from hopflow.campaign.results import CampaignResults
from hopflow.campaign.stopping import width_factor
from hopflow.campaign.storage import file_system

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]


def rows(results: CampaignResults) -> list[Row]:
    """A row per point, transport and quantity that a run has, in the order of these.

    Means are over networks; a difference is taken on the networks that both transports have.

    Raises:
        HopflowError: No run could be made.
    """
    manifest = results.manifest
    if not results.has_runs:
        raise HopflowError(f"{results.url} has no runs; the same campaign makes them")
    alpha = 1.0 - manifest["confidence"]
    columns = [parameter["column"] for parameter in results.about["parameters"]]
    found = _query(results, columns, manifest["baseline"])
    return [_row(line, columns, manifest["baseline"], alpha) for line in found]


def _query(results: CampaignResults, columns: list[str], baseline: str) -> list[tuple[Any, ...]]:
    import duckdb

    files = f"{results.path()}/**/*.parquet"
    with duckdb.connect() as connection:
        if "://" in results.url:
            system, _ = file_system(results.url)
            connection.register_filesystem(system)
        # Each of many small files costs a thread a wait for the disk.
        connection.execute("set preserve_insertion_order = false")
        parameters = "".join(f'"{column}", ' for column in columns)
        names = ", ".join(f'"{name}"' for name in quantities())
        query = f"""
            with wide as (
                select point, {parameters} transport, network, {names}
                from read_parquet($files, hive_partitioning = true,
                                  hive_types = {{'point': varchar}})
            ),
            long as (unpivot wide on {names} into name quantity value value),
            base as (select point, network, quantity, value from long where transport = $baseline)
            select long.point, {parameters} transport, long.quantity,
                   count(*), avg(long.value), stddev_samp(long.value),
                   count(base.value), avg(long.value - base.value),
                   stddev_samp(long.value - base.value), avg(base.value)
            from long left join base using (point, network, quantity)
            group by all order by all
        """
        given = {"files": files, "baseline": baseline}
        found: list[tuple[Any, ...]] = connection.execute(query, given).fetchall()
    return found


def _row(line: tuple[Any, ...], columns: list[str], baseline: str, alpha: float) -> Row:
    point, *values = line[: 1 + len(columns)]
    transport, quantity, n, mean, spread, pairs, difference, apart, base = line[1 + len(columns) :]
    compared = transport != baseline and pairs > 0
    return {
        "point": point,
        **dict(zip(columns, values, strict=True)),
        "transport": transport,
        "quantity": quantity,
        "networks": n,
        "mean": mean,
        "half_width": _half(n, spread, alpha),
        "pairs": pairs if compared else None,
        "difference": difference if compared else None,
        "difference_half_width": _half(pairs, apart, alpha) if compared else None,
        "baseline": base if compared else None,
    }


def percent(row: Row) -> float | None:
    """The difference in percent of the baseline's mean; `None` unless that is above zero."""
    difference, base = row["difference"], row["baseline"]
    if difference is None or base is None or base <= 0.0:
        return None
    share: float = 100.0 * difference / base
    return share


def _half(n: int, spread: float | None, alpha: float) -> float | None:
    """Half the width of the confidence sequence; `None` while nothing is known."""
    if n < 2 or spread is None:
        return None
    half = spread * width_factor(n, alpha)
    return half if half < float("inf") else None


def summary(results: CampaignResults) -> pa.Table:
    """The rows as a table."""
    import pyarrow as pa

    numbers = ["mean", "half_width", "difference", "difference_half_width", "baseline"]
    types = {"double": pa.float64(), "int64": pa.int64(), "bool": pa.bool_(), "text": pa.string()}
    columns = [(it["column"], types[it["type"]]) for it in results.about["parameters"]]
    schema = pa.schema(
        [("point", pa.string()), *columns, ("transport", pa.string()), ("quantity", pa.string())]
        + [(name, pa.int64()) for name in ("networks", "pairs")]
        + [(name, pa.float64()) for name in numbers]
    )
    return pa.Table.from_pylist(rows(results), schema=schema)
