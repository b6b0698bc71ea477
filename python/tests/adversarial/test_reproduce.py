from __future__ import annotations

import csv
from pathlib import Path

import pytest

from hopflow import experiments
from hopflow.experiments import Options

pytest.importorskip("hopflow._native", reason="pages are written by the compiled module")


def verdicts(folder: Path) -> dict[str, str]:
    with (folder / "values.csv").open(encoding="utf-8") as file:
        return {row["quantity"]: row["verdict"] for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    ("name", "verdict"), [("gan-theorem1", "reproduced"), ("gan-fig1", "undecided")]
)
def test_what_needs_no_data_is_judged(name: str, verdict: str, tmp_path: Path) -> None:
    experiments.find(name)(Options(tmp_path, seeds=1))
    # What is computed is exact; one seed has no interval.
    assert set(verdicts(tmp_path).values()) == {verdict}
    assert (tmp_path / "report.html").is_file()


def test_nets_are_trained_once_for_all_of_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("gan-table1", "gan-fig2", "gan-fig3", "gan-sec7"):
        experiments.find(name)(Options(tmp_path / name, seeds=1, quick=True, threads=1))
        assert "<img" in (tmp_path / name / "report.html").read_text(encoding="utf-8")
    told = capfd.readouterr().err
    for arm in ("as-published", "penalised"):
        assert told.count(f"{arm}, seed 1, epoch 120:") == 1
    assert set(verdicts(tmp_path / "gan-table1").values()) == {"not judged"}


@pytest.mark.usefixtures("with_faces")
def test_faces_are_shown_and_not_judged(tmp_path: Path) -> None:
    experiments.find("gan-faces")(Options(tmp_path, seeds=1, quick=True, threads=1))
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count("<img") == 2
    found = verdicts(tmp_path)
    assert set(found.values()) == {"not judged"}
    assert {"log-likelihood of training images", "log-likelihood, seed"} <= set(found)
