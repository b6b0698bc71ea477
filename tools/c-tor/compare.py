#!/usr/bin/env python3
"""The transport `tor-vegas` in the simulator beside C tor 0.4.9.11 on the same paths.

tools/c-tor/measured.csv has what tools/c-tor/measure.py measured: client, guard, middle and exit in network namespaces on
one machine. This makes the same downloads in the simulator and prints both, with 95 % intervals of means over
rounds and over seeds, as docs/validation.md has them. Needs pyarrow and scipy.

    cargo build --release && python3 tools/c-tor/compare.py target/release/hopflow

With `--without-records` cells are read one by one, whatever TLS records they would be in.
"""

import argparse
import collections
import csv
import math
import pathlib
import statistics
import subprocess
import tempfile

import pyarrow.parquet as parquet
from scipy import stats

SEEDS = 10
# Payload of a cell with CGO, which C tor used, relative to ours.
CELL = 488 / 498
# What a bucket of tor gets of its rate: whole steps of 16 stamps of 2^20 ns, and the rest of the time is forgotten
# (`token_bucket.c`). Linux's coarse clock, which tor asks, moves every 4 ms (HZ = 250), so that a step comes every 20 ms.
REFILL = 16 * 2**20 / 20e6

# What links and processing add to 40 ms, in the mean of two access links: the first byte of a single download takes 244 ms
# where six links take 240.
JITTER = "700 us"

SCENARIO = """
name = "c-tor"
duration = "40 s"
seeds = {seeds}
[transports.tor-vegas]
[network]
access = {{ rate = "10 Gbit/s", delay = "{delay} ms", jitter = "{jitter}" }}
tcp = {{ congestion = "cubic", nagle = {nagle}, tls = {tls}, receive-buffer = "2186 kB" }}
[[network.relays]]
name = "client"
[[network.relays]]
name = "guard"
[[network.relays]]
name = "middle"
{bucket}
[[network.relays]]
name = "exit"
[[circuits]]
count = {count}
client = false
path = ["client", "guard", "middle", "exit"]
workload = {{ class = "bulk", response = "{size} MB", think = ["100 s", "100 s"], server-delay = "0 s", server-delay-max = "0 s" }}
start = {{ uniform = ["2 s", "2.01 s"] }}
[[circuits]]
client = false
path = ["client", "guard", "middle", "exit"]
workload = {{ class = "web", response = "498 B", think = ["100 ms", "100 ms"], server-delay = "0 s", server-delay-max = "0 s" }}
start = {{ uniform = ["2 s", "2.001 s"] }}
"""

Setting = collections.namedtuple("Setting", "cores delay nagle limit downloads mb")
# Of a round: goodput in MB/s, the median time to the first byte in ms, and all probes' times in ms.
Round = collections.namedtuple("Round", "goodput first probes")


def measured():
    """C tor's rounds, by setting."""
    rounds = collections.defaultdict(list)
    with open(pathlib.Path(__file__).with_name("measured.csv")) as file:
        for row in csv.DictReader(file):
            setting = Setting(
                int(row["cores"]),
                int(row["delay_ms"]),
                row["nagle"] == "True",
                int(row["limit_kib_s"]),
                int(row["downloads"]),
                float(row["mb"]),
            )
            probes = [float(time) for time in row["probes_ms"].split()]
            rounds[setting].append(
                Round(float(row["goodput_mb_s"]), float(row["first_byte_ms"]), probes)
            )
    return rounds


def simulated(hopflow, setting, tls):
    """The simulator's runs of a setting."""
    bucket = ""
    if setting.limit:
        rate, depth = setting.limit * 1.024 * REFILL, setting.limit * 1.024
        bucket = f'bucket = {{ rate = "{rate:.1f} kB/s", depth = "{depth:.0f} kB", refill = "20 ms", pays = "reading" }}'
    scenario = SCENARIO.format(
        seeds=SEEDS,
        delay=setting.delay // 2,
        jitter=JITTER,
        tls=str(tls).lower(),
        nagle=str(setting.nagle).lower(),
        bucket=bucket,
        count=setting.downloads,
        size=setting.mb,
    )
    with tempfile.TemporaryDirectory() as folder:
        file, out = pathlib.Path(folder, "c-tor.toml"), pathlib.Path(folder, "out")
        file.write_text(scenario)
        subprocess.run([hopflow, "run", file, "--out", out], check=True, capture_output=True)
        for table in sorted(out.glob("runs/*/downloads.parquet")):
            rows = parquet.read_table(table).to_pylist()
            bulk = [row for row in rows if row["class"] == "bulk"]
            assert len(bulk) == setting.downloads, "all downloads end"
            slowest = max(row["ttlb_s"] for row in bulk)
            # One that is not answered in time does not count, as in the rounds of tor.
            web = [row for row in rows if row["class"] == "web"]
            probes = [row for row in web if row["start_s"] + row["ttfb_s"] < 2 + slowest]
            probes.sort(key=lambda row: row["start_s"])
            yield Round(
                CELL * sum(row["bytes"] for row in bulk) / slowest / 1e6,
                1e3 * statistics.median(row["ttfb_s"] for row in bulk),
                [1e3 * row["ttfb_s"] for row in probes],
            )


def interval(values):
    """Half of the 95 % interval of a mean."""
    if len(values) < 2:
        return math.nan
    return stats.t.ppf(0.975, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def row(theirs, ours, digits):
    """Both means with their intervals, and how far ours is off."""
    real, model = statistics.mean(theirs), statistics.mean(ours)
    low, high = (
        (model + side * interval(ours)) / (real - side * interval(theirs)) - 1 for side in (-1, 1)
    )
    both = [
        f"{mean:.{digits}f} ± {interval(values):.{digits}f}"
        for mean, values in ((real, theirs), (model, ours))
    ]
    return [*both, f"{100 * (model / real - 1):+.0f} % [{100 * low:+.0f}, {100 * high:+.0f}]"]


def name(setting):
    limit = f"{setting.limit} KiB/s" if setting.limit else "none"
    load = f"{setting.downloads} x {setting.mb:g} MB"
    return [
        load,
        f"{setting.delay} ms",
        limit,
        "on" if setting.nagle else "off",
        str(setting.cores),
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hopflow", nargs="?", default="target/release/hopflow")
    parser.add_argument("--without-records", action="store_true")
    options = parser.parse_args()
    columns = ["downloads", "delay", "limit", "Nagle", "cores"]
    for what in ["goodput, MB/s", "first byte, ms", "probe, ms"]:
        columns += [f"{what}: C tor", "ours", ""]
    print("| " + " | ".join(columns) + " |")
    print("|" + " --- |" * len(columns))
    in_order = {}
    model = {}
    for setting, theirs in measured().items():
        # Processing takes no time in the simulator: cores change nothing.
        key = setting._replace(cores=2)
        if key not in model:
            model[key] = list(simulated(options.hopflow, key, not options.without_records))
        ours = model[key]
        cells = name(setting)
        cells += row([it.goodput for it in theirs], [it.goodput for it in ours], 2)
        cells += row([it.first for it in theirs], [it.first for it in ours], 0)
        means = ([statistics.mean(it.probes) for it in rounds] for rounds in (theirs, ours))
        cells += row(*means, 0)
        print("| " + " | ".join(cells) + " |", flush=True)
        if setting.limit and setting.downloads > 1:
            in_order[setting] = (theirs, ours)
    for setting, both in in_order.items():
        print(
            f"\nProbes of {name(setting)[0]} behind {name(setting)[2]}, in their order, means in ms:\n"
        )
        # Of the last ones there are few: rounds differ in how many they have.
        count = min(len(it.probes) for rounds in both for it in rounds)
        print("| | " + " | ".join(map(str, range(1, count + 1))) + " |")
        print("|" + " --- |" * (count + 1))
        for who, rounds in zip(["C tor", "ours"], both):
            times = (statistics.mean(it.probes[k] for it in rounds) for k in range(count))
            print(f"| {who} | " + " | ".join(f"{time:.0f}" for time in times) + " |")


if __name__ == "__main__":
    main()
