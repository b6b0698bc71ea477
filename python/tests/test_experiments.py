"""Experiments that are made in Python, from Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import hopflow
from hopflow import experiments
from hopflow.experiments import Experiment, Options, Value, origin, write_values

NAME = "gan-fig1"


@pytest.fixture
def made_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Options], None]], None]:
    """Puts a function in place of an experiment's that takes seeds."""

    def put(function: Callable[[Options], None]) -> None:
        monkeypatch.setattr(sys.modules[__name__], "experiment", function, raising=False)
        mine = Experiment(f"{__name__}:experiment", ("seeds",))
        monkeypatch.setitem(experiments.REGISTRY, NAME, mine)

    return put


def _writes(options: Options) -> None:
    write_values(options.out, [Value("it", "size", "", "", None, options.seeds or 1, 0.5)])


def _fails(_: Options) -> None:
    raise hopflow.HopflowError("there are no data")


def test_they_are_those_that_the_program_lists_as_made_in_python() -> None:
    mark = "(needs the Python package)"
    listed = {name for name, title in hopflow.list_experiments().items() if mark in title}
    assert listed == set(experiments.REGISTRY)


def test_one_is_made_as_any_other_and_opened(made_by: Callable[..., None], tmp_path: Path) -> None:
    made_by(_writes)
    made = hopflow.reproduce(NAME, seeds=3, out=str(tmp_path / "out"))
    assert made == hopflow.open(tmp_path / "out")
    assert made.values.column("n").to_pylist() == [3]
    assert made.report == tmp_path / "out" / "report.html"
    assert "report.html" in made._repr_html_()
    with pytest.raises(hopflow.HopflowError, match=f"{NAME}, which is made in Python.*no tables"):
        _ = made.downloads


def test_values_of_all_experiments_go_into_one_table(
    made_by: Callable[..., None], tmp_path: Path
) -> None:
    made_by(_writes)
    simulated = hopflow.reproduce(
        "predictor-theorem1", out=tmp_path / "one", seeds=2, progress=False
    )
    trained = hopflow.reproduce(NAME, out=tmp_path / "two")
    table = pa.concat_tables([simulated.values, trained.values])
    assert table.column("mean").to_pylist()[-1] == 0.5
    assert table.column("x").to_pylist()[-1] is None
    assert table.column("unit").to_pylist()[-1] == ""


def test_an_option_that_an_experiment_does_not_take_is_refused(
    made_by: Callable[..., None], tmp_path: Path
) -> None:
    made_by(_writes)
    with pytest.raises(hopflow.HopflowError, match=f"{NAME} takes no epochs; allowed: out, seeds$"):
        hopflow.reproduce(NAME, epochs=3, out=tmp_path / "out")
    with pytest.raises(hopflow.HopflowError, match=f"{NAME} takes no circuits"):
        hopflow.reproduce(NAME, circuits="circuits.csv", out=tmp_path / "out")
    with pytest.raises(hopflow.HopflowError, match=r"backtap-fig5 takes no quick; allowed: out, "):
        hopflow.reproduce("backtap-fig5", quick=True, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_is_given_back_if_nothing_was_made(
    made_by: Callable[..., None], tmp_path: Path
) -> None:
    made_by(_fails)
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "new"):
        with pytest.raises(hopflow.HopflowError, match="there are no data"):
            hopflow.reproduce(NAME, out=folder)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]
    assert list((tmp_path / "empty").iterdir()) == []


def test_what_was_made_before_stays_claimed(made_by: Callable[..., None], tmp_path: Path) -> None:
    made_by(_writes)
    made = hopflow.reproduce(NAME, out=tmp_path)
    made_by(_fails)
    with pytest.raises(hopflow.HopflowError, match="there are no data"):
        hopflow.reproduce(NAME, out=tmp_path)
    assert hopflow.open(tmp_path).values == made.values


def test_values_are_not_those_of_a_later_call(made_by: Callable[..., None], tmp_path: Path) -> None:
    made_by(_writes)
    made = hopflow.reproduce(NAME, seeds=3, out=tmp_path)
    later = hopflow.reproduce(NAME, seeds=4, out=tmp_path)
    for asked in ("values", "report"):
        with pytest.raises(hopflow.HopflowError, match="holds other values by now"):
            getattr(made, asked)
    assert later.values.column("n").to_pylist() == [4]


def test_a_page_names_all_options_that_were_given(tmp_path: Path) -> None:
    options = Options(tmp_path, data=tmp_path, quick=True, threads=2, epochs=7)
    text = str(origin("gan-table1", options, 3).form())
    assert "reproduce gan-table1 --seeds 3 --data DIR --threads 2 --epochs 7 --quick" in text
    assert "seeds 1 to 3" in text and str(tmp_path) not in text
    text = str(origin("gan-theorem1", Options(tmp_path), 1).form())
    assert "reproduce gan-theorem1'" in text
