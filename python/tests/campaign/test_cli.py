"""`python -m hopflow campaign` and `sweep --vary`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hopflow
from hopflow import cli
from hopflow._binding import native
from hopflow.campaign.cli import _parser, planned


@pytest.fixture
def file(small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(native().to_toml(json.dumps(small)))
    return "small.toml"


def test_a_campaign_is_one_command(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    vary = ["--vary", "circuits[0].count=2,3", "--vary", "network.bucket.rate=1MB/s"]
    assert cli.main(["campaign", file, *vary, "--networks", "2", "--cores", "1"]) == 0
    told = capsys.readouterr()
    assert "runs     8, of which 0 failed" in told.out
    assert "2 points on 1 core of this machine" in told.err
    assert Path("results/campaign-small/report.html").is_file()
    found = hopflow.open_campaign("results/campaign-small")
    assert found.runs.num_rows == 8
    (point, _) = found.manifest["points"]
    assert cli.main(["campaign", file, *vary, "--point", point["point"]]) == 0
    scenario = capsys.readouterr().out
    assert hopflow.validate(scenario).startswith("scenario is valid: 2 runs")
    assert cli.main(["campaign", file, *vary, "--point", "p0"]) == 2
    assert point["point"] in capsys.readouterr().err


def test_a_file_says_what_is_asked(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = """
[campaign]
scenario = "small.toml"
networks = { first = 5, most = 10 }
precision = { bulk_goodput = "5 %" }
vary = { "circuits[0].count" = [2, 3] }
"""
    Path("asked.toml").write_text(asked)
    assert cli.main(["campaign", "asked.toml", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "points           2\n" in told and "runs             20 to 40\n" in told
    more = ["--vary", "network.bucket.rate=1MB/s,2MB/s", "--dry-run"]
    assert cli.main(["campaign", "asked.toml", *more]) == 0
    assert "points           4\n" in capsys.readouterr().out


def test_a_sweep_of_keys_is_a_campaign(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    vary = "transports.backtap.options.alpha=2..4"
    stop = ["--precision", "bulk_goodput=5%", "--networks", "5", "--most", "50"]
    assert cli.main(["sweep", file, "--vary", vary, *stop, "--dry-run"]) == 0
    told = capsys.readouterr().out
    for text in ("points           3", "runs             30 to 300", "CPU hours", "memory", "disk"):
        assert text in told
    assert not Path("results").exists()


def test_numbers_of_networks_add_to_those_of_the_file(file: str) -> None:
    table = """
[campaign]
scenario = "small.toml"
networks = { first = 8, most = 16, batch = 4 }
precision = { bulk_goodput = "5 %" }
"""
    Path("asked.toml").write_text(table)
    Path("fixed.toml").write_text('[campaign]\nscenario = "small.toml"\nnetworks = 10\n')

    def asked(name: str, *options: str) -> tuple[int, int, int]:
        given = _parser().parse_args([name, *options])
        found = planned(given).definition.networks
        return found.first, found.most, found.batch

    assert asked("asked.toml") == (8, 16, 4)
    assert asked("asked.toml", "--most", "400") == (8, 400, 4)
    assert asked("asked.toml", "--networks", "12") == (12, 16, 4)
    assert asked("fixed.toml", "--networks", "4")[:2] == (4, 4)
    assert asked("fixed.toml", "--precision", "bulk_goodput=5%")[:2] == (10, 10)
    assert asked("fixed.toml", "--precision", "bulk_goodput=5%", "--most", "40")[:2] == (10, 40)
    assert asked(file, "--networks", "6", "--precision", "bulk_goodput=5%")[:2] == (6, 198)
    assert asked(file, "--networks", "6")[:2] == (6, 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "circuits"], "--vary: it is 'circuits'; allowed is KEY=VALUES"),
        (["--vary", "circuits[0].cuont=1"], "did you mean"),
        (
            ["--vary", "circuits[0].count=10,20", "--vary", " circuits[0].count =30"],
            "--vary: circuits[0].count is given twice; allowed is once, with all values: 10,20,30",
        ),
        (
            ["--precision", "latency=5%", "--precision", "latency=6%"],
            "--precision: latency is given twice; allowed is once\n",
        ),
        (["--vary", "k={b=1}"], "vary: '{b' is no key of a scenario"),
        (["--cluster-option", "cores=8"], "--cluster-option: needs --cluster; it is 'cores=8'"),
        (["--hours", "nan"], "hours: it is nan; allowed is a number above zero"),
        (["--cluster", "slrum"], "--cluster: it is 'slrum'; allowed: an address"),
        (["--cluster", "local", "--workers", "0"], "workers: it is 0; allowed are whole numbers"),
        (["--cores", "-1"], "cores: it is -1; allowed are whole numbers"),
        (["--cluster", "local", "--cluster-option", "x"], "--cluster-option: it is 'x'"),
        (
            ["--cluster", "local", "--cluster-option", "a=1", "--cluster-option", "a=2"],
            "--cluster-option: 'a' is there twice",
        ),
        (["--workers", "3"], "--workers: needs --cluster; it is 3"),
        (["--cluster", "tcp://h:1", "--workers", "3"], "--cluster tcp://h:1: it runs already"),
    ],
)
def test_what_cannot_be_is_told(
    file: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("distributed")
    assert cli.main(["campaign", file, *arguments]) == 2
    assert message in capsys.readouterr().err
