"""Short runs, from which campaigns tell what they need."""

from __future__ import annotations

import pytest

from hopflow import list_scenarios
from hopflow._scenario import read_scenario
from hopflow.campaign.pilot import measure, shortened
from hopflow.campaign.points import Point, contents


@pytest.mark.parametrize("name", ["faults", "start-up", "design-space"])
def test_part_of_a_scenario_is_a_scenario(name: str) -> None:
    assert name in list_scenarios()
    text = Point("p", {}, {**read_scenario(name), "seeds": 1}).text
    assert contents(shortened(text, 1 / 64), "build").keys() == contents(text, "build").keys()


def test_times_at_which_something_happens_become_shorter_and_as_much_happens() -> None:
    text = """
duration = "60 s"
network.cross = [{ to = "exit", start = { points = [["10 s", 0.0], ["20 s", 1.0]] } }]
[[circuits]]
per-second = 3.0
arrivals = [["0 s", 1.0], ["30 s", 0.0]]
stay = { uniform = ["5 s", "10 s"] }
at = "level-2"
[[faults]]
at = "20 s"
for = "200 ms"
mttf = "7 s"
"""
    found = shortened(text, 0.5)
    for part in ("30.0", "5.0", "10.0", "15.0", "2.5", "0.1"):
        assert f'"{part}00000000 s"' in found, part
    for part in ("per-second = 6", '"level-2"', '"7 s"'):
        assert part in found, part
    assert '"60' not in found


def test_a_run_with_faults_is_measured() -> None:
    scenario = {**read_scenario("faults"), "duration": "4 s", "warm-up": "1 s", "seeds": 1}
    for group in scenario["circuits"]:
        group["count"] = 1
        group.pop("arrivals", None)
        group["start"] = "0 s"
    for fault in scenario["faults"]:
        if "at" in fault:
            fault["at"] = "2 s"
    assert measure(Point("p", {}, scenario).text, "vanilla", ("circuits",)).seconds > 0.0
