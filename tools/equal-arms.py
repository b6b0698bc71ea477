#!/usr/bin/env python3
"""Transports on equal terms: the same refills of token buckets, and parameters that were searched for all.

Our rule of BackTap was chosen by experiment. Here every transport has the same chance: its own
parameters are searched over a grid, on networks with seeds that the evaluation never uses. What a point
scores is the product of two times to the last byte, of web pages and of bulk files: the medians of a
network, as means over the networks. The best point, and the transport as it comes, are then compared on
other networks, with buckets that are refilled every 10 ms and every 100 ms for all of them. A point without
a value on one of the networks is never the best; means of fewer networks than all say of how many.
Writes `equal-arms.json` into the folder of the results and prints tables in Markdown. Runs that are there
already are not made again.

    tools/equal-arms.py --program target/release/hopflow --out results/equal quickstart
"""

import argparse
import itertools
import json
import math
import re
import subprocess
import sys
from pathlib import Path

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"

# No network is in both: whatever the search adapts to, the evaluation does not have.
SEARCH = range(1001, 1004)
EVALUATION = range(1, 11)

REFILLS = ("10 ms", "100 ms")
QUANTITIES = {"web_ttlb_median": "page (s)", "bulk_ttlb_median": "bulk file (s)"}

WINDOWS = {
    ("circuit-window", "circuit-increment", "stream-window", "stream-increment"): [
        (100, 10, 0, 50), (200, 20, 0, 50), (400, 40, 0, 50), (1000, 100, 500, 50), (1000, 100, 0, 50),
    ],
    ("source-queue",): [(64,), (256,)],
}
VEGAS = [
    (scale * 186, scale * 248, scale * 186, scale * 310) for scale in (0.25, 0.5, 1, 2)
]
# What is searched of each transport: names of options, and the values that they take together.
GRIDS = {
    "vanilla": WINDOWS,
    "pctcp": WINDOWS,
    "n23": {("n2", "n3"): [(5, 20), (10, 35), (20, 35), (20, 70), (20, 140), (50, 70), (50, 280)]},
    "tor-vegas": {
        ("vegas-alpha", "vegas-beta", "vegas-gamma", "vegas-delta"): [tuple(map(int, row)) for row in VEGAS],
        ("vegas-initial",): [(62,), (124,), (248,)],
    },
    "marut": {("alpha", "beta"): [(1, 2), (2, 4), (4, 8), (8, 16)], ("initial-window",): [(16,), (32,), (64,)]},
    "backtap": {("alpha", "beta"): [(1, 2), (2, 4), (3, 6), (4, 8), (8, 16)], ("initial-window",): [(2,), (10,), (32,)]},
}


def points(grid):
    """All combinations of a grid, each as options.

    >>> points({("a", "b"): [(1, 2), (3, 4)], ("c",): [(5,)]})
    [{'a': 1, 'b': 2, 'c': 5}, {'a': 3, 'b': 4, 'c': 5}]
    """
    axes = [[dict(zip(names, values, strict=True)) for values in rows] for names, rows in grid.items()]
    return [{key: value for part in parts for key, value in part.items()} for parts in itertools.product(*axes)]


def scenario(text, arms, seeds, refill):
    """A scenario with other transports, seeds and one refill for all.

    No seed of the search is one of the evaluation:

    >>> set(SEARCH) & set(EVALUATION)
    set()
    >>> made = scenario('seeds = 10\\n[transports.a]\\n\\n[network]\\n', {"b": ("c", {"d": 1})}, [1, 2], "10 ms")
    >>> print(made.strip())
    seeds = [1, 2]
    <BLANKLINE>
    [transports."b"]
    preset = "c"
    options = { "refill" = "10 ms", "d" = 1 }
    <BLANKLINE>
    [network]
    """
    text = re.sub(r"(?m)^\[transports\.[^\]]*\]\n(?:[^\[\n].*\n)*\n*", "", text)
    text = re.sub(r"(?m)^seeds = .*$", f"seeds = {list(seeds)}", text)
    # Nothing that is recorded over time is used.
    text = re.sub(r"(?ms)^\[record\]\n.*?(?=^\[|\Z)", "", text)
    transports = ""
    for label, (preset, options) in arms.items():
        pairs = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in {"refill": refill, **options}.items())
        transports += f'\n[transports."{label}"]\npreset = "{preset}"\noptions = {{ {pairs} }}\n'
    return text.replace("[network]\n", f"{transports}\n[network]\n", 1)


def run(program, text, folder):
    """Makes the runs of a scenario; what was found of each quantity, by transport."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    file = folder.with_suffix(".toml")
    file.write_text(text, encoding="utf-8")
    command = [program, "run", file, "--out", folder, "--json"]
    made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    quantities = {entry["key"]: entry for entry in json.loads(made.stdout)["quantities"]}
    return {key: {row["transport"]: row for row in quantities[key]["transports"]} for key in QUANTITIES}


def score(found, label):
    """The product of both times; infinite where one is not known of all networks.

    >>> found = {key: {"a": {"mean": 2.0, "n": 3}, "b": {"mean": 1.0, "n": 1}} for key in QUANTITIES}
    >>> score(found, "a"), score(found, "b")
    (4.0, inf)
    """
    rows = [found[key][label] for key in QUANTITIES]
    return math.prod(row["mean"] if row["n"] == len(SEARCH) else math.inf for row in rows)


def search(program, text, folder, refill):
    """The best point of each transport's grid, and how many there are."""
    best = {}
    for preset, grid in GRIDS.items():
        arms = {f"{preset}+{number}": (preset, options) for number, options in enumerate(points(grid))}
        found = run(program, scenario(text, arms, SEARCH, refill), folder / f"search-{preset}")
        label = min(arms, key=lambda label: score(found, label))
        if math.isinf(score(found, label)):
            raise SystemExit(f"no point of {preset} has times of pages and bulk files on all networks of the search")
        best[preset] = {"options": arms[label][1], "points": len(arms)}
    return best


def evaluate(program, text, folder, best, refill):
    """Each transport as it comes and with the best point, on other networks."""
    arms = {preset: (preset, {}) for preset in GRIDS}
    arms |= {f"{preset}+searched": (preset, entry["options"]) for preset, entry in best.items()}
    name = f"evaluation-{refill.replace(' ', '')}"
    return run(program, scenario(text, arms, EVALUATION, refill), folder / name)


def cell(row):
    """A mean with its interval, as tables show it; of fewer networks than all, with their number.

    >>> cell({"mean": 0.4781, "ci_low": 0.45, "ci_high": 0.5, "n": len(EVALUATION)})
    '0.478 [0.450, 0.500]'
    >>> cell({"mean": 0.4781, "ci_low": 0.45, "ci_high": 0.5, "n": 4})
    '0.478 [0.450, 0.500] (n = 4)'
    """
    if row["mean"] is None:
        return ""
    digits = 3 if row["mean"] < 10 else 1
    interval = "" if row["ci_low"] is None else f" [{row['ci_low']:.{digits}f}, {row['ci_high']:.{digits}f}]"
    return f"{row['mean']:.{digits}f}{interval}{fewer(row)}"


def fewer(row):
    """Of how many networks a value is, if not of all of the evaluation."""
    return "" if row["n"] == len(EVALUATION) else f" (n = {row['n']})"


def difference(row):
    """A difference to the first transport in percent, network by network, as tables show it.

    >>> difference({"difference": {"percent": {"mean": -32.04, "ci_low": -35.3, "ci_high": -28.6, "n": 9}}})
    '−32 % [−35, −29] (n = 9)'
    """
    percent = (row.get("difference") or {}).get("percent")
    if percent is None:
        return ""
    digits = 0 if abs(percent["mean"]) >= 10 else 1
    mean, low, high = (f"{percent[key]:.{digits}f}" for key in ("mean", "ci_low", "ci_high"))
    return f"{mean} % [{low}, {high}]".replace("-", "−") + fewer(percent)


def table(results, show):
    """Both refills side by side, each transport's row of a quantity as `show` has it."""
    refills = list(results["evaluation"])
    columns = [f"{title}, {refill}" for refill in refills for title in QUANTITIES.values()]
    lines = ["| transport | options | " + " | ".join(columns) + " |", "| --- | --- |" + " --- |" * len(columns)]
    for label in results["evaluation"][refills[0]]["web_ttlb_median"]:
        options = results["best"][label.split("+")[0]]["options"] if "+" in label else {}
        words = ", ".join(f"`{key}` {value}" for key, value in options.items()) or "as it comes"
        cells = [show(results["evaluation"][refill][key][label]) for refill in refills for key in QUANTITIES]
        lines.append(f"| `{label}` | {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Compares transports on equal terms.")
    parser.add_argument("scenarios", nargs="+", help="built-in scenarios")
    parser.add_argument("--program", type=Path, default=Path("hopflow"))
    parser.add_argument("--out", type=Path, default=Path("results/equal-arms"))
    options = parser.parse_args()
    for name in options.scenarios:
        text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
        folder = options.out / name
        best = search(options.program, text, folder, REFILLS[0])
        found = {refill: evaluate(options.program, text, folder, best, refill) for refill in REFILLS}
        results = {"scenario": name, "search": list(SEARCH), "seeds": list(EVALUATION), "best": best, "evaluation": found}
        (folder / "equal-arms.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
        print(f"\n{name}\n\n{table(results, cell)}\n\nDifferences to the first\n\n{table(results, difference)}")


if __name__ == "__main__":
    sys.exit(main())
