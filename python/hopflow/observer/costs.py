"""What users get: goodput of bulk circuits, times of cells, bytes and pages, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import hopflow
from hopflow.observer import score
from hopflow.observer.games import UNIT
from hopflow.observer.score import Doubles, Estimate, Resamples, Statistic
from hopflow.observer.traces import Numbers, columns

GOODPUT = "goodput of a bulk circuit (kB/s)"
LATENCY = "mean latency of a circuit's cells, median (s)"
FIRST_BYTE, VISIT = "time to first byte, median (s)", "first visit of a page, median (s)"

Costs = Mapping[str, Mapping[str, Estimate]]
"""Measures of performance with their intervals over circuits, by transport."""

Columns = Mapping[str, NDArray[Any]]
"""The columns of a table."""


@dataclass(frozen=True)
class Times:
    """How long something took, or for how long at least.

    Attributes:
        seconds: Until it ended, or until nobody looked any more.
        ended: Whether it ended.
        units: Whose it was, as `hopflow.observer.games.UNIT` says.
    """

    seconds: Doubles
    ended: NDArray[np.bool_]
    units: Numbers


def first_visits(visits: Columns, end_s: float, pause_s: float) -> Times:
    """How long the first visit of each user took.

    It is the same page at the same time under all transports. Later visits are not compared: who
    begins them, and when, depends on how long earlier ones took, so that users of slow circuits
    would be watched for a shorter time.

    A visit has ended if its user begins another, which is known of all that end a longest pause
    before the run does. They are watched until then: what took longer had not ended.

    Args:
        visits: The columns of the table `visits`, of one transport.
        end_s: When the run ends.
        pause_s: The longest pause between two visits.
    """
    order = np.lexsort([visits[name] for name in ("start_s", "circuit", "network")])
    users, begin, end = _units(visits)[order], visits["start_s"][order], visits["end_s"][order]
    changes = users[1:] != users[:-1]
    first, again = np.append(True, changes)[: len(users)], np.append(~changes, False)[: len(users)]
    horizon = end_s - pause_s - begin
    took = np.where(again, end - begin, np.inf)
    kept = first & (horizon > 0)
    ended = (took <= horizon)[kept]
    return Times(np.minimum(took, horizon)[kept], ended, users[kept])


def survival_median(times: Times) -> Statistic:
    """The time after which half have ended, by Kaplan and Meier; infinite if fewer are seen to.

    Kaplan and Meier, "Nonparametric estimation from incomplete observations", JASA 53, 1958.
    """
    order = np.lexsort([~times.ended, times.seconds])
    seconds, ended = times.seconds[order], times.ended[order]
    values, rank = np.unique(seconds, return_index=True)

    def statistic(weighted: Doubles) -> dict[str, Doubles]:
        mine = weighted[:, order]
        at_risk = np.cumsum(mine[:, ::-1], 1)[:, ::-1][:, rank]
        ends = np.add.reduceat(mine * ended, rank, axis=1)
        left = np.cumprod(1 - ends / np.maximum(at_risk, 1e-300), 1)
        half = left <= 0.5 + 1e-12
        return {"": np.where(half.any(1), values[half.argmax(1)], np.inf)}

    return statistic


def costs(folder: Path, transports: Sequence[str], end_s: float, pause_s: float) -> Costs:
    """What users of each transport get.

    `LATENCY` is the median over circuits, each with the mean over all its cells, those of the
    warm-up included. `FIRST_BYTE` is over the completed exchanges of web users: a user with more
    of them counts more often, and those that did not end are not counted.

    Args:
        folder: Where the results lie.
        transports: The transports' labels.
        end_s: When the runs end.
        pause_s: The longest pause between two visits of a user.

    Raises:
        HopflowError: The folder holds no results.
    """
    results = hopflow.Results(folder)
    tables = [columns(results.table(name)) for name in ("circuits", "downloads", "visits")]
    found = {}
    for label in transports:
        circuits, downloads, visits = (
            _rows(table, table["transport"] == label) for table in tables
        )
        bulk = _rows(circuits, circuits["class"] == "bulk")
        web = _rows(downloads, downloads["class"] == "web")
        heard = _rows(circuits, ~np.isnan(circuits["latency_mean_s"]))
        found[label] = {
            GOODPUT: _estimate(_mean(bulk["goodput_bytes_per_s"] / 1e3), _units(bulk)),
            LATENCY: _median(heard["latency_mean_s"], _units(heard)),
            FIRST_BYTE: _median(web["ttfb_s"], _units(web)),
            VISIT: _survival(first_visits(visits, end_s, pause_s)),
        }
    return found


def _mean(of: Doubles) -> Statistic:
    return lambda weighted: {"": weighted @ of / np.maximum(weighted.sum(1), 1e-300)}


def _median(of: Doubles, units: Numbers) -> Estimate:
    return _survival(Times(np.asarray(of, np.float64), np.ones(len(of), np.bool_), units))


def _survival(times: Times) -> Estimate:
    return _estimate(survival_median(times), times.units)


def _estimate(statistic: Statistic, units: Numbers) -> Estimate:
    return score.estimates([statistic], Resamples.of(units))[""]


def _units(table: Columns) -> Numbers:
    return np.asarray(table["network"], np.int64) * UNIT + np.asarray(table["circuit"], np.int64)


def _rows(table: Columns, which: NDArray[np.bool_]) -> Columns:
    return {name: column[which] for name, column in table.items()}
