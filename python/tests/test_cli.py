"""`python -m hopflow`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hopflow import cli, experiments
from hopflow._binding import native


def hopflow(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hopflow", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_it_is_the_command_line_of_the_program(tmp_path: Path) -> None:
    listed = hopflow(tmp_path, "list", "transports", "--json")
    assert listed.returncode == 0, listed.stderr
    assert "backtap" in {entry["name"] for entry in json.loads(listed.stdout)}
    wrong = hopflow(tmp_path, "validate", "quickstrat")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: ")
    helped = hopflow(tmp_path, "--help")
    assert helped.returncode == 0
    assert "observe" in helped.stdout


def test_reports_name_the_command(tmp_path: Path) -> None:
    made = hopflow(tmp_path, "run", "single-circuit", "--seeds", "1", "--out", "out")
    assert made.returncode == 0, made.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    command = "python -m hopflow run single-circuit --seeds 1 --out out"
    assert manifest["command"] == command


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_as_it_ends_the_program(
    tmp_path: Path, tiny: dict[str, Any], by: signal.Signals
) -> None:
    text = native().to_toml(json.dumps({**tiny, "duration": "20000 s"}))
    (tmp_path / "long.toml").write_text(text)
    command = [sys.executable, "-m", "hopflow", "run", "long.toml", "--out", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        # The manifest is the last that is written before the runs begin.
        while process.poll() is None and not (tmp_path / "out" / "manifest.json").exists():
            time.sleep(0.05)
        process.send_signal(by)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; 0 of 4 runs are finished" in error


def test_an_experiment_in_python_gets_its_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[experiments.Options] = []
    mine = experiments.Experiment(f"{__name__}:experiment", ("seeds", "quick"))
    monkeypatch.setitem(experiments.REGISTRY, "gan-fig1", mine)
    monkeypatch.setattr(sys.modules[__name__], "experiment", given.append, raising=False)
    out = tmp_path / "out"
    arguments = ["reproduce", "gan-fig1", "--out", str(out), "--seeds", "3", "--quick"]
    assert cli.main(arguments) == 0
    assert cli.main(arguments) == 0
    assert given[0] == experiments.Options(out=out, seeds=3, quick=True)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("backtap-fig5 --out gan-fig1", ["backtap-fig5"]),
        ("--out gan-fig1 backtap-fig5", ["backtap-fig5"]),
        ("backtap-fig5 --out=gan-fig1", ["backtap-fig5"]),
        ("--out=gan gan-fig1", ["gan-fig1"]),
        ("--seeds -3 gan-fig1", ["gan-fig1"]),
        ("--quick gan-fig1 --threads 2", ["gan-fig1"]),
        ("--qui gan-fig1", ["gan-fig1"]),
        ("--json -- gan-fig1", ["gan-fig1"]),
    ],
)
def test_the_value_of_an_option_is_no_experiment(words: str, names: list[str]) -> None:
    assert list(cli._names(words.split())) == names


def test_a_folder_of_something_else_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert cli.main(["reproduce", "gan-fig1", "--out", str(tmp_path)]) == 2
    assert "holds something else" in capsys.readouterr().err


def test_a_missing_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = tmp_path / "needs_much.py"
    module.write_text("import there_is_no_such_package\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    much = experiments.Experiment("needs_much:experiment", ())
    monkeypatch.setitem(experiments.REGISTRY, "gan-fig1", much)
    assert cli.main(["reproduce", "gan-fig1", "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "there_is_no_such_package" in message
    assert "hopflow[adversarial]" in message
    assert not (tmp_path / "out").exists()


def test_importing_the_package_is_light() -> None:
    code = (
        "import hopflow, sys; print({'jax', 'sklearn', 'matplotlib', 'pyarrow'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
