#!/usr/bin/env python3
"""Checks that no band of a reproduction changes silently.

What a paper says is in data files: values with the bands within which ours count as them, claims,
trends, and where the paper says so (`study/reproductions/experiments/*.toml`,
`python/hopflow/bands.toml`). `study/reproductions/experiments/bands.lock` repeats all of it and keeps
its history: each change with its date, its reason, and what was there before. Hashes link the
changes to each other and the last one to what the data files say now.

Without options it compares. `--why TEXT` enters what changed, with this reason; `--of NAME` enters only
what changed in figures whose names begin so.
Exit status: 0 if all is well, 1 if something is not.
"""

import argparse
import collections
import datetime
import hashlib
import json
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "study/reproductions/experiments"
PYTHON = ROOT / "python/hopflow/bands.toml"
LOCK = DATA / "bands.lock"

HEAD = """\
# What papers say, and the bands within which ours counts as it, with their history. Made by
# tools/check-bands.py from the data files; never edited by hand.
"""


def number(value):
    """A number as it is written in the lock.

    >>> number(1.0), number(0.89), number(None)
    ('1', '0.89', '-')
    """
    return "-" if value is None else f"{value:g}" if value == int(value) and abs(value) < 1e6 else repr(value)


def lines_of(data):
    """What a data file says, by figure: the source, and a line for each value, claim and trend.

    >>> curve = dict(figure="f", quantity="rate", unit="kB/s", transport="a", paper=[[1, 100, 95, 105]])
    >>> claim = dict(figure="f", quantity="rate", first="a", **{"from": ["b"]}, **{"is": "lower"})
    >>> said = lines_of(dict(experiment=dict(sources=dict(f="section 1")), curves=[curve], claims=[claim]))
    >>> print(*said["f"], sep="\\n")
    source: section 1
    rate (kB/s), a, at 1: 100 in 95 to 105
    claim: rate, a lower than b
    """
    said = {}
    sources = data["experiment"].get("sources", {})

    def say(figure, line):
        said.setdefault(figure, [f"source: {sources.get(figure, 'not stated')}"]).append(line)

    for curve in data.get("curves", []):
        unit = f" ({curve['unit']})" if curve["unit"] else ""
        name = f"{curve['quantity']}{unit}, {curve['transport']}"
        for x, value, low, high in curve.get("paper", []):
            say(curve["figure"], f"{name}, at {number(x)}: {band(value, low, high)}")
        if "whole" in curve:
            stated = curve.get("stated")
            own = f", the paper's own interval {number(stated[0])} to {number(stated[1])}" if stated else ""
            say(curve["figure"], f"{name}: {band(*curve['whole'])}{own}")
    for claim in data.get("claims", []):
        others = ", ".join(claim["from"])
        say(claim["figure"], f"claim: {claim['quantity']}{at(claim)}, {claim['first']} {how(claim)} {others}")
    for trend in data.get("trends", []):
        transports = ", ".join(trend["transports"])
        say(trend["figure"], f"trend: {trend['quantity']}{at(trend)}, {transports}, each {how(trend)} the one before")
    return said


def band(value, low, high):
    """A paper's value and its band."""
    return f"{number(value)} in {number(low)} to {number(high)}"


def at(claim):
    """Where a claim is made."""
    return f" at {', '.join(map(number, claim['x']))}" if claim.get("x") else ""


def how(claim):
    """How two things differ.

    >>> how({"is": "higher"}), how({"is": {"within": 25}})
    ('higher than', 'within 25 % of')
    >>> how({"is": {"not-below": 2}})
    'not more than 2 % below'
    """
    direction = claim["is"]
    if isinstance(direction, dict) and "not-below" in direction:
        return f"not more than {number(direction['not-below'])} % below"
    return f"within {number(direction['within'])} % of" if isinstance(direction, dict) else f"{direction} than"


def python_lines(data):
    """What the bands of experiments in Python say, by figure."""
    said = {}
    for entry in data.get("band", []):
        figure = entry["figure"]
        lines = said.setdefault(figure, [f"source: {entry['source']}"])
        value = [entry.get(key) for key in ("paper", "low", "high")]
        lines.append(f"{entry['quantity']}: {band(*value)}")
    return said


def all_lines():
    """What all data files say, by `experiment: figure`."""
    said = {}
    for path in sorted(DATA.glob("*.toml")):
        if not path.name.endswith((".scenario.toml", ".settings.toml")):
            of_file = lines_of(tomllib.loads(path.read_text(encoding="utf-8")))
            said |= {f"{path.stem}: {figure}": lines for figure, lines in of_file.items()}
    if PYTHON.is_file():
        said |= {f"python: {figure}": lines for figure, lines in python_lines(tomllib.loads(PYTHON.read_text(encoding="utf-8"))).items()}
    return said


def digest(*parts):
    """A hash of texts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def without(lines, others):
    """The lines that others have not, in their order; one that stands there more often is over so often.

    >>> without(["a", "b", "a"], ["a"]), without(["a"], ["a", "a"])
    (['b', 'a'], [])
    """
    left, found = collections.Counter(others), []
    for line in lines:
        if left[line]:
            left[line] -= 1
        else:
            found.append(line)
    return found


def change(name, before, old, new, why, date):
    """An entry of the history: what left, what came, and the hash that links it."""
    after = digest(before, why, date, *new)
    removed, added = without(old, new), without(new, old)
    return {"of": name, "date": date, "why": why, "removed": removed, "added": added, "before": before, "after": after}


def record(lock, said, why, date, of=""):
    """Enters what changed since the lock was made, of figures whose names begin with `of`."""
    bands = {entry["of"]: entry for entry in lock["band"]}
    for name in sorted(set(bands) | set(said)):
        old, new = bands.get(name, {}).get("says", []), said.get(name, [])
        if old != new and name.startswith(of):
            entry = change(name, bands.get(name, {}).get("hash", ""), old, new, why, date)
            lock["change"].append(entry)
            bands[name] = {"of": name, "says": new, "hash": entry["after"]}
    lock["band"] = [bands[name] for name in sorted(bands)]


def problems(lock, said):
    r"""What is wrong with a lock.

    >>> lock = {"band": [], "change": []}
    >>> record(lock, {"a: f": ["x: 1 in 0 to 2"]}, "first", "2026-01-01")
    >>> list(problems(lock, {"a: f": ["x: 1 in 0 to 2"]}))
    []
    >>> print(*problems(lock, {"a: f": ["x: 1 in 0 to 3"]}), sep="\n")
    a: f: says "x: 1 in 0 to 3", of which the lock knows nothing
    a: f: "x: 1 in 0 to 2" of the lock is gone
    >>> print(*problems(lock, {"a: f": ["x: 1 in 0 to 2", "x: 1 in 0 to 2"]}))
    a: f: says "x: 1 in 0 to 2", of which the lock knows nothing
    >>> lock["band"][0]["says"] = ["x: 1 in 0 to 3"]
    >>> print(*problems(lock, {"a: f": ["x: 1 in 0 to 3"]}))
    a: f: the lock itself was changed: its hash does not fit
    """
    bands = {entry["of"]: entry for entry in lock["band"]}
    for name in sorted(set(bands) | set(said)):
        old, new = bands.get(name, {}).get("says", []), said.get(name, [])
        for line in without(new, old):
            yield f'{name}: says "{line}", of which the lock knows nothing'
        for line in without(old, new):
            yield f'{name}: "{line}" of the lock is gone'
    last, says = {}, {}
    for entry in lock["change"]:
        name = entry["of"]
        if entry["before"] != last.get(name, ""):
            yield f"{name}: the change of {entry['date']} does not follow the one before"
        if not entry["why"].strip():
            yield f"{name}: the change of {entry['date']} has no reason"
        gone = without(entry["removed"], says.get(name, []))
        if gone:
            yield f'{name}: the change of {entry["date"]} removes "{gone[0]}", which was not there'
        says[name] = sorted(without(says.get(name, []), entry["removed"]) + entry["added"])
        last[name] = entry["after"]
    for name, entry in bands.items():
        why = next((c for c in reversed(lock["change"]) if c["of"] == name), None)
        fits = why and entry["hash"] == why["after"] == digest(why["before"], why["why"], why["date"], *entry["says"])
        if not fits or sorted(entry["says"]) != says.get(name):
            yield f"{name}: the lock itself was changed: its hash does not fit"


def written(lock):
    """The text of a lock."""
    text = [HEAD]
    for kind in ("band", "change"):
        for entry in lock[kind]:
            text.append(f"[[{kind}]]")
            for key, value in entry.items():
                text.append(f"{key} = {toml(value)}")
            text.append("")
    return "\n".join(text)


def toml(value):
    """Text or a list of texts as TOML."""
    if isinstance(value, list):
        return "[]" if not value else "[\n" + "".join(f"  {toml(item)},\n" for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def main():
    parser = argparse.ArgumentParser(description="Checks that no band of a reproduction changes silently.")
    parser.add_argument("--why", help="enter what changed, with this reason")
    parser.add_argument("--of", default="", help="only of figures whose names begin so")
    order = parser.parse_args()
    lock = {"band": [], "change": []}
    if LOCK.is_file():
        lock |= tomllib.loads(LOCK.read_text(encoding="utf-8"))
    said = all_lines()
    if order.why:
        record(lock, said, order.why, datetime.date.today().isoformat(), order.of)
        LOCK.write_text(written(lock), encoding="utf-8")
    found = list(problems(lock, said))
    for problem in found:
        print(problem)
    if found:
        print("A band is changed with a reason: tools/check-bands.py --why TEXT")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
