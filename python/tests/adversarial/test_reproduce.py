from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from hopflow import experiments
from hopflow.adversarial.data import Split
from hopflow.adversarial.reproduce import mnist, nets, theorem1
from hopflow.adversarial.reproduce.images import NO_SAMPLES, show_draws
from hopflow.adversarial.training import Training
from hopflow.experiments import Options
from hopflow.report import Page

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


def test_a_script_is_not_run_again_by_processes_that_train(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from functools import partial\n"
        "from hopflow.adversarial.reproduce import nets\n"
        "print('begun', flush=True)\n"
        "nets._side_by_side(partial(print, 'trains', flush=True), [1, 2], 2)\n"
    )
    made = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert sorted(made.stdout.splitlines()) == ["begun", "trains 1", "trains 2"]


def test_a_net_whose_weights_are_not_finite_has_no_line(digits: Split, tmp_path: Path) -> None:
    chosen = nets.setup(Options(tmp_path, quick=True))
    game = chosen.game(digits, "penalised")
    best = game.start(1)
    lost = best._replace(average=jax.tree.map(lambda x: x * np.nan, best.average))
    judge = mnist._Judge(digits)
    found = mnist._reached(chosen, "penalised", digits, judge, 1, Training(lost, best))
    assert found.end is None
    values = mnist._table1_values({}, {"penalised": [found]}, judged=False)
    assert "log-likelihood, seed" in {value.quantity for value in values}
    assert not [value for value in values if "after the last epoch" in value.quantity]
    page = Page("Some title", "Some words.")
    assert show_draws(page, "penalised", game, lost, digits, 1) is None
    assert show_draws(page, "penalised", game, best, digits, 1) is not None
    assert str(page.form()).count(NO_SAMPLES) == 1


def test_values_are_written_when_the_page_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(theorem1, "origin", interrupted)
    with pytest.raises(KeyboardInterrupt):
        experiments.find("gan-theorem1")(Options(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("with_faces")
def test_faces_are_shown_and_not_judged(tmp_path: Path) -> None:
    experiments.find("gan-faces")(Options(tmp_path, seeds=1, quick=True, threads=1))
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count("<img") == 2
    found = verdicts(tmp_path)
    assert set(found.values()) == {"not judged"}
    assert {"log-likelihood of training images", "log-likelihood, seed"} <= set(found)
