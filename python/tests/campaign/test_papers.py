"""Paper experiments on a cluster: the same bits as on this machine."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hopflow
from hopflow import HopflowError, cli
from hopflow._binding import native
from hopflow.campaign import cli as campaign_cli
from hopflow.campaign import papers, pools
from hopflow.campaign.watch import CampaignProgress

distributed = pytest.importorskip("distributed")

QUICK = "predictor-table1"
"""An experiment that needs no data, with short runs."""


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> hopflow.Results:
    """The experiment as this machine makes it."""
    out = tmp_path_factory.mktemp("papers") / "here"
    return hopflow.reproduce(QUICK, seeds=1, out=out, progress=False)


def runs(results: hopflow.Results) -> list[tuple[str, int, str]]:
    return [(run["transport"], run["seed"], run["results"]) for run in results.manifest["runs"]]


def values(results: hopflow.Results) -> bytes:
    return (results.folder / "values.csv").read_bytes()


def test_a_cluster_makes_the_same_bits(
    client: Any, expected: hopflow.Results, tmp_path: Path
) -> None:
    told: list[CampaignProgress] = []

    class Enough(Exception):
        pass

    def enough(now: CampaignProgress) -> None:
        if now.made > 0:
            raise Enough

    out = tmp_path / "there"
    with pytest.raises(Enough):
        hopflow.reproduce(QUICK, seeds=1, out=out, client=client, progress=enough)
    there = hopflow.reproduce(QUICK, seeds=1, out=out, client=client, progress=told.append)
    # What was made before the interruption is not made again, and nothing is left to do here.
    assert 0 < told[0].planned < len(runs(expected))
    assert "0 of 1 experiment complete" in told[0].text
    assert told[-1].planned == 0 and told[-1].decided == 1
    assert runs(there) == runs(expected)
    assert values(there) == values(expected)


def test_a_command_makes_it(
    expected: hopflow.Results, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "there"
    given = ["reproduce", QUICK, "--seeds", "1", "--out", str(out)]
    assert cli.main([*given, "--cluster", "local", "--workers", "1", "--json"]) == 0
    (told,) = json.loads(capfd.readouterr().out)
    assert told["experiment"] == QUICK and told["folder"] == str(out)
    assert runs(hopflow.open(out)) == runs(expected)


def test_all_are_finished_by_the_programs_own_command(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, called = native(), []

    class Complete:
        __file__ = true.__file__

        def __getattr__(self, name: str) -> Any:
            return getattr(true, name)

        def lacking(self, *_: Any) -> str:
            return json.dumps({"seeds": 2, "runs": []})

        def main(self, arguments: list[str], *_: Any) -> int:
            called.append(arguments)
            return 0

    monkeypatch.setattr(papers, "native", Complete)
    monkeypatch.setattr(campaign_cli, "native", Complete)
    monkeypatch.setattr(campaign_cli, "cluster", lambda _: contextlib.nullcontext(client))
    given = ["--out", str(tmp_path), "--seeds", "2"]
    assert cli.main(["reproduce", "all", *given, "--cluster", "local", "--json"]) == 0
    assert called == [["reproduce", "all", "--out", str(tmp_path), "--json", "--seeds", "2"]]
    given = ["--threads", "4", "all", "--out", str(tmp_path)]
    assert cli.main(["reproduce", *given, "--cluster", "local"]) == 0
    assert called[1:] == [["reproduce", "all", "--out", str(tmp_path), "--threads", "4"]]


def test_options_of_a_cluster_need_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--cluster-option", "cores=8", "--out", str(tmp_path / "out")]
    assert cli.main(["reproduce", "marut-fig8", *given]) == 2
    assert "--cluster-option: needs --cluster; it is 'cores=8'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_failed_run_ends_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    true = native()

    class Defective:
        __file__ = true.__file__

        def simulated(self) -> list[str]:
            return [QUICK, "without-data"]

        def __getattr__(self, name: str) -> Any:
            return getattr(true, name)

        def make_lacking(self, name: str, runs: list[str], orders: Any, watch: Any) -> str:
            made = {"error": "no node today"} if runs[0].startswith("pctcp-") else {"seconds": 0}
            return json.dumps([{"name": runs[0], **made}])

    monkeypatch.setattr(papers, "native", Defective)
    orders = hopflow._runs.order_for("", tmp_path, 1, None, None)
    watch = papers.Watch(None)
    found = papers.fill(papers.in_folders(papers.ALL, orders), pools.LocalPool(2), watch)
    assert found.failed == {QUICK} and found.left_out == {"without-data"}
    told = capsys.readouterr().err
    assert f"failed: pctcp of {QUICK} with seed 1: no node today" in told
    assert 'without-data is left out: there is no experiment "without-data"' in told
    with pytest.raises(HopflowError, match=f"{QUICK}: some runs could not be made"):
        papers.refuse(found.failed)


def test_a_command_judges_what_has_its_runs(
    client: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    true, called = native(), []
    codes = {"contradicted": 1, "complete": 0}

    class Native:
        __file__ = true.__file__

        def __getattr__(self, name: str) -> Any:
            return getattr(true, name)

        def main(self, arguments: list[str], *_: Any) -> int:
            called.append(arguments[1])
            return codes[arguments[1]]

        def simulated(self) -> list[str]:
            return ["without-data", "failed", *codes]

    filled = papers.Filled({"failed"}, {"without-data"})
    for module in (papers, campaign_cli):
        monkeypatch.setattr(module, "native", Native)
    monkeypatch.setattr(papers, "fill", lambda *_: filled)
    monkeypatch.setattr(campaign_cli, "cluster", lambda _: contextlib.nullcontext(client))
    given = ["reproduce", papers.ALL, "--out", str(tmp_path), "--cluster", "local"]
    assert cli.main(given) == 2
    assert called == list(codes)
    assert "failed: some runs could not be made" in capsys.readouterr().err
    codes["contradicted"] = 130
    assert cli.main(given) == 130
    assert called[2:] == ["contradicted"]


def test_what_cannot_be_is_told(tmp_path: Path) -> None:
    orders = hopflow._runs.order_for("", tmp_path, None, None, None)
    with pytest.raises(HopflowError, match="gan-fig1 is made by one process; allowed on a cluster"):
        papers.in_folders("gan-fig1", orders)
    folders = papers.in_folders(papers.ALL, orders)
    assert folders[QUICK].out == tmp_path / QUICK
    assert "theorem1" not in folders
    (tmp_path / "manifest.json").touch()
    with pytest.raises(HopflowError, match="holds results of one experiment; choose another"):
        papers.in_folders(papers.ALL, orders)
    orders = hopflow._runs.order_for("", None, None, None, None)
    with pytest.raises(HopflowError, match="there is no run gone here; allowed is the same"):
        native().make_lacking(QUICK, ["gone"], papers.in_folders(QUICK, orders)[QUICK], print)
