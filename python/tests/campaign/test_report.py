"""The summary and the report of a campaign."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hopflow
from hopflow import Campaign
from hopflow.campaign import chunks
from hopflow.campaign.curves import heat_maps
from hopflow.campaign.definition import quantities
from hopflow.campaign.report import _percent
from hopflow.campaign.stopping import interval
from hopflow.campaign.view import View

duckdb = pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def made(
    small: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> hopflow.CampaignResults:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    vary = {"network.bucket.rate": "500 kB/s..4 MB/s:log4", "circuits[0].count": [1, 2]}
    precision = {"bulk_ttlb_median": "80 %", "latency": "80 %"}
    out = tmp_path_factory.mktemp("campaign") / "made"
    campaign = Campaign(small, vary=vary, precision=precision, networks={"first": 6}, out=out)
    return campaign.run(progress=False)


def test_the_summary_is_taken_over_networks(made: hopflow.CampaignResults) -> None:
    rows = made.runs.to_pylist()
    of = {
        label: {
            row["network"]: row["latency"]
            for row in rows
            if row["transport"] == label
            and row["circuits_0_count"] == 2
            and row["network_bucket_rate_bytes_per_s"] == 1e6
        }
        for label in ("vanilla", "backtap")
    }
    pairs = [of["backtap"][network] - of["vanilla"][network] for network in sorted(of["vanilla"])]
    expected = interval(pairs, 0.05)
    (found,) = (
        row
        for row in made.summary.to_pylist()
        if row["quantity"] == "latency"
        and row["transport"] == "backtap"
        and row["circuits_0_count"] == 2
        and row["network_bucket_rate_bytes_per_s"] == 1e6
    )
    assert found["pairs"] == expected.n
    assert found["difference"] == pytest.approx(expected.mean)
    assert found["difference_half_width"] == pytest.approx(expected.half_width)


def test_the_report_shows_curves_heat_maps_and_what_matters(made: hopflow.CampaignResults) -> None:
    page = made.report.read_text()
    for text in (
        "Bulk: time to last byte, median",
        "Latency of cells in the overlay, mean",
        "Differences, network by network",
        "in percent of vanilla",
        "Which parameters matter",
        "Points and their runs",
        made.manifest["results"],
        *(point["point"] for point in made.manifest["points"]),
    ):
        assert text in page
    plots = {path.name for path in (made.report.parent / "plots").glob("*.svg")}
    assert {"latency-0.svg", "latency-1.svg", "bulk-ttlb-median-0.svg"} <= plots


def test_a_lost_point_hides_nothing_and_counts_its_own_runs(
    small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = Campaign(
        small,
        vary={"circuits[0].count": [1, 2]},
        precision={"latency_p95": "80 %"},
        networks={"first": 6, "most": 6},
        confidence=0.999,
        out=tmp_path / "out",
    )
    lost, other = campaign.points
    true = chunks.native()

    class Defective:
        __file__ = true.__file__

        def run_each(self, scenario: Any, wanted: chunks.Runs, watch: Any) -> Any:
            for about, tables in true.run_each(scenario, wanted, watch):
                key = json.loads(about)["key"]
                failed = json.dumps({"key": key, "error": "no node today"})
                yield (failed, []) if key["seed"] == 2 else (about, tables)

    monkeypatch.setattr(chunks, "native", Defective)

    def failing(order: chunks.Order, **given: Any) -> chunks.Made:
        if order.transport == "backtap" and order.points[0][0] == lost.id:
            raise OSError("no space left on device")
        return chunks.make(order, **given)

    monkeypatch.setattr("hopflow.campaign.campaign.make", failing)
    results = campaign.run(progress=False)
    networks = {point["point"]: point["networks"] for point in results.manifest["points"]}
    assert networks[lost.id] == {"vanilla": 6, "backtap": 0}
    assert networks[other.id] == {"vanilla": 6, "backtap": 6}
    assert results.runs.num_rows == 18
    failures = results.manifest["failures"]
    found = [(it["point"], it["transport"], it["seed"]) for it in failures]
    assert found == [(lost.id, "vanilla", 2), (other.id, "vanilla", 2), (other.id, "backtap", 2)]
    page = results.report.read_text()
    about = {name: one["about"].rstrip(".") for name, one in quantities().items()}
    assert about["latency_p95"] in page and about["bulk_goodput"] not in page
    assert "99.9 % confidence sequences" in page


@pytest.mark.parametrize(("baseline", "shown"), [(0.2, True), (-0.2, False), (0.0, False)])
def test_percentages_are_of_baselines_above_zero(baseline: float, shown: bool) -> None:
    pytest.importorskip("matplotlib")
    known: dict[str, Any] = {"transport": "backtap", "quantity": "fairness", "baseline": 0.2}
    known |= {"difference": 0.3, "difference_half_width": 0.1}
    rows = [{"point": f"p{a}{b}", "a": a, "b": b, **known} for a in (1, 2) for b in (1, 2)]
    rows[-1]["baseline"] = baseline
    cell = _percent(rows[-1])
    assert (cell is not None) == shown
    if shown:
        assert cell.form == {"figures": "+150.0 ± 50.0"}
    manifest = {"transports": ["vanilla", "backtap"], "baseline": "vanilla"}
    view = View(rows, manifest, {"a": "int64", "b": "int64"}, {"a": "a", "b": "b"})
    assert len(list(heat_maps(view, "fairness"))) == shown


def test_a_surrogate_says_which_parameter_matters() -> None:
    pytest.importorskip("sklearn")
    from hopflow.campaign.sensitivity import sensitivity

    random = np.random.default_rng(3)
    settings = random.uniform(1.0, 9.0, size=(40, 3))
    values = np.sin(settings[:, 0] / 3.0) + 0.2 * settings[:, 1] + 0.01 * random.normal(size=40)
    found = sensitivity(settings, values, [False] * 3)
    assert found is not None and found.error < 0.15
    # The variances of the terms over the box are 0.0577, 0.2135 and zero.
    assert found.first[0] == pytest.approx(0.213, abs=0.03)
    assert found.first[1] == pytest.approx(0.787, abs=0.03)
    assert abs(found.total[2]) < 0.02
    assert sensitivity(settings[:5], values[:5], [False] * 3) is None
