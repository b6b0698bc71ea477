"""Dask clusters by name: here, or of a batch system by dask-jobqueue."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import Any

from hopflow._errors import HopflowError
from hopflow._runs import check_counts

QUEUES = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "htcondor": "HTCondorCluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
}


@contextlib.contextmanager
def client(options: argparse.Namespace) -> Iterator[Any]:
    """A client of the cluster that `--cluster` names, with its workers.

    Raises:
        HopflowError: There is no such cluster, it cannot be started, or it runs already and cannot
            have these workers and options.
    """
    from distributed import Client

    name: str = options.cluster
    workers = 2 if options.workers is None else options.workers
    check_counts(workers=workers)
    arguments = _arguments(name, options.cluster_option)
    if "://" in name:
        if arguments or options.workers is not None:
            raise HopflowError(
                f"--cluster {name}: it runs already; allowed is no --workers and no "
                "--cluster-option"
            )
        with Client(name) as found:
            yield found
        return
    with _cluster(name, workers, arguments) as cluster, Client(cluster) as found:
        found.wait_for_workers(1)
        yield found


def _cluster(name: str, workers: int, arguments: dict[str, Any]) -> Any:
    if name == "local":
        from distributed import LocalCluster

        return LocalCluster(n_workers=workers, **{"threads_per_worker": 1, **arguments})
    if name not in QUEUES:
        raise HopflowError(
            f"--cluster: it is {name!r}; allowed: an address such as tcp://host:8786, local, "
            f"{', '.join(QUEUES)}"
        )
    import dask_jobqueue

    try:
        cluster = getattr(dask_jobqueue, QUEUES[name])(**arguments)
    except (TypeError, ValueError) as error:
        raise HopflowError(
            f"--cluster {name}: {error}; allowed are arguments of dask-jobqueue, as "
            "--cluster-option or in its configuration"
        ) from error
    cluster.scale(workers)
    return cluster


_LISTS = (
    "job_extra_directives",
    "job_extra",
    "job_script_prologue",
    "env_extra",
    "worker_extra_args",
    "extra",
    "job_directives_skip",
    "header_skip",
    "submit_command_extra",
    "cancel_command_extra",
)
"""Arguments of dask-jobqueue that are lists; each time that one is given adds a member."""

_TABLES = ("job_extra_directives", "job_extra")
"""Those of them that are tables for HTCondor, of names and values with `=` between them."""


def _arguments(name: str, given: list[str]) -> dict[str, Any]:
    """The arguments of the cluster of this name: numbers, `true`, `false`, text and lists of text.

    Raises:
        HopflowError: One has no value, or is given twice.
    """
    found: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise HopflowError(f"--cluster-option: it is {text!r}; allowed is KEY=VALUE")
        if name == "htcondor" and key in _TABLES:
            inner, equals, value = value.partition("=")
            if not equals:
                raise HopflowError(
                    f"--cluster-option: it is {text!r}; allowed for htcondor is {key}=NAME=VALUE"
                )
            found.setdefault(key, {})[inner.strip()] = value.strip()
        elif key in _LISTS:
            found.setdefault(key, []).append(value)
        elif key in found:
            raise HopflowError(
                f"--cluster-option: {key!r} is there twice; allowed is once, and more than once "
                f"for {', '.join(_LISTS)}"
            )
        else:
            found[key] = _value(value)
    return found


def _value(text: str) -> bool | int | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    # An account such as 0042 is a name.
    is_number = text.isdecimal() and text == str(int(text))
    return int(text) if is_number else text
