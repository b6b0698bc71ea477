"""`python -m hopflow campaign`, and `python -m hopflow sweep --vary`."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hopflow._binding import PROGRAM, native
from hopflow._errors import INTERRUPTED, HopflowError
from hopflow._extra import call
from hopflow._runs import order_for
from hopflow.campaign import papers, pools
from hopflow.campaign.campaign import Campaign, read_campaign, scenario_text
from hopflow.campaign.results import CampaignResults
from hopflow.campaign.watch import Watch


def campaign(arguments: Sequence[str]) -> int:
    """Runs a campaign, or says what it would take.

    Raises:
        HopflowError: It cannot be run, or the time is over before it ends.
    """
    options = _parser().parse_args(arguments)
    found = planned(options)
    if options.point is not None:
        return _show_point(found, options.point)
    if options.dry_run:
        return _show_plan(found)
    with cluster(options) as client:
        results = found.run(client=client, cores=options.cores, hours=options.hours)
    _show_results(results)
    return 0


def planned(options: argparse.Namespace) -> Campaign:
    """The campaign of a file, with what a command line adds to it.

    Raises:
        HopflowError: Something is unknown or cannot be.
    """
    return read_campaign(
        options.scenario,
        vary=_pairs(options.vary, "--vary"),
        precision=_pairs(options.precision, "--precision"),
        transports=options.transports.split(",") if options.transports else None,
        design=options.design,
        baseline=options.baseline,
        networks=_networks(options.networks, options.most),
        tables=None if options.tables is None else [it for it in options.tables.split(",") if it],
        runs=options.runs,
        skip=options.skip,
        out=options.out,
    )


def reproduce(arguments: Sequence[str]) -> int:
    """Makes an experiment, or all of them, again: a cluster makes the runs, this machine the rest.

    Raises:
        HopflowError: It cannot be made, or runs failed.
    """
    options, others = _paper_parser().parse_known_args(arguments)
    name: str = options.experiment
    orders = order_for("", options.out, options.seeds, options.circuits, options.threads)
    folders = papers.in_folders(name, orders)
    watch = Watch(None)
    with cluster(options) as client:
        pool = pools.DaskPool(client, watch.say)
        watch.say(f"runs of {name} on {pool.about}")
        try:
            filled = papers.fill(folders, pool, watch)
        finally:
            watch.end()
    # All runs are there: what the program does without a cluster finds them.
    if options.seeds is not None:
        others += ["--seeds", str(options.seeds)]
    if options.circuits is not None:
        others += ["--circuits", str(options.circuits)]
    if options.threads is not None:
        others += ["--threads", str(options.threads)]
    module = native()
    program = Path(module.__file__)
    if name == papers.ALL and not filled.failed:
        out = options.out or "results"
        return module.main(["reproduce", name, "--out", str(out), *others], PROGRAM, program)
    worst = 0
    for one, how in folders.items():
        if one in filled.failed or one in filled.left_out:
            continue
        code = module.main(["reproduce", one, "--out", str(how.out), *others], PROGRAM, program)
        if code == INTERRUPTED:
            return code
        worst = max(worst, code)
    papers.refuse(filled.failed)
    return worst


def _show_plan(found: Campaign) -> int:
    for point in found.points:
        print(f"{point.id}  {point.label}")
    for point, reason in found.left_out:
        print(f"left out  {point.label}: {reason}")
    print(f"\n{found.estimate().text}")
    return 0


def _show_point(found: Campaign, id: str) -> int:
    for point in found.points:
        if point.id == id:
            print(scenario_text(point), end="")
            return 0
    ids = ", ".join(point.id for point in found.points)
    raise HopflowError(f"--point: there is no {id!r}; allowed: {ids}")


def _show_results(results: CampaignResults) -> None:
    manifest = results.manifest
    points = manifest["points"]
    decided = sum(1 for point in points if point["decided"])
    runs = sum(sum(point["networks"].values()) for point in points)
    if any(point["differences"] for point in points):
        print(f"decided  {decided} of {len(points)} points")
    print(f"runs     {runs}, of which {len(manifest['failures'])} failed")
    print(f"data     {results.path()}")
    if results.report.is_file():
        print(f"report   {results.report}")
    print(f"hash     {manifest['results']}")
    if not manifest["complete"]:
        raise HopflowError(
            "some runs could not be made, see above; the rest is kept, and the same command makes "
            "the missing ones"
        )


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        # The last `=`: keys that change together have one between them.
        key, equals, value = text.rpartition("=")
        if not equals or not key or not value:
            raise HopflowError(
                f"{option}: it is {text!r}; allowed is KEY=VALUES, such as "
                "'network.bucket.rate=1MB/s,2MB/s' or 'circuits[1].count=5..40:4'"
            )
        key, value = key.strip(), value.strip()
        if key in found:
            all_values = f"{found[key]},{value}"
            is_list = option == "--vary" and ".." not in all_values
            values = f", with all values: {all_values}" if is_list else ""
            raise HopflowError(f"{option}: {key} is given twice; allowed is once{values}")
        found[key] = value
    return found


def _networks(first: int | None, most: int | None) -> dict[str, int] | None:
    """What is given; `read_campaign` adds it to what the file says."""
    given = {"first": first, "most": most}
    return {name: number for name, number in given.items() if number is not None} or None


@contextlib.contextmanager
def cluster(options: argparse.Namespace) -> Iterator[Any]:
    """A client of the cluster that is asked for; `None`: this machine's cores.

    Raises:
        HopflowError: There is no such cluster, it cannot be started, or it has options and no name.
    """
    if options.cluster is None:
        if options.cluster_option:
            raise HopflowError(
                f"--cluster-option: needs --cluster; it is {options.cluster_option[0]!r}"
            )
        if options.workers is not None:
            raise HopflowError(
                f"--workers: needs --cluster; it is {options.workers}; for this machine: --cores"
            )
        yield None
        return
    with call("hopflow.campaign.clusters:client", options, extra="campaign") as client:
        yield client


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hopflow campaign",
        description="Vary parameters of a scenario over many networks, until every difference is "
        "known as precisely as asked. Runs that the folder holds are kept.",
    )
    add = parser.add_argument
    add("scenario", help="a file with a scenario and a table [campaign], or a built-in scenario")
    add(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=VALUES",
        help="a key of the scenario and its values: a,b,c or LOW..HIGH[:[log]N]; more than once",
    )
    add("--transports", metavar="A,B", help="transports in place of the scenario's own")
    add("--design", metavar="D", help="grid, sobol:N or latin-hypercube:N [grid]")
    add(
        "--precision",
        action="append",
        default=[],
        metavar="QUANTITY=WIDTH",
        help="half the width of the interval of each difference: 5%% of the baseline, or a number",
    )
    add(
        "--baseline",
        metavar="LABEL",
        help="the transport that others are compared with [the first]",
    )
    add("--networks", type=int, metavar="N", help="networks of each point; of the first round")
    add("--most", type=int, metavar="N", help="the most networks of a point, with --precision")
    add("--runs", type=int, metavar="N", help="the most runs in all")
    add("--skip", metavar="WHAT", help="invalid: leave out points that cannot be run")
    add("--hours", type=float, metavar="H", help="begin no more runs after so much time")
    add("--tables", metavar="A,B", help="tables of each run that are kept [circuits,downloads]")
    add("--out", metavar="DIR", help="folder or URL [results/campaign-NAME]")
    _add_places(parser)
    return parser


def _add_places(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--dry-run", action="store_true", help="list the points, estimate time, memory and disk")
    add("--point", metavar="ID", help="print the scenario of a point, for `hopflow run`")
    add("--cores", type=int, metavar="N", help="cores of this machine [all]")
    _add_cluster(parser)


def _paper_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} reproduce",
        description="Make figures and tables again by a cluster. Runs that the folder holds are "
        "kept; other options are those of `hopflow reproduce`.",
    )
    add = parser.add_argument
    add("experiment", help=f"its name, or {papers.ALL}")
    add("--out", metavar="DIR", help="folder that all workers reach [results]")
    add("--seeds", type=int, metavar="N", help="networks, in place of the experiments' own number")
    add("--circuits", metavar="FILE", help="circuits in place of the file that is named")
    add("--threads", type=int, metavar="N", help="threads of this machine, which measures the runs")
    _add_cluster(parser)
    return parser


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--cluster",
        metavar="C",
        help="ADDRESS of a Dask scheduler, or local, slurm, pbs, sge, lsf, "
        "htcondor, oar, moab as the configuration of dask-jobqueue says",
    )
    add("--workers", type=int, metavar="N", help="workers of a cluster that is started [2]")
    add(
        "--cluster-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an argument of the cluster, such as cores=8, memory=16GB, queue=long, nanny=false; "
        "lists such as job_extra_directives more than once",
    )


def main(arguments: Sequence[str]) -> int:
    """As `campaign`; the exit code."""
    return campaign(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
