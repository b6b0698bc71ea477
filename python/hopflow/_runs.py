"""Running, comparing and reproducing."""

from __future__ import annotations

import json
import math
import operator
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hopflow._binding import native
from hopflow._claims import claimed_for
from hopflow._errors import HopflowError
from hopflow._extra import call
from hopflow.progress import Progress, watching
from hopflow.results import Results

Scenario = str | os.PathLike[str] | Mapping[str, Any]
"""The name of a built-in scenario, a path, TOML text of several lines, or its content as a dict.

What is a path by its type is always a file."""

Changes = Mapping[str, Any]
"""Other values at keys of a scenario, such as `{"circuits[0].count": 5}` or
`{"network.relays[middle].bucket.rate": "2 MB/s"}`."""

Watcher = Callable[[Progress], None] | bool | None
"""Who is told how far runs are; see `hopflow.run`."""


@dataclass(frozen=True)
class Orders:
    """How runs are made, and who asks for them, as the compiled part reads it."""

    out: Path | None
    seeds: int | None
    circuits: Path | None
    threads: int | None
    command: str
    program: Path


def run(
    scenario: Scenario = "quickstart",
    *,
    changes: Changes | None = None,
    seeds: int | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    circuits: str | os.PathLike[str] | None = None,
    progress: Watcher = None,
) -> Results:
    """Runs a scenario with its own transports.

    Runs that the folder holds already, made by the same build of hopflow, are kept; so are those
    that were finished before Ctrl-C. Other threads of Python go on meanwhile.

    Args:
        scenario: The name of a built-in scenario, a path, TOML text of several lines, or the
            content of such a text as a dict.
        changes: Other values at keys of the scenario, such as `{"circuits[0].count": 5}` or
            `{"network.relays[middle].bucket.rate": "2 MB/s"}`; a member of a list is its number
            or its name.
        seeds: Runs of each transport, with the seeds from 1 on; by default as the scenario says.
        threads: Threads in all, by default one per core; a few large runs take several each.
        out: Folder for the results; by default one below `results`, named after the scenario and
            its hash.
        circuits: File of circuits in place of the one that the scenario names.
        progress: A function that is told about ten times a second how far the runs are, and whose
            exceptions end them; or whether a line tells it on the standard error, by default on
            terminals and in notebooks.

    Raises:
        HopflowError: The scenario cannot be run, or the folder holds something else.
        KeyboardInterrupt: The user pressed Ctrl-C.
    """
    command = _command("run", scenario, changes=changes, seeds=seeds, circuits=circuits)
    orders = order_for(command, out, seeds, circuits, threads)
    return make(scenario, None, orders, progress, changes)


def compare(
    scenario: Scenario = "quickstart",
    *,
    transports: Sequence[str],
    changes: Changes | None = None,
    seeds: int | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    circuits: str | os.PathLike[str] | None = None,
    progress: Watcher = None,
) -> Results:
    """Compares two or more transports over the networks and users of a scenario.

    Args:
        scenario: As for `run`; its own transports are not run.
        transports: Names as `list_transports` tells them; differences are to the first.
        changes: As for `run`.
        seeds: As for `run`.
        threads: As for `run`.
        out: As for `run`.
        circuits: As for `run`.
        progress: As for `run`.

    Raises:
        HopflowError: As for `run`, or a transport is unknown.
        KeyboardInterrupt: The user pressed Ctrl-C.
    """
    names = _names(transports)
    options = {"transports": names, "changes": changes, "seeds": seeds, "circuits": circuits}
    orders = order_for(_command("compare", scenario, **options), out, seeds, circuits, threads)
    return make(scenario, names, orders, progress, changes)


def reproduce(
    experiment: str,
    *,
    seeds: int | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    circuits: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    epochs: int | None = None,
    quick: bool = False,
    client: Any = None,
    progress: Watcher = None,
) -> Results:
    """Makes a figure or table of a paper again.

    `Results.values` has the values beside the paper's. Those that need neural networks print how
    far they are and what they find, and have no other tables. An option that an experiment does
    not take is refused.

    Args:
        experiment: Its name, as `list_experiments` tells it.
        seeds: Runs of each transport, or of what is trained; by default as many as the experiment
            wants.
        threads: As for `run`.
        out: Folder for the results; by default one below `results`, named after the experiment.
        circuits: File of circuits in place of the one that a simulated experiment names.
        data: Folder of the data set of one with neural networks; by default what `HOPFLOW_DATA`
            names, then the cache.
        epochs: Epochs of training, where neural networks are trained.
        quick: Whether a smaller version will do, which is called so.
        client: A Dask client: the runs of a simulated experiment are made by its cluster, whose
            workers must reach `out`. By default by this machine's cores.
        progress: As for `run`, for simulated experiments; with `client` as for `Campaign.run`.

    Raises:
        HopflowError: There is no such experiment, it does not take an option, its data or packages
            are missing, or the folder holds something else.
        KeyboardInterrupt: The user pressed Ctrl-C.
    """
    from hopflow import experiments

    _check_name("experiment", experiment, "list_experiments()")
    of_runs = {"circuits": circuits, "client": client, "progress": progress}
    of_nets = {"data": data, "epochs": epochs, "quick": quick}
    if experiment not in experiments.REGISTRY:
        allowed = ("out", "seeds", "threads", *of_runs)
        experiments.refuse_others(experiment, of_nets, allowed)
        command = _command("reproduce", experiment, seeds=seeds, circuits=circuits)
        orders = order_for(command, out, seeds, circuits, threads)
        if client is not None:
            given = (experiment, orders, client, progress)
            orders = call("hopflow.campaign.papers:fill_one", *given, extra="campaign")
            progress = False
        return _watched(progress, lambda watch: native().reproduce(experiment, orders, watch))
    allowed = ("out", *experiments.REGISTRY[experiment].options)
    experiments.refuse_others(experiment, of_runs, allowed)
    check_counts(seeds=seeds, threads=threads, epochs=epochs)
    folder = Path("results") / experiment if out is None else Path(out)
    options = experiments.Options(
        out=folder,
        seeds=seeds,
        data=None if data is None else Path(data),
        quick=quick,
        threads=threads,
        epochs=epochs,
    )
    experiments.make(experiment, options)
    return Results.of_now(folder, has_runs=False)


def open(folder: str | os.PathLike[str]) -> Results:
    """The results in a folder that any way of running wrote.

    An experiment that was made in Python has `values` and a `report`, and no tables of runs.

    Raises:
        HopflowError: The folder holds no results, or of another format.
    """
    results = Results(Path(folder))
    if claimed_for(results.folder) is None:
        _ = results.manifest
    return results


def validate(scenario: Scenario, *, changes: Changes | None = None) -> str:
    """Checks a scenario without running it; says in a line what it would run.

    Args:
        scenario: As for `run`.
        changes: As for `run`.

    Raises:
        HopflowError: It is not valid: what is wrong, where, and what is allowed.
    """
    with _errors_of(scenario):
        return native().validate(_given(scenario), _changes(changes)).rstrip()


def schema() -> dict[str, Any]:
    """The JSON Schema of scenarios."""
    return cast(dict[str, Any], json.loads(native().schema()))


def list_scenarios() -> dict[str, str]:
    """The built-in scenarios, each with a sentence about it."""
    return dict(native().scenarios())


def list_transports() -> dict[str, str]:
    """The transports that scenarios may name, each with a sentence about it."""
    return dict(native().transports())


def list_options(transport: str) -> dict[str, dict[str, Any]]:
    """The options of a transport by their keys.

    Each has `about`, `allowed` in words, `values` with what each name means where a name alone does
    not say, and `default`, which is `None` where an option is not set.

    Raises:
        HopflowError: There is no transport of this name.
    """
    _check_name("transport", transport, "list_transports()")
    options = json.loads(native().options(transport))["options"]
    return {option.pop("key"): option for option in options}


def list_experiments() -> dict[str, str]:
    """The figures and tables that can be reproduced, each with its title."""
    return dict(native().experiments())


def make(
    scenario: Scenario,
    transports: list[str] | None,
    orders: Orders,
    progress: Watcher = None,
    changes: Changes | None = None,
) -> Results:
    """Runs a scenario, with `transports` in place of its own unless they are `None`."""
    with _errors_of(scenario):
        given = (_given(scenario), _changes(changes), transports, orders)
        return _watched(progress, lambda watch: native().run(*given, watch))


@contextmanager
def _errors_of(scenario: Scenario) -> Iterator[None]:
    """Errors as Python has them: of a dict without the line of the TOML text that it becomes."""
    try:
        yield
    except HopflowError as error:
        text = re.sub(r"^--set (.*) with --", r"changes: \1 with ", str(error))
        if isinstance(scenario, Mapping):
            text = re.sub(r"^scenario:\d+: ", "scenario: ", text)
        raise HopflowError(text) from None


def _watched(progress: Watcher, work: Callable[[Any], Path]) -> Results:
    watch, end = watching(progress)
    try:
        return Results.of_now(work(watch))
    finally:
        end()


def _given(scenario: Scenario) -> tuple[bool, str]:
    """A scenario as the compiled part takes it: whether it is text, and that or name or path."""
    if isinstance(scenario, Mapping):
        return True, native().to_toml(json.dumps(plain(scenario, "")))
    text = _as_text(scenario)
    if isinstance(scenario, str):
        return "\n" in text, text
    # No built-in scenario has a separator in its name.
    return False, text if os.path.dirname(text) else os.path.join(os.curdir, text)


def _as_text(scenario: object) -> str:
    """A scenario that is no dict: its name, path or text."""
    text: object = os.fspath(scenario) if isinstance(scenario, str | os.PathLike) else scenario
    if not isinstance(text, str):
        raise HopflowError(f"the scenario: it is {text!r}; allowed are text, paths and dicts")
    return text


def _changes(changes: Changes | None) -> list[tuple[str, str]]:
    """Keys and values as the compiled part takes them: values are TOML."""
    if changes is None:
        return []
    if not isinstance(changes, Mapping):
        raise HopflowError(
            f"changes: it is {changes!r}; allowed is a dict of keys and values, such as "
            '{"circuits[0].count": 5}'
        )
    return [(str(key), _toml(plain(value, str(key)))) for key, value in changes.items()]


def _toml(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        members = [f"{_toml(key)} = {_toml(some)}" for key, some in value.items()]
        return f"{{ {', '.join(members)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # Texts, numbers and truth are written alike.
    return json.dumps(value, ensure_ascii=False)


def plain(value: Any, key: str) -> Any:
    """A value of a scenario in the types that TOML has; numbers of NumPy are numbers.

    Args:
        value: The value.
        key: Where it stands, for messages.
    """
    if isinstance(value, Mapping):
        return {str(k): plain(some, f"{key}.{k}" if key else str(k)) for k, some in value.items()}
    if isinstance(value, list | tuple):
        return [plain(some, f"{key}[{n}]") for n, some in enumerate(value)]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    is_scalar = hasattr(value, "item") and getattr(value, "ndim", 0) == 0
    number = value.item() if is_scalar else value
    if isinstance(number, float) and not math.isfinite(number):
        raise HopflowError(f"{key}: it is {number}; allowed are finite numbers")
    if isinstance(number, str | bool | int | float):
        return number
    raise HopflowError(
        f"{key}: it is {value!r}; allowed are text, numbers, true and false, lists and dicts"
    )


def _names(transports: Sequence[str]) -> list[str]:
    if isinstance(transports, str) or not isinstance(transports, Sequence):
        raise HopflowError(
            f"transports: it is {transports!r}; allowed is a list of two or more names, "
            'such as ["vanilla", "backtap"]'
        )
    for name in transports:
        _check_name("transports", name, "list_transports()")
    return list(transports)


def _check_name(what: str, name: object, allowed: str) -> None:
    if not isinstance(name, str):
        raise HopflowError(f"{what}: {name!r} is no name; allowed: {allowed}")


def _command(function: str, scenario: Scenario, **options: Any) -> str:
    """A call as reports name it."""
    given = [f"{name}={value!r}" for name, value in options.items() if value is not None]
    return f"hopflow.{function}({', '.join([_shown(scenario), *given])})"


def _shown(scenario: Scenario) -> str:
    """A scenario as reports name it; they hold its text in any case."""
    if isinstance(scenario, Mapping):
        return "{...}"
    text = _as_text(scenario)
    return "..." if isinstance(scenario, str) and "\n" in text else repr(text)


def order_for(
    command: str,
    out: str | os.PathLike[str] | None,
    seeds: int | None,
    circuits: str | os.PathLike[str] | None,
    threads: int | None,
) -> Orders:
    """How runs are made, for a call that reports name `command`."""
    check_counts(seeds=seeds, threads=threads)
    return Orders(
        out=None if out is None else Path(out),
        seeds=seeds,
        circuits=None if circuits is None else Path(circuits),
        threads=threads,
        command=command,
        program=Path(native().__file__),
    )


# Of seeds as in scenarios.
_MOST = {"seeds": 1_000_000}


def check_counts(**counts: int | None) -> None:
    for name, number in counts.items():
        if number is None:
            continue
        most = _MOST.get(name, 2**31 - 1)
        try:
            known = not isinstance(number, bool) and 1 <= operator.index(number) <= most
        except TypeError:
            known = False
        if not known:
            raise HopflowError(
                f"{name}: it is {number!r}; allowed are whole numbers from 1 to {most}"
            )
