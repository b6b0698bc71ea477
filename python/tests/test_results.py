"""Result folders as tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hopflow


def test_a_table_spans_all_runs(results: hopflow.Results) -> None:
    circuits = results.circuits
    assert circuits.column_names[:3] == ["transport", "network", "seed"]
    runs = set(zip(*(circuits.column(n).to_pylist() for n in (0, 2)), strict=True))
    assert runs == {("vanilla", 1), ("vanilla", 2), ("backtap", 1), ("backtap", 2)}
    assert results.downloads.num_rows > 0
    assert results.samples.num_rows == results.table("samples").num_rows > 0
    assert "links" in results.tables


def test_metrics_of_layers_are_a_table(tiny: dict[str, Any], tmp_path: Path) -> None:
    scenario = {**tiny, "record": {"hops": "100 ms"}}
    results = hopflow.run(scenario, out=tmp_path / "metrics", progress=False)
    metrics = results.metrics
    columns = ["transport", "network", "seed", "circuit", "hop", "t_s", "metric", "value"]
    assert metrics.column_names == columns
    assert set(metrics.column("transport").to_pylist()) == {"backtap"}
    units = results.table("metric_units").to_pylist()
    found = {(row["metric"], row["unit"]) for row in units}
    expected = {("base_round_trip", "seconds"), ("round_trip", "seconds"), ("waiting", "cells")}
    assert found == expected
    assert set(metrics.column("metric").to_pylist()) == {name for name, _ in expected}


def test_a_table_that_no_run_has_is_told_with_those_that_there_are(
    results: hopflow.Results,
) -> None:
    with pytest.raises(hopflow.HopflowError, match=r"no table 'latencies'; allowed: circuits, "):
        results.table("latencies")
    with pytest.raises(hopflow.HopflowError, match="there are no values"):
        _ = results.values


def test_the_summary_has_intervals_and_differences(results: hopflow.Results) -> None:
    rows = results.summary.to_pylist()
    goodput = [row for row in rows if row["quantity"] == "bulk_goodput"]
    assert [row["transport"] for row in goodput] == ["vanilla", "backtap"]
    assert all(row["n"] == 2 and row["ci_low"] <= row["mean"] <= row["ci_high"] for row in goodput)
    assert goodput[0]["difference"] is None and goodput[0]["finding"] is None
    assert not goodput[0]["at_least"]
    difference = goodput[1]["mean"] - goodput[0]["mean"]
    assert goodput[1]["difference"] == pytest.approx(difference)


def test_a_folder_can_be_opened_again(results: hopflow.Results, tmp_path: Path) -> None:
    assert hopflow.open(str(results.folder)).manifest == results.manifest
    with pytest.raises(hopflow.HopflowError, match=r"manifest\.json"):
        hopflow.open(tmp_path)


def test_a_damaged_table_is_refused_and_made_again(tiny: dict[str, Any], tmp_path: Path) -> None:
    made = hopflow.run(tiny, seeds=1, out=tmp_path, progress=False)
    run, downloads = made.manifest["runs"][0], made.downloads
    file = tmp_path / run["folder"] / run["files"]["downloads"]["name"]
    content = bytearray(file.read_bytes())
    content[len(content) // 4] ^= 1
    file.write_bytes(content)
    with pytest.raises(hopflow.HopflowError, match=r"downloads\.parquet is damaged: its checksum"):
        _ = made.downloads
    again = hopflow.run(tiny, seeds=1, out=tmp_path, progress=False)
    assert again.downloads == downloads


def test_values_are_those_of_the_call(tmp_path: Path) -> None:
    name = "predictor-theorem1"
    first = hopflow.reproduce(name, seeds=2, out=tmp_path, progress=False)
    assert first.manifest["command"] == f"hopflow.reproduce({name!r}, seeds=2)"
    again = hopflow.reproduce(name, seeds=2, out=tmp_path, progress=False)
    assert first.values == again.values and first.report.is_file()
    later = hopflow.reproduce(name, seeds=3, out=tmp_path, progress=False)
    for asked in ("values", "report", "manifest"):
        with pytest.raises(hopflow.HopflowError, match="holds other runs by now, of a later call"):
            getattr(first, asked)
    assert later.values == hopflow.open(tmp_path).values


def test_values_are_not_those_before_a_call_that_did_not_finish(tmp_path: Path) -> None:
    made = hopflow.reproduce("predictor-theorem1", seeds=2, out=tmp_path, progress=False)
    manifest = {**made.manifest, "missing": 3}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    opened = hopflow.open(tmp_path)
    for asked in ("values", "report"):
        with pytest.raises(hopflow.HopflowError, match="did not finish; runs that are missing: 3"):
            getattr(opened, asked)


def test_notebooks_show_a_table(results: hopflow.Results) -> None:
    shown = results._repr_html_()
    assert shown.startswith("<table>") and "backtap" in shown and "[" in shown
