"""The summary and the report of a campaign."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hopflow
from hopflow import Campaign
from hopflow.campaign.stopping import interval

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
