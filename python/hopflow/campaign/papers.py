"""Paper experiments on a cluster: workers make their runs, in the experiments' folders.

With all runs there, making an experiment again only measures and judges them. So the results are
those of one machine, bit for bit.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hopflow import experiments
from hopflow._binding import native
from hopflow._errors import HopflowError
from hopflow._runs import Orders
from hopflow.campaign.chunks import Made, check_build, identity, until
from hopflow.campaign.pools import DaskPool, Pool
from hopflow.campaign.watch import CampaignProgress, Told, Watch


@dataclass(frozen=True)
class PaperRun:
    """A run of an experiment.

    Attributes:
        experiment: Its experiment.
        name: The name of its folder.
        transport: Its transport.
        seed: Its seed.
        orders: How the experiment is made, with its folder.
    """

    experiment: str
    name: str
    transport: str
    seed: int
    orders: Orders

    @property
    def kind(self) -> tuple[str, str]:
        """What runs that take about as long have in common."""
        return self.experiment, self.transport

    @property
    def runs(self) -> int:
        """Number of runs."""
        return 1

    @property
    def about(self) -> str:
        """What it is, for people."""
        return f"{self.transport} of {self.experiment}"

    @property
    def seeds(self) -> str:
        """Its seed, for people."""
        return f"seed {self.seed}"


def make(
    order: PaperRun,
    build: str,
    *,
    stop: threading.Event | None = None,
    end: float | None = None,
) -> Made:
    """Makes a run and writes it into the experiment's folder.

    Raises:
        HopflowError: This is another build, files that the experiment names are others here, or the
            folder cannot be written.
    """
    check_build(build)
    orders = replace(order.orders, program=Path(native().__file__))
    (made,) = json.loads(
        native().make_lacking(order.experiment, [order.name], orders, until(stop, end))
    )
    seconds = made.get("seconds", 0.0)
    failures = ((order.seed, made["error"]),) if "error" in made else ()
    return Made(runs=1, seconds=seconds, simulated=seconds, failures=failures)


@dataclass(frozen=True)
class Filled:
    """What became of experiments whose runs were to be made.

    Attributes:
        failed: Those of which runs failed.
        left_out: Those that cannot be made, mostly for want of data.
    """

    failed: set[str]
    left_out: set[str]


def fill(orders: Mapping[str, Orders], pool: Pool, watch: Watch) -> Filled:
    """Makes the runs that experiments lack, all together, round by round.

    Args:
        orders: How each experiment is made, with its folder, which all workers must reach.
        pool: What makes them.
        watch: Who is told how far they are.

    Returns:
        The experiments of which runs failed, and, of several, those that cannot be made; these are
        told.

    Raises:
        HopflowError: The only experiment cannot be made.
    """
    missing: set[str] = set()
    left_out: set[str] = set()
    left = {name: replace(how, threads=None) for name, how in orders.items()}
    number = 0
    while left:
        lacking = {}
        for name, how in left.items():
            try:
                lacking[name] = _lacking(name, how)
            except HopflowError as error:
                if len(orders) == 1:
                    raise
                watch.say(f"{name} is left out: {error}")
                left_out.add(name)
        left = {name: left[name] for name, runs in lacking.items() if runs}
        runs = [run for runs in lacking.values() for run in runs]
        number += 1
        total = len(orders) - len(left_out)
        complete = total - len(left) - len(missing)
        of = f"experiment{'s' if len(orders) > 1 else ''} complete"
        now = CampaignProgress(number, 0, len(runs), complete, total, None, of)
        watch.begin(now)
        for order, made in pool.outcomes(runs, partial(make, build=identity())):
            if isinstance(made, Made):
                watch.made(order, made)
            else:
                watch.lost(order, made)
            if not isinstance(made, Made) or made.failures:
                missing.add(order.experiment)
                left.pop(order.experiment, None)
    return Filled(missing, left_out)


def _lacking(name: str, orders: Orders) -> list[PaperRun]:
    found = json.loads(native().lacking(name, orders, until(None)))
    planned = replace(orders, seeds=found["seeds"])
    return [
        PaperRun(name, run["name"], run["transport"], run["seed"], planned) for run in found["runs"]
    ]


def fill_one(name: str, orders: Orders, client: Any, progress: Told | bool | None) -> Orders:
    """Makes the runs that an experiment lacks by a Dask cluster; returns how to make the rest.

    Raises:
        HopflowError: It cannot be made, or runs failed.
    """
    watch = Watch(progress)
    folders = in_folders(name, orders)
    try:
        refuse(fill(folders, DaskPool(client, watch.say), watch).failed)
    finally:
        watch.end()
    return folders[name]


def refuse(names: set[str]) -> None:
    """Tells of experiments that lack runs.

    Raises:
        HopflowError: There are such.
    """
    if names:
        raise HopflowError(
            f"{', '.join(sorted(names))}: some runs could not be made; the rest is kept, and the "
            "same call makes the missing ones"
        )


ALL = "all"
"""All experiments whose data are there."""


def in_folders(name: str, orders: Orders) -> dict[str, Orders]:
    """How an experiment, or each of `all`, is made: in a folder that does not depend on where.

    Raises:
        HopflowError: It has no runs that could be divided, or the folder of all holds one.
    """
    names = native().simulated() if name == ALL else [name]
    if name in experiments.REGISTRY:
        raise HopflowError(
            f"{name} is made by one process; allowed on a cluster are `{ALL}` and "
            f"{', '.join(native().simulated())}"
        )
    if orders.out is None:
        out = Path("results") if name == ALL else Path("results") / name
    else:
        out = orders.out
    circuits = None if orders.circuits is None else orders.circuits.absolute()
    out = out.absolute()
    # The program refuses it, too, but only once all runs are made.
    if name == ALL and any((out / file).is_file() for file in ("manifest.json", "experiment.json")):
        raise HopflowError(f"{out} holds results of one experiment; choose another folder (--out)")
    return {
        one: replace(orders, out=out / one if name == ALL else out, circuits=circuits)
        for one in names
    }
