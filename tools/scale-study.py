#!/usr/bin/env python3
"""How far conclusions from a part of Tor carry to all of it.

Runs the scenario `tor` at several scales, and compares the transports at each: medians and 90th
percentiles of the time to the last byte over all networks, as ratios to the first transport, with
intervals by a bootstrap over the networks.
Writes `scale.csv` and `scale.svg` into the folder of the results, and prints the table in Markdown.
Runs that are there already are not made again.

    tools/scale-study.py --program target/release/hopflow --out results/scale 0.01:20 0.1:5 1:1

Each argument is a scale and a number of networks. Needs numpy, pyarrow and matplotlib.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import os
import re
import subprocess
from pathlib import Path

import matplotlib
import numpy as np
import pyarrow.parquet as pq

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

SCENARIO = Path(__file__).parent.parent / "scenarios" / "tor.toml"

# Downloads that are compared: name, and bytes of a download or none for all of the live circuits.
KINDS = (("50 KiB", 50 << 10), ("1 MiB", 1 << 20), ("streams", None))

QUANTILES = (("median", 0.5), ("90th percentile", 0.9))

RESAMPLES = 1000


def scenario(scale: float, networks: int, duration: int, warm_up: int) -> str:
    """The scenario at this scale."""
    text = SCENARIO.read_text()
    for key, value in (
        ("scale", str(scale)),
        ("duration", f'"{duration} s"'),
        ("warm-up", f'"{warm_up} s"'),
        ("seeds", str(networks)),
    ):
        text, found = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        assert found == 1, key
    return text


def simulate(program: Path, text: str, folder: Path, threads: int | None) -> dict[str, float]:
    """Makes the runs; what they took of the machine."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.with_suffix(".toml")
    file.write_text(text)
    command = [str(program), "run", str(file), "--out", str(folder)]
    if threads is not None:
        command += ["--threads", str(threads)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "memory_mb": usage.ru_maxrss / 1000}


def times(run: Path, size: int | None) -> np.ndarray:
    """Times to the last byte of the downloads of this size, in seconds."""
    table = pq.read_table(run / "downloads.parquet", columns=["ttlb_s", "bytes"])
    ttlb, sizes = (table[name].to_numpy() for name in ("ttlb_s", "bytes"))
    return ttlb if size is None else ttlb[sizes == size]


def downloads(folder: Path) -> dict[str, dict[int, dict[str, np.ndarray]]]:
    """Times of downloads by transport, network and kind.

    Of the runs in the manifest alone: the folder may hold others, of earlier calls.
    """
    found: dict[str, dict[int, dict[str, np.ndarray]]] = {}
    manifest = json.loads((folder / "manifest.json").read_text())
    for run in manifest["runs"]:
        of_kind = {kind: times(folder / run["folder"], size) for kind, size in KINDS}
        found.setdefault(run["transport"], {})[run["network"]] = of_kind
    return found


def interval(
    values: dict[int, np.ndarray], base: dict[int, np.ndarray], share: float
) -> tuple[float, float]:
    """The 95 % interval of the ratio of two quantiles, by a bootstrap over the networks."""
    networks = sorted(base)
    if len(networks) < 2:
        return math.nan, math.nan
    random = np.random.default_rng(1)
    ratios = []
    for _ in range(RESAMPLES):
        drawn = random.choice(networks, len(networks))
        above, below = (np.concatenate([of[n] for n in drawn]) for of in (values, base))
        if len(above) and len(below):
            ratios.append(np.quantile(above, share) / np.quantile(below, share))
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(low), float(high)


def compare(scale: float, folder: Path) -> list[dict[str, object]]:
    """A row for each transport, kind and quantile, over the downloads of all networks."""
    found = downloads(folder)
    first = re.search(r"(?m)^\[transports\.([a-z0-9-]+)\]", SCENARIO.read_text()).group(1)
    rows = []
    for transport, networks in found.items():
        for (kind, _), (name, share) in itertools.product(KINDS, QUANTILES):
            values, base = (
                {network: of[kind] for network, of in of_transport.items()}
                for of_transport in (networks, found[first])
            )
            here, there = (
                np.quantile(np.concatenate(list(of.values())), share) for of in (values, base)
            )
            low, high = (1, 1) if transport == first else interval(values, base, share)
            rows.append(
                {
                    "scale": scale,
                    "networks": len(values),
                    "transport": transport,
                    "downloads": kind,
                    "quantile": name,
                    "seconds": float(here),
                    "ratio": float(here / there),
                    "low": low,
                    "high": high,
                }
            )
    return rows


def draw(rows: list[dict[str, object]], path: Path) -> None:
    """The ratios over the scale, a panel for each kind of downloads."""
    others = sorted({row["transport"] for row in rows if row["ratio"] != 1.0})
    figure, panels = plt.subplots(
        len(QUANTILES), len(KINDS), figsize=(10, 5.5), sharex=True, sharey="row", squeeze=False
    )
    for line, (name, _) in zip(panels, QUANTILES, strict=True):
        for panel, (kind, _) in zip(line, KINDS, strict=True):
            panel.axhline(1, color="grey", linewidth=0.8)
            for number, transport in enumerate(others):
                points = [
                    row
                    for row in rows
                    if (row["transport"], row["downloads"], row["quantile"])
                    == (transport, kind, name)
                ]
                shift = 1.06 ** (number - (len(others) - 1) / 2)
                ratios = np.array([row["ratio"] for row in points])
                errors = np.nan_to_num(
                    [[r["ratio"] - r["low"], r["high"] - r["ratio"]] for r in points]
                )
                panel.errorbar(
                    [row["scale"] * shift for row in points],
                    ratios,
                    yerr=errors.T,
                    marker="o",
                    markersize=4,
                    capsize=3,
                    label=transport,
                )
            panel.set_xscale("log")
            panel.set_title(f"{kind}, {name}", fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("share of Tor")
    for line in panels:
        line[0].set_ylabel("time to last byte,\nrelative to the first transport")
    panels[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def markdown(rows: list[dict[str, object]]) -> str:
    """The table for readers."""
    lines = [
        "| scale | networks | downloads | quantile | transport | s | ratio [95 %] |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        interval = "" if math.isnan(row["low"]) else f" [{row['low']:.3f}, {row['high']:.3f}]"
        shown = "1" if row["low"] == row["high"] == 1 else f"{row['ratio']:.3f}{interval}"
        lines.append(
            f"| {row['scale']:g} | {row['networks']} | {row['downloads']} | {row['quantile']} "
            f"| `{row['transport']}` | {row['seconds']:.3f} | {shown} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Runs, compares, and writes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("points", nargs="+", metavar="SCALE:NETWORKS")
    parser.add_argument("--program", type=Path, default=Path("target/release/hopflow"))
    parser.add_argument("--out", type=Path, default=Path("results/scale"))
    parser.add_argument("--duration", type=int, default=50, help="seconds of each run [50]")
    parser.add_argument("--warm-up", type=int, default=40, help="of which not evaluated [40]")
    parser.add_argument("--threads", type=int, help="as for `hopflow run`")
    options = parser.parse_args()
    rows = []
    for point in options.points:
        scale, networks = point.split(":")
        folder = options.out / scale
        text = scenario(float(scale), int(networks), options.duration, options.warm_up)
        used = simulate(options.program, text, folder, options.threads)
        print(f"scale {scale}: {used['cpu_s']:.0f} CPU-s, {used['memory_mb']:.0f} MB", flush=True)
        rows += compare(float(scale), folder)
    with (options.out / "scale.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, options.out / "scale.svg")
    print(markdown(rows))


if __name__ == "__main__":
    main()
