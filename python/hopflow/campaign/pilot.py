"""A short measured run in a process of its own, so that its memory can be told from others'."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hopflow._binding import native
from hopflow._errors import HopflowError
from hopflow.campaign.chunks import Runs
from hopflow.campaign.values import quantity

SHARES = (1 / 64, 1 / 16, 1 / 4, 1.0)
"""The shares of the simulated time that are tried, until one takes long enough to measure."""

LONG_ENOUGH = 0.5
"""Seconds."""


@dataclass(frozen=True)
class Pilot:
    """What a whole run takes, from a measured part of it.

    Attributes:
        seconds: Time on one core.
        memory: Bytes of the process that makes it.
        disk: Bytes of the tables that are kept.
        share: The share of the simulated time that was measured.
    """

    seconds: float
    memory: int
    disk: float
    share: float


def pilot(text: str, transport: str, tables: Sequence[str]) -> Pilot:
    """Measures part of a run of a scenario.

    Raises:
        HopflowError: It cannot be run, or fails.
    """
    order = json.dumps({"text": text, "transport": transport, "tables": list(tables)})
    command = [sys.executable, "-m", "hopflow.campaign.pilot"]
    done = subprocess.run(command, input=order, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().rsplit("\n", 1)[-1]
        raise HopflowError(f"{transport}: a short run fails: {reason}")
    return Pilot(**json.loads(done.stdout))


def measure(text: str, transport: str, tables: Sequence[str]) -> Pilot:
    """Measures part of a run, in this process."""
    for share in SHARES:
        wanted = Runs(transport, (1,), tuple(tables), "")
        ((about, kept),) = native().run_each((True, shortened(text, share)), wanted, _nobody)
        run = json.loads(about)
        if "error" in run:
            raise HopflowError(run["error"])
        if run["wall_seconds"] >= LONG_ENOUGH:
            break
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    disk = sum(len(content) for _, content in kept)
    return Pilot(run["wall_seconds"] / share, memory, disk / share, share)


def _nobody(*_: float) -> None:
    """Watches nothing."""


_TIMES = ("duration", "warm-up", "start", "arrivals", "stay", "at", "for")
"""The keys with times of a run, of circuits, of faults and of connections beside the overlay."""

_GROUPS = ("circuits", "faults", "cross")
"""The lists of tables of a scenario, or of its network, that have some of these times."""


def shortened(text: str, share: float) -> str:
    """A scenario of which only a share of the time is simulated, in which as much happens."""
    scenario = tomllib.loads(text)
    lists = (scenario, scenario.get("network", {}))
    groups = [one for of in lists for key in _GROUPS for one in of.get(key, [])]
    for table in (scenario, *groups):
        for key in _TIMES:
            if key in table:
                table[key] = _scaled(table[key], share)
        if "per-second" in table:
            table["per-second"] /= share
    result: str = native().to_toml(json.dumps(scenario))
    return result


def _scaled(value: Any, share: float) -> Any:
    """A time, or a distribution of times, with times of this share."""
    if isinstance(value, dict):
        return {key: _scaled(inner, share) for key, inner in value.items()}
    if isinstance(value, list):
        return [_scaled(inner, share) for inner in value]
    found = quantity(value)
    if found is None or found.suffix != "_s":
        return value
    return f"{found.base * share:.9f} s"


def main() -> None:
    """Reads an order, prints what was measured."""
    measured = measure(**json.loads(sys.stdin.read()))
    print(json.dumps(vars(measured)))


if __name__ == "__main__":
    main()
