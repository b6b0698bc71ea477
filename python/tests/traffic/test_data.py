"""Reading the published files."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from hopflow import HopflowError
from hopflow.cli import main
from hopflow.traffic import data
from hopflow.traffic.markov import Markov
from hopflow.traffic.privcount import INBOUND, Histogram
from hopflow.traffic.step import Step, split

HEAD = """<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="size" attr.type="string" for="node" id="d0"/>
<key attr.name="theirsize" attr.type="string" for="node" id="d1"/>
<key attr.name="oursize" attr.type="string" for="node" id="d2"/><graph>"""


def _graph(folder: Path, name: str, nodes: dict[str, dict[str, int]]) -> Path:
    inner = "".join(
        f'<node id="{node}">'
        + "".join(f'<data key="{key}">{value}</data>' for key, value in values.items())
        + "</node>"
        for node, values in nodes.items()
    )
    path = folder / name
    path.write_bytes(lzma.compress((HEAD + inner + "</graph></graphml>").encode()))
    return path


def test_a_page_has_its_objects_and_what_is_posted(tmp_path: Path) -> None:
    nodes = {
        "start": {},
        "session7_transferA_GET_page": {"d0": 900},
        "session7_transferB_GET_object0": {"d0": 40},
        "session7_transferB_POST_object0": {"d0": 70},
        "session7_transferB_GET_object1": {"d0": 50},
        "session7_pause_sync": {},
    }
    path = _graph(tmp_path, "http.graphml.xml.xz", nodes)
    assert data.read_web(path) == [Step(900, (40, 50), (70,))]
    with pytest.raises(HopflowError, match=r"http\.graphml\.xml\.xz holds no transfers; allowed"):
        data.read_bulk(path)


def test_a_group_of_transfers_has_what_is_fetched_and_what_is_given(tmp_path: Path) -> None:
    nodes = {
        "transfer_0001_000_pause": {},
        "transfer_0001_000": {"d1": 1000, "d2": 0},
        "transfer_0001_001": {"d1": 2000, "d2": 30},
    }
    path = _graph(tmp_path, "bulk.graphml.xml.xz", nodes)
    assert data.read_bulk(path) == [Step(1000, (2000,), (30,))]


def test_no_session_is_in_two_parts_of_a_split(steps: list[Step]) -> None:
    parts = split(steps)
    sizes = [len(part) for part in (parts.train, parts.valid, parts.test)]
    assert sizes == [210, 45, 45]
    assert sorted(map(hash, parts.train + parts.valid + parts.test)) == sorted(map(hash, steps))
    assert split(steps) == parts


def test_a_folder_without_the_files_is_told_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(HopflowError, match=rf"{data.HTTP_FILE}.*{tmp_path}.*HOPFLOW_DATA"):
        data.load(tmp_path)


def test_the_table_without_data_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HOPFLOW_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["reproduce", "traffic-table", "--out", str(tmp_path / "out")]) == 2
    assert "HOPFLOW_DATA" in capsys.readouterr().err


def test_the_published_files_hold_what_their_authors_say(published: Path) -> None:
    found = data.load(published)
    web = found["web"]
    assert len(web) == 1000
    assert sum(len(page.objects) for page in web) == 89_313
    assert sum(len(page.uploads) for page in web) == 637
    assert len(found["bulk"]) == 100


def test_the_markov_models_carry_mostly_data_to_the_client(published: Path) -> None:
    model = Markov.read(published)
    rng = np.random.default_rng(1)
    packets = [model.packets.count(20_000, rng) for _ in range(200)]
    assert sum(it["-"] for it in packets) > 5 * sum(it["+"] for it in packets)
    circuits = model.sample(5, rng)
    assert all(circuit.first > 0 for circuit in circuits)


def test_tallies_have_shares_that_sum_up_to_one(published: Path) -> None:
    path = published / data.TALLIES_FILE
    tally = Histogram.read(path, INBOUND)
    assert tally.shares.sum() == pytest.approx(1.0)
    assert list(tally.shares_of([5.0, 3000.0, 3000.0, 1e9])) == [0.25, 0.5, 0.0, 0.0, 0.25]


def test_what_is_no_tally_is_told(tmp_path: Path) -> None:
    path = tmp_path / "tallies.json"
    path.write_text("{}")
    with pytest.raises(HopflowError, match=r"tallies\.json cannot be read.*ExitStreamInbound"):
        Histogram.read(path, INBOUND)
    bins = [[1, 2048, 5], [2048, 16384, 4], [16384, float("inf"), 1]]
    path.write_text(json.dumps({INBOUND: {"bins": bins, "sigma": 1}}))
    tally = Histogram.read(path, INBOUND)
    assert tally.bins == ["below 2 KiB", "to 16 KiB", "above"]
    assert list(tally.shares) == [0.5, 0.4, 0.1]
