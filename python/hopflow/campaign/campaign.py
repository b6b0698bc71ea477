"""Campaigns: parameters times transports times networks, until the answer is precise enough."""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopflow._errors import HopflowError
from hopflow._extra import call
from hopflow.campaign import folder
from hopflow.campaign.chunks import Made, Order, Setting, identity, make
from hopflow.campaign.definition import DEFAULT_TABLES, check_type, define
from hopflow.campaign.points import Checked, Point, checked, points
from hopflow.campaign.pools import LocalPool, Pool
from hopflow.campaign.results import CampaignResults
from hopflow.campaign.rounds import State
from hopflow.campaign.storage import Store
from hopflow.campaign.watch import CampaignProgress, Watch

if TYPE_CHECKING:
    from hopflow.campaign.estimate import Estimate


class Campaign:
    """Parameters times transports times sampled networks.

    It makes no runs before `run` is called. Runs that the folder holds are kept, whoever made them:
    an interrupted campaign goes on, and several people may extend one.
    """

    def __init__(
        self,
        scenario: str | os.PathLike[str] | Mapping[str, Any],
        *,
        vary: Mapping[str, Any] | None = None,
        transports: Sequence[str] | None = None,
        design: str = "grid",
        precision: Mapping[str, Any] | None = None,
        baseline: str | None = None,
        networks: int | Mapping[str, int] | None = None,
        tables: Sequence[str] = DEFAULT_TABLES,
        confidence: float = 0.95,
        runs: int | None = None,
        skip: str | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> None:
        """Plans a campaign.

        Args:
            scenario: A built-in scenario, a path, TOML text of several lines, or a dict.
            vary: Values by key of the scenario: a list, or text such as `"2..6"`,
                `"1 MB/s..8 MB/s:log4"`. Keys with `=` between them change together.
            transports: Labels of the scenario's transports, or presets; by default its own.
            design: `"grid"`, `"sobol:N"` or `"latin-hypercube:N"`.
            precision: By quantity, half the width that the interval of each difference to the
                baseline is to have: `"5 %"` of the baseline's mean, or a number in its unit.
            baseline: The transport that others are compared with; by default the first.
            networks: Networks of each point; with `precision`, a dict of `first` and `most`, and of
                `batch`, those that share a file, where the folder holds no campaign yet. `first` is
                raised to a multiple of the batch that the folder has, and `most` lowered to one,
                but not below `first`.
            tables: Tables of each run that are kept, beside `runs`.
            confidence: The probability that the interval of a difference holds, at all times.
            runs: The most runs in all.
            skip: `"invalid"` leaves out points that cannot be run, each with the reason; by default
                they are refused.
            out: The folder or fsspec URL; by default one below `results`, named after the scenario.

        Raises:
            HopflowError: Something is unknown, cannot be run, or does not fit.
        """
        check_type("out", out)
        self.definition = define(
            scenario,
            vary=vary,
            transports=transports,
            design=design,
            precision=precision,
            baseline=baseline,
            networks=networks,
            tables=tables,
            confidence=confidence,
            runs=runs,
            skip=skip,
        )
        self._store = Store(_url(out, self.definition.name))
        self._names_batch = isinstance(networks, Mapping) and "batch" in networks
        if self._store.is_local:
            self._take_batch()

    def _take_batch(self) -> None:
        """Takes the batch of the folder's campaign, unless one is asked for."""
        networks = self.definition.networks
        batch = None if self._names_batch else folder.batch(self._store)
        if batch is not None and batch != networks.batch:
            self.definition = replace(self.definition, networks=networks.in_files_of(batch))

    @property
    def url(self) -> str:
        """Its folder or URL."""
        return self._store.url

    @cached_property
    def _all(self) -> list[Point]:
        return points(self.definition)

    @property
    def points(self) -> list[Point]:
        """The points: combinations of values, but for those that are left out."""
        return self._all if self.definition.skip is None else self._checked.points

    @property
    def left_out(self) -> list[tuple[Point, str]]:
        """The points that cannot be run, each with the reason, if `skip` leaves them out.

        Raises:
            HopflowError: There are such, and they are not to be left out.
        """
        return self._checked.left_out

    @cached_property
    def _checked(self) -> Checked:
        return checked(self._all, identity(), skip=self.definition.skip is not None)

    def estimate(self) -> Estimate:
        """What the campaign would take, from short measured runs of some of its points."""
        from hopflow.campaign.estimate import estimate

        _ = self._checked
        return estimate(self.definition, self.points)

    def run(
        self,
        *,
        client: Any = None,
        cores: int | None = None,
        hours: float | None = None,
        report: bool = True,
        progress: Callable[[CampaignProgress], None] | bool | None = None,
    ) -> CampaignResults:
        """Makes the runs that are missing, round by round, until everything asked is known.

        Args:
            client: A Dask client: runs are made by its cluster. By default by this machine's cores.
            cores: How many of these; by default all.
            hours: After so much time no more runs are begun, those of a file together; what was
                begun is ended, and the same call goes on later.
            report: Whether the report is written, where the folder is local.
            progress: A function that is told how far it is, or whether a line tells it.

        Raises:
            HopflowError: Points cannot be run, the folder holds something else, a worker has
                another build, `hours` is no number above zero, the time is over before
                everything is known, or a cluster has had no worker for a day.
            KeyboardInterrupt: The user pressed Ctrl-C; what is made is kept.
        """
        check_type("hours", hours)
        self._take_batch()
        state = self._state()
        watch = Watch(progress)
        if client is None:
            pool: Pool = LocalPool(cores)
        else:
            if cores is not None:
                raise HopflowError(
                    f"cores: it is {cores}, and a cluster makes the runs; allowed is one of the two"
                )
            pool = call("hopflow.campaign.pools:DaskPool", client, watch.say, extra="campaign")
        folder.claim(self._store, self.definition, state.setting.build, state.contents)
        end = None if hours is None else time.time() + 3600.0 * hours
        try:
            watch.say(f"{len(self.points)} points on {pool.about}")
            if self.left_out:
                watch.say(f"{len(self.left_out)} more cannot be run and are left out")
            self._rounds(state, pool, watch, end)
        finally:
            watch.end()
        folder.write_manifest(self._store, state, self.left_out)
        results = CampaignResults(self.url)
        if report and self._store.is_local:
            try:
                call("hopflow.campaign.report:write", results, extra="campaign")
            except HopflowError as error:
                watch.say(f"there is no report: {error}")
        return results

    def _state(self) -> State:
        definition = self.definition
        setting = Setting(self._store, identity(), definition.tables)
        checked = self._checked
        state = State(definition, checked.points, checked.contents, setting)
        state.begin()
        if definition.runs is not None and state.runs() > definition.runs:
            raise HopflowError(
                f"runs: it is {definition.runs}; the first round alone has {state.runs()} "
                f"({len(self.points)} points, {len(definition.transports)} transports, "
                f"{definition.networks.first} networks)"
            )
        return state

    def _rounds(self, state: State, pool: Pool, watch: Watch, end: float | None) -> None:
        existing = self._store.names("data/runs")
        number = 1
        while True:
            orders = state.missing(existing)
            planned = sum(order.count for order in orders)
            decided = state.decided() if number > 1 else 0
            watch.begin(CampaignProgress(number, 0, planned, decided, len(self.points), None))
            told = 0
            for order, made in pool.outcomes(orders, partial(make, setting=state.setting), end):
                self._note(state, order, made, existing, watch)
                told += 1
            if told < len(orders):
                raise HopflowError(
                    "the time is over (`hours`); what is made is kept, the same call goes on"
                )
            before = {point.id for point in self.points if state.is_decided(point)}
            state.read(existing)
            state.decide()
            if self.definition.targets:
                self._tell_decided(state, before, watch)
            if not state.next_round():
                return
            number += 1

    def _note(
        self, state: State, order: Order, made: Made | Exception, existing: set[str], watch: Watch
    ) -> None:
        """Takes note of a chunk that was made, or could not be made."""
        if isinstance(made, Made):
            existing.update(order.file("runs", point) for point, _ in order.points)
            watch.made(order, made)
            return
        state.lost.update(point for point, _ in order.points)
        watch.lost(order, made)

    def _tell_decided(self, state: State, before: set[str], watch: Watch) -> None:
        for point in self.points:
            if point.id not in before and state.is_decided(point):
                networks = max(state.wanted[point.id].values())
                where = f" ({point.label})" if point.parameters else ""
                watch.say(f"decided: {point.id}{where} after {networks} networks")


def _url(out: str | os.PathLike[str] | None, name: str) -> str:
    if out is None:
        return str(Path("results") / f"campaign-{name}")
    found = os.fspath(out)
    # Workers run in folders of their own.
    return found if "://" in found else str(Path(found).absolute())


def read_campaign(path: str | os.PathLike[str], **options: Any) -> Campaign:
    """The campaign of a TOML file: a scenario with a table `[campaign]`, or that table alone.

    Args:
        path: The file, or the name of a built-in scenario.
        options: Arguments of `Campaign` that replace those of the table; `vary`, `precision` and a
            dict of `networks` are added to them.

    Raises:
        HopflowError: The file cannot be read, or something in it is unknown or cannot be.
    """
    from hopflow._scenario import read_scenario

    content = read_scenario(os.fspath(path))
    table = content.pop("campaign", {})
    if not isinstance(table, dict):
        raise HopflowError(f"{path}: campaign: it is {table!r}; allowed is one table [campaign]")
    allowed = [name for name in inspect.signature(Campaign).parameters]
    for key in table:
        if key not in allowed:
            raise HopflowError(f"{path}: campaign.{key} is unknown; allowed: {', '.join(allowed)}")
    name, source = table.pop("scenario", None), path
    if name is not None:
        source = _named(name, path, content)
        content = read_scenario(str(source))
    try:
        return Campaign(content, **_with_options(table, options))
    except HopflowError as error:
        key = str(error).partition(":")[0]
        if options.get(key):
            raise
        where = f"{path}: campaign." if key in table else f"{source}: "
        raise HopflowError(f"{where}{error}") from error


def _named(
    scenario: Any, path: str | os.PathLike[str], content: Mapping[str, Any]
) -> str | os.PathLike[str]:
    """The scenario that a file names: a file beside it or another, or a built-in one."""
    if not isinstance(scenario, str):
        raise HopflowError(
            f"{path}: campaign.scenario: it is {scenario!r}; allowed is the name of a built-in "
            "scenario, or a file"
        )
    if content:
        raise HopflowError(
            f"{path}: campaign.scenario is {scenario!r}, but the file holds a scenario itself "
            f"({', '.join(content)}); allowed is one of both"
        )
    beside = Path(path).parent / scenario
    return beside if beside.is_file() else scenario


def _with_options(own: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """What a table says, with the options that replace it or are added to it."""
    table = dict(own)
    for name, value in options.items():
        if name in ("vary", "precision"):
            check_type(name, table.get(name))
            check_type(name, value)
            table[name] = {**table.get(name, {}), **(value or {})}
        elif name == "networks" and isinstance(value, Mapping):
            before = table.get(name, {})
            table[name] = {
                **(before if isinstance(before, Mapping) else {"first": before}),
                **value,
            }
        elif value is not None:
            table[name] = value
    return table


def scenario_text(point: Point) -> str:
    """The scenario of a point as TOML, for `hopflow run`."""
    from hopflow._binding import native

    text: str = native().to_toml(json.dumps({**point.scenario, "seeds": 1}))
    return text
