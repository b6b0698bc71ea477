"""What `observe` refuses before it simulates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hopflow._errors import HopflowError
from hopflow.experiments import Options
from hopflow.observer import cli, experiment


class Simulates(Exception):
    """Something would be simulated."""


@pytest.fixture(autouse=True)
def nothing_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*_: object) -> None:
        raise Simulates

    monkeypatch.setattr(cli, "make", make)


def written(folder: Path, seeds: int | list[int], traces: str) -> str:
    path = folder / "some.toml"
    path.write_text(f"seeds = {seeds}\n[record]\ntraces = {json.dumps(traces)}\n")
    return str(path)


@pytest.mark.parametrize(
    ("seeds", "more", "key"),
    [
        (1, [], "`seeds`: it is 1"),
        ([7], [], "the number of `seeds`: it is 1"),
        (5, ["--seeds", "1"], "--seeds: it is 1"),
    ],
)
def test_one_network_is_refused(
    tmp_path: Path, seeds: int | list[int], more: list[str], key: str
) -> None:
    file = written(tmp_path, seeds, "50 ms")
    with pytest.raises(HopflowError) as raised:
        cli.observe([file, *more])
    assert key in str(raised.value)
    assert "allowed are 2 or more" in str(raised.value)
    assert more or file in str(raised.value)


@pytest.mark.parametrize("traces", ["20 s", "1 s", "300 ms", "150 ms", "30 ms", "0.1 min"])
def test_bins_that_do_not_divide_the_windows_are_refused(tmp_path: Path, traces: str) -> None:
    file = written(tmp_path, 5, traces)
    with pytest.raises(HopflowError) as raised:
        cli.observe([file])
    for part in (file, "`record.traces`", json.dumps(traces), "up to 250 ms"):
        assert part in str(raised.value)


@pytest.mark.parametrize("traces", ["1 ms", "50 ms", "0.1 s", "125000 us", "250 ms"])
def test_bins_that_divide_a_second_are_taken(tmp_path: Path, traces: str) -> None:
    for seeds, more in ((2, []), ([3, 9], []), (1, ["--seeds", "2"])):
        with pytest.raises(Simulates):
            cli.observe([written(tmp_path, seeds, traces), *more])


def test_a_record_that_is_no_table_is_left_to_those_who_read_scenarios(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text('seeds = 3\nrecord = "x"\n')
    assert cli.with_traces({"record": "x"}) == {"record": "x"}
    with pytest.raises(Simulates):
        cli.observe([str(path)])


def test_experiments_refuse_one_network(tmp_path: Path) -> None:
    with pytest.raises(HopflowError, match="--seeds: it is 1; allowed are 2 or more"):
        experiment.feedback(Options(tmp_path, seeds=1, data=tmp_path))
