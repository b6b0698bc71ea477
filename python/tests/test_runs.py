"""Running, comparing and reproducing from Python."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hopflow


def test_a_scenario_is_a_dict_a_text_a_path_or_a_name(tiny: dict[str, Any], tmp_path: Path) -> None:
    from hopflow._binding import native

    text = native().to_toml(json.dumps(tiny))
    path = tmp_path / "tiny.toml"
    path.write_text(text)
    said = {hopflow.validate(scenario).split(" is valid")[1] for scenario in (tiny, text, path)}
    assert len(said) == 1
    runs, needs = said.pop().splitlines()
    assert runs == ": 4 runs (2 transports, 2 seeds) of 2 s each, 3 relays, 2 circuits"
    assert needs.startswith("A run needs about ")
    assert hopflow.validate("quickstart").startswith("quickstart is valid")


def test_numbers_of_a_dict_arrive_as_they_are() -> None:
    from hopflow._binding import native

    # The nearest double of the first is another one if digits are taken into account one by one.
    for number in (0.9385958677423489, 5e-324, 1.7976931348623157e308, 0.1):
        found = tomllib.loads(native().to_toml(json.dumps({"number": number})))
        assert found == {"number": number}


def test_a_path_by_its_type_is_always_a_file(
    tiny: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hopflow._binding import native

    monkeypatch.chdir(tmp_path)
    with pytest.raises(hopflow.HopflowError, match="cannot read"):
        hopflow.validate(Path("quickstart"))
    Path("quickstart").write_text(native().to_toml(json.dumps(tiny)))
    assert "3 relays, 2 circuits" in hopflow.validate(Path("quickstart"))


def test_a_failure_is_told_before_anything_is_watched(results: hopflow.Results) -> None:
    def never(_: hopflow.Progress) -> None:
        raise AssertionError("nothing is planned")

    with pytest.raises(hopflow.HopflowError, match="holds results of another scenario"):
        hopflow.run("single-circuit", out=results.folder, progress=never)
    assert hopflow.Progress(finished=0, planned=0, simulated=0.0, whole=0.0).share == 0.0


def test_a_scenario_that_cannot_be_run_says_what_is_allowed(tiny: dict[str, Any]) -> None:
    with pytest.raises(hopflow.HopflowError, match=r"durration.*did you mean"):
        hopflow.validate({**tiny, "durration": "2 s"})
    with pytest.raises(hopflow.HopflowError, match="neither a file nor built in"):
        hopflow.validate("quickstrat")
    with pytest.raises(hopflow.HopflowError, match="seeds: it is None"):
        hopflow.validate({**tiny, "seeds": None})
    with pytest.raises(hopflow.HopflowError, match="seeds: it is <object"):
        hopflow.validate({**tiny, "seeds": object()})


def test_runs_are_kept_and_recognised(results: hopflow.Results, tiny: dict[str, Any]) -> None:
    before = results.manifest
    told: list[hopflow.Progress] = []
    again = hopflow.run(tiny, out=results.folder, progress=told.append)
    assert again == results
    assert again.manifest["runs"] == before["runs"]
    assert told[-1] == hopflow.Progress(finished=4, planned=4, simulated=0.0, whole=0.0)
    assert told[-1].share == 1.0


def test_another_scenario_is_not_overwritten(results: hopflow.Results) -> None:
    with pytest.raises(hopflow.HopflowError, match="holds results of another scenario"):
        hopflow.run("single-circuit", out=results.folder, progress=False)


def test_seeds_and_threads_change_what_is_run_and_not_what_comes_out(
    results: hopflow.Results, tiny: dict[str, Any], tmp_path: Path
) -> None:
    one = hopflow.run(tiny, out=tmp_path / "one", seeds=1, threads=1, progress=False)
    hashes = {run["results"] for run in results.manifest["runs"]}
    assert len(one.manifest["runs"]) == 2
    assert {run["results"] for run in one.manifest["runs"]} < hashes
    with pytest.raises(hopflow.HopflowError, match="seeds: it is 0; allowed"):
        hopflow.run(tiny, seeds=0)


def test_transports_are_compared(tiny: dict[str, Any], tmp_path: Path) -> None:
    found = hopflow.compare(
        tiny, transports=["pctcp", "n23"], seeds=1, out=tmp_path / "out", progress=False
    )
    assert found.transports == ["pctcp", "n23"]
    assert "pctcp" in found.report.read_text()
    with pytest.raises(hopflow.HopflowError, match='"pctpc" is unknown; did you mean "pctcp"'):
        hopflow.compare(tiny, transports=["pctpc", "n23"])


def test_progress_is_told_and_its_exceptions_end_the_runs(
    tiny: dict[str, Any], tmp_path: Path
) -> None:
    class Enough(Exception):
        pass

    def enough(progress: hopflow.Progress) -> None:
        if progress.planned > 0:
            raise Enough

    with pytest.raises(Enough):
        hopflow.run({**tiny, "duration": "2000 s"}, out=tmp_path / "out", progress=enough)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python listens to Ctrl-C only if whoever started it does not have it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_runs_and_keeps_what_is_finished(tiny: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    hopflow.run(tiny, out=out, seeds=1, progress=False)
    # Two runs are kept; the others would last for minutes.
    longer = {**tiny, "duration": "20000 s"}
    begun: list[float] = []

    def interrupt() -> None:
        while not (tmp_path / "long" / "manifest.json").exists():
            time.sleep(0.01)
        begun.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        hopflow.run(longer, out=tmp_path / "long", threads=1, progress=False)
    assert time.monotonic() - begun[0] < 30.0
    assert len(hopflow.open(out).manifest["runs"]) == 2
    assert hopflow.open(tmp_path / "long").manifest["runs"] == []


def test_other_threads_go_on_while_runs_are_made(tiny: dict[str, Any], tmp_path: Path) -> None:
    counted, done = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.wait(0.005):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    hopflow.run({**tiny, "duration": "60 s"}, out=tmp_path / "out", progress=False)
    done.set()
    thread.join()
    assert counted > 10


def test_an_experiment_is_made_again(tmp_path: Path) -> None:
    made = hopflow.reproduce("predictor-theorem1", out=tmp_path / "out", seeds=2, progress=False)
    assert {"figure", "mean", "verdict"} <= set(made.values.column_names)
    assert made.report.is_file()
    with pytest.raises(hopflow.HopflowError, match='no experiment "backtap-fig55"'):
        hopflow.reproduce("backtap-fig55")
    assert hopflow.Results(str(made.folder)) == made


def test_what_there_is_can_be_listed() -> None:
    assert "backtap" in hopflow.list_transports()
    assert "quickstart" in hopflow.list_scenarios()
    assert {"backtap-fig5", "gan-fig1"} <= set(hopflow.list_experiments())
    assert hopflow.schema()["title"] == "Scenario"
    slack = hopflow.list_options("joint")["slack"]
    assert (slack["default"], slack["allowed"]) == (1.25, "a number from 1 to 100")
    with pytest.raises(hopflow.HopflowError, match='did you mean "backtap"'):
        hopflow.list_options("backtab")


def test_values_of_a_scenario_are_changed(tiny: dict[str, Any], tmp_path: Path) -> None:
    changes = {
        "seeds": [7],
        "circuits[0].count": 1,
        "transports.vanilla": {"options": {"refill": "5 ms"}},
    }
    said = hopflow.validate(tiny, changes=changes)
    assert ": 2 runs (2 transports, 1 seeds) of 2 s each, 3 relays, 1 circuits" in said
    made = hopflow.run(tiny, changes=changes, out=tmp_path / "changed")
    assert {run["seed"] for run in made.manifest["runs"]} == {7}
    for wrong, message in [
        ({"circuits[3].count": 1}, r"^circuits\[3\].count: there is no \[3\]; allowed"),
        ({"seeds": math.inf}, "^seeds: it is inf; allowed"),
        (["seeds=3"], "^changes: it is .*; allowed is a dict"),
    ]:
        with pytest.raises(hopflow.HopflowError, match=message):
            hopflow.validate(tiny, changes=wrong)  # type: ignore[arg-type]
    with pytest.raises(hopflow.HopflowError, match=r"^changes: .* with transports; allowed"):
        hopflow.compare(tiny, transports=["vanilla", "backtap"], changes=changes)


@pytest.mark.parametrize("number", ["3", 2.5, True, 0, -1, [1, 2], 2**40])
def test_a_count_that_is_none_is_named(number: Any) -> None:
    for call in (hopflow.run, hopflow.reproduce):
        with pytest.raises(hopflow.HopflowError, match=r"seeds: it is .*allowed are whole numbers"):
            call("quickstart" if call is hopflow.run else "gan-fig1", seeds=number)


def test_transports_are_a_list_of_names() -> None:
    for transports in ("vanilla", None, [1, 2]):
        with pytest.raises(hopflow.HopflowError, match="transports: "):
            hopflow.compare("quickstart", transports=transports)  # type: ignore[arg-type]


@pytest.mark.parametrize("scenario", [5, None, b"quickstart", ["quickstart"]])
def test_a_scenario_of_another_type_is_named(scenario: Any) -> None:
    message = "the scenario: it is .*; allowed are text, paths and dicts"
    for call in (hopflow.run, hopflow.validate):
        with pytest.raises(hopflow.HopflowError, match=message):
            call(scenario)
    with pytest.raises(hopflow.HopflowError, match=message):
        hopflow.compare(scenario, transports=["vanilla", "backtap"])


@pytest.mark.parametrize("name", [3, None, ["joint"]])
def test_what_is_no_name_is_named(name: Any) -> None:
    with pytest.raises(hopflow.HopflowError, match=r"^experiment: .* is no name; allowed: list_e"):
        hopflow.reproduce(name)
    with pytest.raises(hopflow.HopflowError, match=r"^transport: .* is no name; allowed: list_t"):
        hopflow.list_options(name)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"circuits\[1\]\.count: it is None"),
        (float("nan"), r"circuits\[1\]\.count: it is nan"),
        (object(), r"circuits\[1\]\.count: it is <object"),
    ],
)
def test_a_value_without_a_form_in_a_scenario_is_named(value: Any, message: str) -> None:
    with pytest.raises(hopflow.HopflowError, match=message):
        hopflow.validate({"circuits": [{"count": 1}, {"count": value}]})


def test_results_are_not_those_of_a_later_call(tmp_path: Path) -> None:
    first = hopflow.run("quickstart", seeds=1, out=tmp_path / "out")
    rows = len(first.downloads)
    again = hopflow.run("quickstart", seeds=1, out=tmp_path / "out")
    assert len(first.downloads) == len(again.downloads) == rows
    later = hopflow.run("quickstart", seeds=2, out=tmp_path / "out")
    with pytest.raises(hopflow.HopflowError, match="holds other runs by now"):
        _ = first.downloads
    assert len(later.downloads) == len(hopflow.open(tmp_path / "out").downloads) > rows
