"""`python -m hopflow observe`: what the transports of a scenario give away."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hopflow._errors import HopflowError
from hopflow._runs import make, order_for
from hopflow._scenario import read_scenario
from hopflow.observer import page, play, tournament
from hopflow.report import add_section, remove_section

HEADING = "What it leaks"
"""The section that is added to the report of the runs."""

SECTION = "observer"
"""The name under which it is kept."""


def observe(arguments: Sequence[str]) -> int:
    """Runs a scenario with observers, plays the games, and adds a section to its report.

    Raises:
        HopflowError: The scenario cannot be run, or has too few circuits or networks.
    """
    options = _parser().parse_args(arguments)
    if options.seeds == 1:
        raise HopflowError(
            "--seeds: it is 1; allowed are 2 or more, because some networks are for training and "
            "others for the test"
        )
    scenario = with_traces(read_scenario(options.scenario))
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
    """The scenario with observers, if it has none."""
    return {**scenario, "record": {"traces": "50 ms", **scenario.get("record", {})}}


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
