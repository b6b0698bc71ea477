"""Reading what observers saw, from tables that are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hopflow._errors import HopflowError
from hopflow.observer.traces import read


def written(folder: Path, times: list[float]) -> Path:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ones = [1] * len(times)
    channels = ("up_packets", "up_bytes", "down_packets", "down_bytes")
    tables: dict[str, dict[str, Any]] = {
        "traces": {"circuit": [0] * len(times), "place": ["entry"] * len(times), "t_s": times}
        | dict.fromkeys(channels, ones),
        "circuits": {"circuit": [0], "class": ["web"]},
        "visits": {"circuit": [0], "page": [7], "instance": [3], "start_s": [times[0] + 0.006]},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    run = {"transport": "some", "network": 1, "folder": "."}
    files = {name: {"name": f"{name}.parquet"} for name in tables}
    (folder / "manifest.json").write_text(json.dumps({"runs": [{**run, "files": files}]}))
    return folder


def test_bins_need_not_be_whole_milliseconds_nor_all_have_packets(tmp_path: Path) -> None:
    (found,) = read(written(tmp_path, [15.0, 15.005, 15.0125]))
    assert found.bin_s == pytest.approx(0.0025)
    assert found.traces["entry"][0, 0].tolist() == [1, 0, 1, 0, 0, 1]
    assert (found.visits.begin.tolist(), found.visits.load.tolist()) == ([2], [3])


def test_traces_of_one_bin_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HopflowError, match="one bin"):
        read(written(tmp_path, [15.0]))
