"""Campaigns on this machine: runs, data sets, stopping."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hopflow
from hopflow import Campaign, HopflowError
from hopflow.campaign import chunks
from hopflow.campaign.definition import Networks
from hopflow.campaign.storage import Store
from hopflow.campaign.watch import CampaignProgress

Content = Callable[[str | Path], dict[str, str]]

VARY = {"network.bucket.rate": ["1 MB/s", "2 MB/s"], "circuits[0].count": [2, 3]}
STOP = {"precision": {"bulk_ttlb_median": "10 %"}, "networks": {"first": 4, "most": 40}}


@pytest.fixture(scope="module")
def made(
    small: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> hopflow.CampaignResults:
    out = tmp_path_factory.mktemp("campaign") / "made"
    return Campaign(small, vary=VARY, out=out, **STOP).run(report=False, progress=False)


def test_a_campaign_is_extended_by_networks_and_precision(
    small: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = Campaign(small, networks=4, out=out)
    assert first.definition.networks == Networks(4, 4, batch=4)
    first.run(report=False, progress=False)
    kept = {path: path.stat().st_mtime_ns for path in out.glob("data/runs/*/*.parquet")}
    # Alone it would have a batch of 7.
    more = Campaign(small, networks=7, out=out)
    assert more.definition.networks == Networks(8, 8, batch=4)
    assert more.run(report=False, progress=False).runs.num_rows == 16
    asked = {"precision": STOP["precision"], "networks": {"first": 6, "most": 10}}
    precise = Campaign(small, out=out, **asked)
    assert precise.definition.networks == Networks(8, 8, batch=4)
    precise.run(report=False, progress=False)
    assert Campaign(small, precision=STOP["precision"], out=out).definition.networks.batch == 4
    assert kept == {path: path.stat().st_mtime_ns for path in kept}
    other = Campaign(small, networks={"first": 6, "most": 6, "batch": 3}, out=out)
    with pytest.raises(HopflowError, match="files of another number of networks"):
        other.run(report=False, progress=False)


def test_a_campaign_at_a_url_is_extended_by_networks(small: dict[str, Any]) -> None:
    pytest.importorskip("fsspec")
    url = "memory://extended"
    Campaign(small, networks=4, out=url).run(progress=False)
    assert Campaign(small, networks=7, out=url).run(progress=False).runs.num_rows == 16


def test_networks_are_added_until_differences_are_known(made: hopflow.CampaignResults) -> None:
    points = made.manifest["points"]
    assert len(points) == 4 and all(point["decided"] for point in points)
    for point in points:
        (found,) = point["differences"]
        assert found["half_width"] <= 0.1 * found["baseline"]
        assert found["networks"] == point["networks"]["backtap"] <= 40
    assert len({point["networks"]["vanilla"] for point in points}) > 1
    assert made.runs.num_rows == sum(sum(it["networks"].values()) for it in points)
    assert made.manifest["complete"] and made.manifest["failures"] == []


def test_the_runs_are_those_of_the_program(
    made: hopflow.CampaignResults, small: dict[str, Any], tmp_path: Path
) -> None:
    scenario = json.loads(json.dumps(small))
    scenario["network"]["bucket"]["rate"] = "2 MB/s"
    scenario["circuits"][0]["count"] = 3
    results = hopflow.run(scenario, seeds=4, out=tmp_path / "out", progress=False)
    rows = made.runs.to_pylist()
    found = {
        (row["transport"], row["seed"]): row["results"]
        for row in rows
        if row["circuits_0_count"] == 3 and row["network_bucket_rate_bytes_per_s"] == 2e6
    }
    for run in results.manifest["runs"]:
        assert found[run["transport"], run["seed"]] == run["results"]
    downloads = made.table("downloads")
    assert downloads.column_names[:5] == [
        "network_bucket_rate_bytes_per_s",
        "circuits_0_count",
        "transport",
        "network",
        "seed",
    ]


def test_the_same_call_repeats_nothing(
    made: hopflow.CampaignResults, small: dict[str, Any], content: Content
) -> None:
    before = content(made.url)
    told: list[CampaignProgress] = []
    again = Campaign(small, vary=VARY, out=made.url, **STOP)
    again.run(report=False, progress=told.append)
    assert all(now.planned == 0 for now in told)
    assert content(made.url) == before


def test_what_is_interrupted_goes_on_with_the_same_bits(
    made: hopflow.CampaignResults, small: dict[str, Any], tmp_path: Path, content: Content
) -> None:
    class Enough(Exception):
        pass

    def enough(now: CampaignProgress) -> None:
        if now.made > 8:
            raise Enough

    campaign = Campaign(small, vary=VARY, out=tmp_path / "out", **STOP)
    with pytest.raises(Enough):
        campaign.run(report=False, progress=enough)
    with pytest.raises(HopflowError, match="holds no data/manifest"):
        _ = hopflow.open_campaign(campaign.url).manifest
    with pytest.raises(HopflowError, match="the time is over"):
        campaign.run(report=False, progress=False, hours=1e-9)
    found = campaign.run(report=False, progress=False, cores=1)
    assert content(found.url) == content(made.url)


def test_others_extend_it_and_nothing_else_is_mixed_in(
    small: dict[str, Any], tmp_path: Path, content: Content
) -> None:
    def campaign(**options: Any) -> Campaign:
        asked: dict[str, Any] = {"vary": VARY, "networks": 2, "out": tmp_path / "out"}
        return Campaign(small, **{**asked, **options})

    first = campaign().run(report=False, progress=False)
    before = content(tmp_path / "out")
    rates = ["2 MB/s", "4 MB/s"]
    more = campaign(vary={**VARY, "network.bucket.rate": rates}, transports=["vanilla", "n23"])
    more.run(report=False, progress=False)
    after = content(tmp_path / "out")
    kept = {name for name in before if name.endswith(".parquet")}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    found = first.runs.group_by(["network_bucket_rate_bytes_per_s", "transport"]).aggregate([])
    assert found.num_rows == 2 + 3 + 2
    for options, message in [
        ({"vary": {"circuits[0].count": [2]}}, "a campaign over other parameters"),
        ({"tables": ["relays"]}, "keeps other tables"),
        ({"networks": {"first": 4, "most": 4, "batch": 1}}, "another number of networks"),
    ]:
        with pytest.raises(HopflowError, match=message):
            campaign(**options).run(report=False, progress=False)
    slow = {"vanilla": {"options": {"circuit-window": 200}}, "backtap": {}}
    with pytest.raises(HopflowError, match="the transport 'vanilla' with other options"):
        Campaign({**small, "transports": slow}, vary=VARY, networks=2, out=tmp_path / "out").run()
    other = Campaign({**small, "duration": "3 s"}, vary=VARY, networks=2, out=tmp_path / "out")
    with pytest.raises(HopflowError, match="another scenario of this name"):
        other.run(report=False, progress=False)


LOADS = """page,instance,time_us,size
1,1,0,500
1,1,100000,-{size}
"""


def visitors(small: dict[str, Any], file: Path) -> dict[str, Any]:
    (group,) = small["circuits"]
    workload = {"class": "web", "think": ["100 ms", "200 ms"], "replay": str(file)}
    return {**small, "circuits": [{**group, "workload": workload}]}


def test_a_file_that_changes_makes_another_campaign(small: dict[str, Any], tmp_path: Path) -> None:
    pages = tmp_path / "pages.csv"
    pages.write_text(LOADS.format(size=20_000))
    asked: dict[str, Any] = {"networks": 2, "out": tmp_path / "out"}
    scenario = visitors(small, pages)
    results = Campaign(scenario, **asked).run(report=False, progress=False)
    pages.write_text(LOADS.format(size=30_000))
    with pytest.raises(HopflowError, match="made from other files: one that the scenario names"):
        Campaign(scenario, **asked).run(report=False, progress=False)
    vary = {"circuits[0].count": [2]}
    with pytest.raises(HopflowError, match="a campaign over other parameters"):
        Campaign(scenario, vary=vary, **asked).run(report=False, progress=False)
    assert len(list((tmp_path / "out" / "requests").iterdir())) == 1
    assert results.runs.num_rows == 4
    # Who made runs of the old file makes those of the new one.
    other = Campaign(scenario, networks=2, out=tmp_path / "other")
    assert other.run(report=False, progress=False).manifest["complete"]
    pages.write_text(LOADS.format(size=20_000))
    Campaign(scenario, **asked).run(report=False, progress=False)
    assert results.runs.num_rows == 4


def test_a_file_that_changes_meanwhile_is_noticed(
    small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = tmp_path / "pages.csv"
    pages.write_text(LOADS.format(size=20_000))
    campaign = Campaign(visitors(small, pages), networks=2, out=tmp_path / "out")
    true, made = chunks.native(), []

    class Edited:
        """Somebody edits the file before the second chunk is made."""

        def __getattr__(self, name: str) -> Any:
            return getattr(true, name)

        def run_each(self, *given: Any) -> Any:
            if made:
                pages.write_text(LOADS.format(size=30_000))
            made.append(given)
            return true.run_each(*given)

    monkeypatch.setattr(chunks, "native", Edited)
    results = campaign.run(report=False, progress=False, cores=1)
    assert not results.manifest["complete"]
    assert results.runs.num_rows == 2


def test_a_folder_of_another_format_is_refused(small: dict[str, Any], tmp_path: Path) -> None:
    results = Campaign(small, networks=2, out=tmp_path).run(report=False, progress=False)
    about = {**results.about, "format": 1}
    (tmp_path / "campaign.json").write_text(json.dumps(about))
    with pytest.raises(HopflowError, match="a campaign of another format"):
        hopflow.open_campaign(tmp_path)
    with pytest.raises(HopflowError, match="holds another format"):
        Campaign(small, networks=2, out=tmp_path).run(report=False, progress=False)


@pytest.mark.parametrize(
    ("content", "problem"), [('{"format": 2, "na', "it is no JSON"), ("[]", "it holds '\\[\\]'")]
)
def test_a_damaged_folder_is_told(
    small: dict[str, Any], tmp_path: Path, content: str, problem: str
) -> None:
    results = Campaign(small, networks=2, out=tmp_path).run(report=False, progress=False)
    manifest, about = tmp_path / "data" / "manifest.json", tmp_path / "campaign.json"
    manifest.write_text(content)
    with pytest.raises(HopflowError, match=rf"data/manifest\.json is damaged: {problem}"):
        _ = results.manifest
    Campaign(small, networks=2, out=tmp_path).run(report=False, progress=False)
    assert results.manifest["complete"] and len(results.dictionary) > 1
    about.write_text(content)
    with pytest.raises(HopflowError, match=rf"campaign\.json is damaged: {problem}.*; allowed is"):
        hopflow.open_campaign(tmp_path)
    with pytest.raises(HopflowError, match=rf"campaign\.json is damaged: {problem}"):
        Campaign(small, networks=2, out=tmp_path).run(report=False, progress=False)


def test_a_folder_without_runs_is_told(small: dict[str, Any], tmp_path: Path) -> None:
    """Somebody may be about to make runs in it, so that it stays as it is."""

    class Enough(Exception):
        pass

    def enough(_: CampaignProgress) -> None:
        raise Enough

    first = Campaign(small, networks=2, out=tmp_path)
    with pytest.raises(Enough):
        first.run(report=False, progress=enough, cores=1)
    assert not list((tmp_path / "data").rglob("*.parquet"))
    slow = {"vanilla": {"options": {"circuit-window": 200}}, "backtap": {}}
    other = Campaign({**small, "transports": slow}, networks=2, out=tmp_path)
    with pytest.raises(HopflowError, match=r"No run was made in it: if nobody is at work there"):
        other.run(report=False, progress=False)
    first.run(report=False, progress=False)
    with pytest.raises(HopflowError, match="with other options") as refused:
        other.run(report=False, progress=False)
    assert "No run was made" not in str(refused.value)


def test_a_label_may_begin_with_a_line(small: dict[str, Any], tmp_path: Path) -> None:
    transports = {"_new": {"preset": "backtap"}, "vanilla": {}}
    campaign = Campaign({**small, "transports": transports}, networks=2, out=tmp_path)
    results = campaign.run(report=False, progress=False)
    assert set(results.runs["transport"].to_pylist()) == {"_new", "vanilla"}
    pandas = pytest.importorskip("pandas")
    assert len(pandas.read_parquet(results.path())) == 4


def test_of_different_campaigns_that_begin_together_one_gets_the_folder(
    small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has seen an empty folder before any writes to it."""
    together = threading.Barrier(2)
    names = Store.names

    def wait_then(store: Store, below: str) -> set[str]:
        found = names(store, below)
        if below == "":
            together.wait(30.0)
        return found

    monkeypatch.setattr(Store, "names", wait_then)

    def begin(scenario: dict[str, Any], counts: list[int]) -> str:
        campaign = Campaign(scenario, vary={"circuits[0].count": counts}, networks=1, out=out)
        try:
            campaign.run(report=False, progress=False)
        except HopflowError as error:
            return str(error)
        return ""

    longer = {**small, "duration": "3 s"}
    slow = {"vanilla": {"options": {"circuit-window": 200}}, "backtap": {}}
    with ThreadPoolExecutor(2) as threads:
        out = tmp_path / "same"
        assert list(threads.map(begin, [small, small], [[2], [3]])) == ["", ""]
        out = tmp_path / "other"
        told = list(threads.map(begin, [small, longer], [[2], [2]]))
        assert "" in told and any("another scenario of this name" in error for error in told)
        out = tmp_path / "transports"
        told = list(threads.map(begin, [small, {**small, "transports": slow}], [[2], [3]]))
        assert any("'vanilla' with other options" in error for error in told)
        assert len(list((out / "requests").iterdir())) == told.count("")


def test_what_no_run_tells_is_not_decided(
    small: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: dict[str, Any] = {"precision": {"web_ttlb_median": "5 %"}, "networks": {"first": 2}}
    results = Campaign(small, out=tmp_path, **asked).run(report=False, progress=None)
    (point,) = results.manifest["points"]
    assert point["networks"] == {"vanilla": 2, "backtap": 2}
    assert [one["decided"] for one in point["differences"]] == [False]
    assert point["decided"] is False
    assert "decided:" not in capsys.readouterr().err


def test_time_that_is_over_ends_no_runs_that_were_begun(
    small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(cores: int, seconds: float, count: int) -> hopflow.CampaignResults:
        now = [0.0]

        def timed(order: chunks.Order, **given: Any) -> chunks.Made:
            made = chunks.make(order, **given)
            now[0] += 1.0
            return made

        monkeypatch.setattr("hopflow.campaign.campaign.make", timed)
        monkeypatch.setattr(time, "time", lambda: now[0])
        vary = {"circuits[0].count": list(range(1, count + 1))}
        campaign = Campaign(small, vary=vary, networks=1, out=tmp_path / f"{count}-{seconds}")
        return campaign.run(report=False, progress=False, cores=cores, hours=seconds / 3600.0)

    # The last run ends when the time is over: nothing is left.
    assert run(1, 2.0, 1).manifest["complete"]
    with pytest.raises(HopflowError, match="the time is over"):
        run(1, 2.5, 2)
    files = list(tmp_path.glob("2-2.5/data/runs/*/*.parquet"))
    assert len(files) == 3


def test_what_waits_when_time_is_over_is_not_begun() -> None:
    chunks.until(None, time.time() + 60.0)(0, 1, 0.0, 1.0)
    late = chunks.until(None, time.time())
    late(0, 1, 0.5, 1.0)
    late(1, 2, 0.0, 1.0)
    with pytest.raises(chunks.TimeIsOver):
        late(0, 1, 0.0, 1.0)


def test_runs_in_which_a_key_plays_no_part_are_made_once(
    small: dict[str, Any], tmp_path: Path
) -> None:
    told: list[CampaignProgress] = []
    vary = {"transports.backtap.options.tolerance": ["10 ms", "20 ms", "30 ms"]}
    campaign = Campaign(small, vary=vary, networks=2, out=tmp_path / "out")
    results = campaign.run(report=False, progress=told.append)
    assert told[-1].planned == 2 + 3 * 2
    assert results.runs.num_rows == 2 * 3 * 2
    vanilla = [row["results"] for row in results.runs.to_pylist() if row["transport"] == "vanilla"]
    assert len(set(vanilla)) == 2


def test_a_failed_run_is_a_line_and_ends_nothing(
    small: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    true = chunks.native()

    class Defective:
        __file__ = true.__file__

        def run_each(self, scenario: Any, wanted: chunks.Runs, watch: Any) -> Any:
            for about, tables in true.run_each(scenario, wanted, watch):
                run = json.loads(about)
                if run["key"]["transport"] == "backtap" and run["key"]["seed"] == 2:
                    yield json.dumps({"key": run["key"], "error": "no node today"}), []
                else:
                    yield about, tables

    monkeypatch.setattr(chunks, "native", Defective)
    vary = {"circuits[0].count": [2, 3]}
    results = Campaign(small, vary=vary, networks=3, out=tmp_path).run(report=False)
    assert "backtap at p" in capsys.readouterr().err
    failures = results.manifest["failures"]
    assert [(it["transport"], it["seed"], it["error"]) for it in failures] == [
        ("backtap", 2, "no node today")
    ] * 2
    rows = results.runs.to_pylist()
    assert len(rows) == 12
    assert sum(row["error"] is not None for row in rows) == 2


def test_runs_that_do_not_fit_into_memory_are_not_made(
    small: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    campaign = Campaign(small, networks=2, out=tmp_path)
    monkeypatch.setenv("HOPFLOW_MEMORY", "1 MB")
    results = campaign.run(cores=2)
    assert not results.manifest["complete"]
    told = capsys.readouterr().err
    assert "a run needs about" in told
    assert "there is no report" in told and "has no runs" in told
    # Side by side they would not fit.
    monkeypatch.setenv("HOPFLOW_MEMORY", "100 MB")
    results = campaign.run(report=False, cores=2)
    assert results.manifest["complete"] and results.runs.num_rows == 4


def test_many_read_the_data_set_in_a_line(made: hopflow.CampaignResults) -> None:
    pandas = pytest.importorskip("pandas")
    count = made.runs.num_rows
    frame = pandas.read_parquet(made.path())
    assert len(frame) == count and {"point", "circuits_0_count"} <= set(frame.columns)
    duckdb = pytest.importorskip("duckdb")
    query = f"select count(*), count(distinct point) from '{made.path()}/**/*.parquet'"
    assert duckdb.sql(query).fetchall() == [(count, 4)]


def test_every_column_of_the_data_set_is_in_its_dictionary(made: hopflow.CampaignResults) -> None:
    for table in made.dictionary:
        described = [column["column"] for column in table["columns"]]
        found = made.table(table["table"]).column_names
        assert sorted(found) == sorted(described)
        assert all(column["about"] for column in table["columns"])


def test_it_lies_where_fsspec_says(small: dict[str, Any]) -> None:
    pytest.importorskip("fsspec")
    campaign = Campaign(small, vary={"circuits[0].count": [2]}, networks=2, out="memory://there")
    results = campaign.run(progress=False)
    assert results.runs.num_rows == 4
    assert hopflow.open_campaign("memory://there").manifest["complete"]
