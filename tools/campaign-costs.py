#!/usr/bin/env python3
"""Measures what campaigns cost beside their simulations; docs/campaigns.md has the numbers.

    python tools/campaign-costs.py tasks [--runs N]    # on a LocalCluster of two workers
    python tools/campaign-costs.py tasks --alone       # each run a file and a Dask task of its own
    python tools/campaign-costs.py data [--runs N]     # opening a data set of invented runs

Costs are CPU times of all processes. Simulation is what the same runs cost in a single process that
keeps no tables and writes nothing, measured before and after. Dask's processes cost something for every
second that passes, whether they work or not: where others keep the machine busy, that is told apart,
and the share is also given for cores of one's own. Needs `hopflow[campaign]`.
"""

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import hopflow
from hopflow._binding import native
from hopflow.campaign import chunks, pools
from hopflow.campaign.definition import quantities

SCENARIO = {
    "name": "short",
    "duration": "25 s",
    "warm-up": "1 s",
    "transports": {"vanilla": {}, "backtap": {}},
    "network": {"bucket": {"rate": "1500 kB/s"}, "relays": [{"name": "relay", "count": 3}]},
    "circuits": [
        {
            "count": 4,
            "path": ["relay", "relay"],
            "workload": {"class": "bulk", "response": "100 KiB"},
        }
    ],
}


def cpu():
    """CPU seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


IDLE = 15
"""Seconds in which Dask's own cost is measured."""


def simulated(points, networks):
    """CPU seconds of a run, in this process, without tables and files."""
    begun = cpu()
    for point in points:
        for transport in SCENARIO["transports"]:
            wanted = chunks.Runs(transport, tuple(range(1, networks + 1)), (), "")
            native().run_each((True, point.text), wanted, lambda *_: None)
    return (cpu() - begun) / (len(points) * len(SCENARIO["transports"]) * networks)


def tasks(options):
    """A campaign of many short runs on two worker processes."""
    from distributed import Client, LocalCluster

    rates = [f"{1000 + 100 * number} kB/s" for number in range(5)]
    networks = options.runs // (len(rates) * len(SCENARIO["transports"]))
    given = {"first": networks, "most": networks, "batch": 50}
    if options.alone:
        given["batch"], pools.SECONDS = 1, 0.0
    with tempfile.TemporaryDirectory() as folder:
        campaign = hopflow.Campaign(
            SCENARIO,
            vary={"network.bucket.rate": rates},
            networks=given,
            tables=options.tables.split(",") if options.tables else [],
            out=folder,
        )
        before = simulated(campaign.points[::2], 20)
        others, begun = cpu(), time.monotonic()
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            results = campaign.run(client=client, report=False, progress=False)
            spent = sorted(client.run(cpu).values())
            memory = max(client.run(memory_used).values())
            here, wall = cpu() - others, time.monotonic() - begun
            before_idle = cpu() + sum(client.run(cpu).values())
            naps = [client.submit(time.sleep, IDLE, pure=False) for _ in range(2)]
            client.gather(naps)
            idle = (cpu() + sum(client.run(cpu).values()) - before_idle) / IDLE
        after = simulated(campaign.points[::2], 20)
        files = len(list(Path(folder).glob("data/runs/*/*.parquet")))
        runs = results.runs.num_rows
    one = (before + after) / 2
    total = here + sum(spent)
    # Alone, two cores need half of what is left when Dask's own cost is taken off, plus that.
    work = total - idle * wall
    alone = work / (1.0 - idle / 2)
    print(f"runs                     {runs} in {files} files of `runs`, {wall:.0f} s")
    print(f"a run's simulation       {1e3 * before:.1f} ms before, {1e3 * after:.1f} ms after")
    print(f"simulation               {runs * one:.1f} CPU-s")
    print(f"workers                  {', '.join(f'{it:.1f}' for it in spent)} CPU-s")
    print(f"scheduler and client     {here:.1f} CPU-s, {1e3 * here / runs:.2f} ms a run")
    print(f"Dask's own               {1e3 * idle:.0f} ms a second, {idle * wall:.1f} CPU-s")
    print(f"share of simulation      {100 * runs * one / total:.1f} %")
    print(f"  on cores of one's own  {100 * runs * one / alone:.1f} %")
    print(f"memory                   {memory_used() / 1e6:.0f} MB here, {memory / 1e6:.0f} MB a worker")


def memory_used():
    """The most bytes of memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Invented:
    """Makes runs up, so that a data set costs nothing."""

    def __init__(self):
        """In place of the compiled part."""
        self._true = native()
        self._count = len(quantities())

    def __getattr__(self, name):
        """All but runs are true."""
        return getattr(self._true, name)

    def run_each(self, scenario, wanted, watch):
        """Runs with random quantities."""
        del scenario, watch
        for seed in wanted.seeds:
            chance = random.Random(f"{wanted.transport} {seed}")
            measures = [chance.gauss(1.0, 0.1) for _ in range(self._count)]
            key = {"transport": wanted.transport, "network": seed, "seed": seed}
            key["content"] = results = f"{chance.getrandbits(64):016x}"
            yield json.dumps({"key": key, "results": results, "measures": measures}), []


@contextmanager
def timed(what):
    """Prints what something takes."""
    begun, spent = time.monotonic(), cpu()
    yield
    print(f"{what:<24} {time.monotonic() - begun:.1f} s, {cpu() - spent:.1f} CPU-s")


def data(options):
    """Opening a large data set."""
    import duckdb
    import pandas

    rates = [f"{1000 + 100 * number} kB/s" for number in range(10)]
    vary = {"network.bucket.rate": rates, "circuits[0].count": [2, 3, 4]}
    networks = options.runs // (30 * len(SCENARIO["transports"]))
    with tempfile.TemporaryDirectory() as folder:
        campaign = hopflow.Campaign(
            SCENARIO, vary=vary, networks={"first": networks, "most": networks}, out=folder, tables=[]
        )
        with timed("made up"), mock.patch.object(chunks, "native", Invented):
            campaign.run(report=False, progress=False)
        results = hopflow.open_campaign(folder)
        print(f"files of `runs`          {len(list(Path(folder).glob('data/runs/*/*.parquet')))}")
        with timed("the same call again"):
            campaign.run(report=False, progress=False)
        with timed("summary"):
            results.summary
        with timed("report"):
            from hopflow.campaign import report

            report.write(results)
        with timed("all rows, Arrow"):
            print(f"rows                     {results.runs.num_rows}")
        with timed("all rows, pandas"):
            pandas.read_parquet(results.path())
        with timed("a mean, DuckDB"):
            query = f"select transport, avg(latency) from '{results.path()}/**/*.parquet' group by 1"
            duckdb.sql(query).fetchall()


def main():
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["tasks", "data"])
    parser.add_argument("--runs", type=int, help="runs [10000 of tasks, 100000 of data]")
    parser.add_argument("--tables", default="circuits,downloads", help="tables that are kept")
    parser.add_argument("--alone", action="store_true", help="a task and a file for each run")
    options = parser.parse_args()
    options.runs = options.runs or {"tasks": 10_000, "data": 100_000}[options.what]
    {"tasks": tasks, "data": data}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
