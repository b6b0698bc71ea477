"""`python -m hopflow observe`: what the transports of a scenario give away."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopflow._errors import HopflowError
from hopflow._runs import make, order_for
from hopflow._scenario import read_scenario
from hopflow.campaign.values import quantity
from hopflow.observer import features, page, play, tournament
from hopflow.report import add_section, remove_section

HEADING = "What it leaks"
"""The section that is added to the report of the runs."""

SECTION = "observer"
"""The name under which it is kept."""


def observe(arguments: Sequence[str]) -> int:
    """Runs a scenario with observers, plays the games, and adds a section to its report.

    Raises:
        HopflowError: The scenario cannot be run, has too few circuits or networks, or bins that
            adversaries do not take.
    """
    options = _parser().parse_args(arguments)
    scenario = with_traces(read_scenario(options.scenario))
    check(scenario, options.scenario, options.seeds)
    command = shlex.join(["python", "-m", "hopflow", "observe", *arguments])
    order = order_for(command, options.out, options.seeds, None, options.threads)
    transports = options.transports.split(",") if options.transports else None
    results = make(scenario, transports, order)
    remove_section(results.folder, SECTION)
    played = tournament.over(
        results.folder, results.transports, [play.KINDS, play.PAGES, play.PAIRS]
    )
    print(page.text(played))
    section = page.section(HEADING, played)
    print(f"\nreport   {add_section(results.folder, section, SECTION)}")
    return 0


def with_traces(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with observers, if it has none; a `record` that is no table stays."""
    record = scenario.get("record", {})
    if not isinstance(record, Mapping):
        return dict(scenario)
    return {**scenario, "record": {"traces": "50 ms", **record}}


def check(scenario: Mapping[str, Any], name: str, seeds: int | None) -> None:
    """Refuses, before anything is simulated, a scenario that the games cannot be played with.

    What is no number of seeds, no table or no time is left to those who read scenarios.

    Args:
        scenario: With observers.
        name: Its file, for messages.
        seeds: Networks in place of its own, if any.

    Raises:
        HopflowError: There are fewer than two networks, or the observers' bins are too wide or do
            not divide a second.
    """
    own = scenario.get("seeds")
    if seeds is not None:
        play.check_networks("--seeds", seeds)
    elif isinstance(own, list):
        play.check_networks(f"{name}: the number of `seeds`", len(own))
    elif isinstance(own, int):
        play.check_networks(f"{name}: `seeds`", own)
    if not isinstance(scenario["record"], Mapping):
        return
    width = scenario["record"]["traces"]
    found = quantity(width)
    if found is not None and found.suffix == "_s" and not features.takes(found.base):
        raise HopflowError(
            f"{name}: `record.traces` is {json.dumps(width)}; allowed are {features.ALLOWED}"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hopflow observe",
        description="Run a scenario with observers, and tell what they learn.",
    )
    parser.add_argument("scenario", help="a scenario's file, or the name of a built-in one")
    parser.add_argument(
        "--transports", metavar="A,B", help="transports in place of the scenario's own, two or more"
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="networks, one per seed")
    parser.add_argument("--threads", type=int, metavar="N", help="runs at the same time")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the results")
    return parser
