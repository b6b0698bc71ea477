#!/usr/bin/env python3
"""Compares bulk transfers of the TCP model with Linux's TCP in network namespaces.

    tools/linux-tcp/compare.py --update docs/validation.md --json results.json

Needs root, /dev/net/tun, network namespaces, and a C compiler; where they are missing it says so
and exits with status 77, which is the custom for a skipped test. With --tolerance it exits with
status 1 if the goodput of a point differs by more.
"""

import argparse
import json
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, astuple, replace
from itertools import repeat
from math import sqrt
from pathlib import Path

import linux
from linux import Point, Result, Unavailable

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
MODEL = ["cargo", "run", "--quiet", "--release", "--package", "hopflow-tcp", "--example", "bulk"]
MODEL += ["--"]

# Student's t for a two-sided interval of 95 %, by degrees of freedom.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179]
STUDENT += [2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--algorithms", nargs="+", default=["reno", "cubic"])
    parser.add_argument("--buffers", nargs="+", type=float, default=[0.1, 0.5, 1, 2, 4])
    parser.add_argument("--rate", type=int, default=1_250_000, help="bytes per second")
    parser.add_argument("--round-trip", type=float, default=80, help="milliseconds")
    parser.add_argument("--seconds", type=float, default=60, help="length of a run")
    parser.add_argument("--runs", type=int, default=10, help="runs per point, 2 to 20")
    parser.add_argument("--parallel", type=int, default=10, help="runs at a time")
    parser.add_argument("--model", help="the example bulk of hopflow-tcp; built if not given")
    parser.add_argument("--tolerance", type=float, help="largest difference in per cent")
    parser.add_argument("--json", type=Path, help="write every run into this file")
    parser.add_argument("--update", type=Path, help="put the table into this document")
    parser.add_argument("--marker", default="linux-tcp", help="where the table stands in there")
    return parser.parse_args()


def points(args: argparse.Namespace) -> list[Point]:
    product = args.rate * args.round_trip / 1000
    return [
        Point(algorithm, args.rate, args.round_trip, round(buffer * product), args.seconds)
        for algorithm in args.algorithms
        for buffer in args.buffers
    ]


def buffer_of(point: Point) -> float:
    """The buffer in bandwidth-delay products."""
    return round(point.queue / (point.rate * point.round_trip_ms / 1000), 3)


def run_linux(todo: list[Point], args: argparse.Namespace) -> list[list[Result]]:
    """Results per point. The runs of a point are spread over time, lest a noisy minute hits all."""
    with tempfile.TemporaryDirectory() as directory:
        program = linux.build(directory)
        jobs = todo * args.runs
        with ProcessPoolExecutor(args.parallel) as pool:
            results = list(pool.map(linux.measure, repeat(program), jobs))
    return [results[n :: len(todo)] for n in range(len(todo))]


def run_model(program: list[str], point: Point, runs: int) -> list[Result]:
    """The model repeats itself exactly, so the round-trip time is varied by one per cent."""
    scales = [1 + 0.02 * ((n + 0.5) / runs - 0.5) for n in range(runs)]
    varied = [replace(point, round_trip_ms=point.round_trip_ms * scale) for scale in scales]
    return [run_model_once(program, point) for point in varied]


def run_model_once(program: list[str], point: Point) -> Result:
    round_trip_us = round(point.round_trip_ms * 1000)
    words = [point.algorithm, point.rate, round_trip_us, point.queue, point.seconds]
    command = [*program, *map(str, words)]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return Result(*map(float, output.split()), stopped=0.0)


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % confidence interval."""
    if len(values) < 2:
        return values[0], float("nan")
    quantile = STUDENT[min(len(values) - 2, len(STUDENT) - 1)]
    return statistics.fmean(values), quantile * statistics.stdev(values) / sqrt(len(values))


def cell(values: list[float], scale: float, digits: int) -> str:
    mean, half = interval([value * scale for value in values])
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def difference(measured: list[Result], modelled: list[Result]) -> float:
    """By how many per cent the model's mean goodput is above Linux's."""
    means = [statistics.fmean(r.goodput for r in results) for results in (modelled, measured)]
    return 100 * (means[0] / means[1] - 1)


def row(point: Point, measured: list[Result], modelled: list[Result]) -> str:
    columns = [point.algorithm, f"{buffer_of(point):g}"]
    for index, scale, digits in [(0, 1e-3, 0), (1, 100, 3), (2, 1, 1)]:
        for results in (measured, modelled):
            columns.append(cell([astuple(result)[index] for result in results], scale, digits))
    columns.insert(4, f"{difference(measured, modelled):+.1f} %")
    return "| " + " | ".join(columns) + " |"


def table(args: argparse.Namespace, rows: list[str]) -> str:
    kernel = re.match(r"[\d.]+", platform.release()).group()
    header = ["algorithm", "buffer / BDP", "goodput Linux, kB/s", "goodput model, kB/s"]
    header += ["difference", "sent again Linux, %", "sent again model, %"]
    header += ["queueing Linux, ms", "queueing model, ms"]
    caption = (
        f"Linux {kernel}, {args.rate / 1000:g} kB/s, round trip {args.round_trip:g} ms, "
        f"{args.runs} runs of {args.seconds:g} s per point; mean and 95 % confidence interval."
    )
    lines = [caption, "", "| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *rows]
    return "\n".join(lines)


def put_into(document: Path, marker: str, text: str) -> None:
    """Replaces what stands between the markers."""
    begin, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    before, rest = document.read_text().split(begin)
    document.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")


def main() -> int:
    args = arguments()
    todo = points(args)
    try:
        linux.check(args.algorithms)
        measured = run_linux(todo, args)
    except Unavailable as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return SKIPPED
    program = [args.model] if args.model else MODEL
    modelled = [run_model(program, point, args.runs) for point in todo]
    text = table(args, [row(*columns) for columns in zip(todo, measured, modelled)])
    print(text)
    if args.json:
        runs = zip(todo, measured, modelled)
        content = [
            {"point": asdict(p), "linux": list(map(asdict, l)), "model": list(map(asdict, m))}
            for p, l, m in runs
        ]
        args.json.write_text(json.dumps(content, indent=1) + "\n")
    if args.update:
        put_into(args.update, args.marker, text)
    differences = [abs(difference(*results)) for results in zip(measured, modelled)]
    return int(args.tolerance is not None and max(differences) > args.tolerance)


if __name__ == "__main__":
    sys.exit(main())
