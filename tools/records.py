#!/usr/bin/env python3
"""The committed records of reproductions, and the tables that are made of them.

A record is a folder of `study/reproductions/records`: the `values.csv` that an experiment wrote, without
curves of more than 40 points (courses over time), and `record.json`, which says how: version, commit,
command, a hash of `values.csv`, and a hash of the golden hashes of each transport that was run; of runs that the
program made also seeds, how long they took one after the other, and the hash of their results. Between `<!-- record: ... -->` and `<!-- end of record -->`,
pages of `docs` have what this tool makes of records:

    <!-- record: counts -->                        how many values and claims have which verdict
    <!-- record: verdicts -->                      all experiments, with their verdicts, and how long their runs took
    <!-- record: verdicts ID [ENDING] -->          one experiment, by figure and quantity; perhaps only
                                                   quantities that end so
    <!-- record: values ID QUANTITY -->            values of a quantity, a column for each transport
    <!-- record: rows ID QUANTITY [at X]; ... -->  several quantities, a row for each
    <!-- record: claims ID [ENDING] -->            claims and trends with their differences
    <!-- record: cases ID QUANTITY [at X] -->      values of a quantity, a row for each case; of curves, at X
    <!-- record: differences ID FIRST: QUANTITY -->  claims of FIRST and a quantity, a row for each case

`check` compares pages and records, and records with their hashes, with the bands and claims of the data
files, and with golden hashes. `write` writes the pages.
`add FOLDER` makes a record of a folder that `hopflow reproduce` wrote, by a program that was built from
the commit `--commit`.
Exit status: 0 if all is well, 1 if something is not.
"""

import argparse
import collections
import csv
import hashlib
import itertools
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDS = ROOT / "study/reproductions/records"
EXPERIMENTS = ROOT / "study/reproductions/experiments"
IN_PYTHON = ROOT / "python/hopflow/experiments.py"
BANDS_IN_PYTHON = ROOT / "python/hopflow/bands.toml"
GOLDEN = ROOT / "study/lab/tests/golden/hashes.txt"
PAGES = tuple(f"docs/{page}.md" for page in ("joint", "observer", "reproductions", "traffic", "truth")) + ("README.md",)
# Evaluations with goals of our own, which do not count as values and claims of papers.
OWN = ("joint", "joint-networks", "joint-shares", "joint-tor")
# Experiments whose users have several paths.
WITH_LEGS = ("switching-fig4", "switching-table2", "switching-table3")
VERDICTS = ("reproduced", "not reproduced", "undecided")
# What a quantity is called of which some runs have no value.
WITH_VALUE = ": runs with a value"
BEGIN = "<!-- record: "
# A block ends before the next one begins: text after a block without an end is not taken for its table.
BLOCK = re.compile(rf"{BEGIN}([^\n]*?) -->\n(?:(?!{BEGIN}).)*?<!-- end of record -->", re.DOTALL)


def golden(presets, name):
    """A hash of the golden hashes of each transport as they are now; empty for one that has none.

    Those of users with several paths count where the experiment has such users.
    """
    found = {preset: [] for preset in presets}
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        network, preset, seed, value = line.split()
        if preset in found and (network != "legs" or name in WITH_LEGS):
            found[preset].append(f"{network} {seed} {value}")
    return {preset: short("\n".join(lines)) if lines else "" for preset, lines in found.items()}


def short(text):
    """A hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def presets(scenario):
    """The presets of the transports of a scenario's text.

    >>> presets('[transports.vanilla]\\n[transports.fast]\\npreset = "backtap"')
    ['backtap', 'vanilla']
    """
    try:
        transports = tomllib.loads(scenario).get("transports", {})
    except tomllib.TOMLDecodeError:
        return []
    return sorted({choice.get("preset", label) for label, choice in transports.items()})


def ran(scenario, kept):
    """The presets that results tell of: those of a scenario, and those that cases name by themselves.

    >>> ran('[transports.fast]\\npreset = "backtap"', "transport\\nfast\\nfast vs n23")
    ['backtap', 'n23']
    """
    labels = {label for value in csv.DictReader(kept.splitlines()) for label in value["transport"].split(" vs ")}
    own = tomllib.loads(scenario).get("transports", {})
    return sorted({*presets(scenario), *(labels - own.keys())})


def command(name, words):
    """The command that made results, without where they went and how many threads made them.

    >>> command("backtap-fig5", "hopflow reproduce backtap-fig5 --seeds 20 --out /there --threads 2")
    'hopflow reproduce backtap-fig5 --seeds 20'
    """
    seeds = re.search(r"--seeds[ =]\d+", words or "")
    return f"hopflow reproduce {name}{' ' + seeds[0] if seeds else ''}"


def add(folder, commit, given=""):
    """Makes a record of a folder of results that a program of this commit made, with options if in Python."""
    folder = Path(folder)
    kept = without_courses((folder / "values.csv").read_text(encoding="utf-8"))
    commit = subprocess.run(
        ["git", "rev-parse", "--short=7", commit], cwd=ROOT, check=True, capture_output=True, text=True
    )
    in_python = folder / "experiment.json"
    made = of_python(in_python, given) if in_python.is_file() else of_program(folder / "manifest.json", kept)
    name = made["experiment"]
    record = RECORDS / name
    record.mkdir(parents=True, exist_ok=True)
    (record / "values.csv").write_text(kept, encoding="utf-8")
    about = {"experiment": name, "commit": commit.stdout.strip(), **made, "values": short(kept)}
    (record / "record.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    print(f"{record.relative_to(ROOT)}: {len(values(name))} values")


def of_program(manifest, kept):
    """How results of the program were made."""
    manifest = json.loads(manifest.read_text(encoding="utf-8"))
    name, runs = manifest["scenario"], manifest["runs"]
    return {
        "experiment": name,
        "hopflow": manifest["hopflow"],
        "command": command(name, manifest.get("command")),
        "seeds": sorted({run["seed"] for run in runs}) or manifest["seeds"],
        "runs": len(runs),
        "seconds": round(sum(run["wall_seconds"] for run in runs), 1),
        **({"results": short("".join(run["results"] for run in runs))} if runs else {}),
        "golden": existing(golden(ran(manifest["scenario_toml"], kept), name)) if runs else of_curves(kept, name),
    }


def of_curves(kept, name):
    """The golden hashes of presets that an experiment without runs of a scenario has curves of."""
    transports = {value["transport"] for value in csv.DictReader(kept.splitlines())}
    return existing(golden(transports, name))


def existing(hashes):
    """The golden hashes of those that have some."""
    return {preset: value for preset, value in sorted(hashes.items()) if value}


def of_python(marker, given):
    """How results of the Python package were made; what it has simulated lies in folders beside the marker."""
    name = json.loads(marker.read_text(encoding="utf-8"))["experiment"]
    command = f"python -m hopflow reproduce {name} {given}".strip()
    manifests = marker.parent.glob("*/manifest.json")
    scenarios = [json.loads(manifest.read_text(encoding="utf-8"))["scenario_toml"] for manifest in manifests]
    simulated = sorted({preset for text in scenarios for preset in presets(text)})
    return {"experiment": name, "command": command, "golden": golden(simulated, name)}


def without_courses(text):
    r"""The lines of a `values.csv` whose curves have few points.

    >>> head = "figure,quantity,unit,transport,x\n"
    >>> without_courses(head + "f,a,,t,1\n" + "f,b,,t,1\n" * 41)
    'figure,quantity,unit,transport,x\nf,a,,t,1\n'
    """
    head, *lines = text.splitlines(keepends=True)
    curves = [tuple(row[1:4]) for row in csv.reader(lines)]
    points = collections.Counter(curves)
    return head + "".join(line for line, curve in zip(lines, curves) if points[curve] <= 40)


def names():
    """All records, by name."""
    return sorted(path.parent.name for path in RECORDS.glob("*/record.json"))


def about(name):
    """How a record was made."""
    return json.loads((RECORDS / name / "record.json").read_text(encoding="utf-8"))


def values(name):
    """The values of a record."""
    with (RECORDS / name / "values.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_claim(value):
    """Whether a value compares two things on the same networks.

    >>> is_claim({"quantity": "rate: difference"}), is_claim({"quantity": "rate"})
    (True, False)
    """
    return value["quantity"].endswith(": difference") or ": change from " in value["quantity"]


def number(text, digits=3):
    """A number of a record as it is written in tables.

    >>> number("1484.936"), number("0.012345"), number("-3.0"), number(""), number("0")
    ('1485', '0.0123', '−3.00', '', '0')
    """
    if text == "":
        return ""
    value = float(text)
    if value == 0:
        return "0"
    places = max(0, digits - 1 - int(f"{abs(value):e}".split("e")[1]))
    return f"{value:.{min(places, 9)}f}".replace("-", "−") if abs(value) >= 1e-4 else f"{value:.1e}".replace("-", "−")


def place(text):
    """A swept value as it is written in tables.

    >>> place("2"), place("0.5"), place("")
    ('2', '0.5', '')
    """
    return f"{float(text):g}" if text else ""


def with_interval(value):
    """A mean with its interval; nothing of a claim that no network tells of.

    >>> with_interval({"quantity": "rate: difference", "n": "0", "mean": "0", "ci_low": "", "ci_high": ""})
    ''
    """
    if is_claim(value) and value["n"] == "0":
        return ""
    if value["ci_low"] in ("", value["mean"]):
        return number(value["mean"])
    return f"{number(value['mean'])} [{number(value['ci_low'])}, {number(value['ci_high'])}]"


def with_unit(what, value):
    """What a value is of, with its unit.

    >>> with_unit("rate", {"unit": "kB/s"}), with_unit("fairness F", {"unit": ""})
    ('rate (kB/s)', 'fairness F')
    """
    return f"{what} ({value['unit']})" if value["unit"] else what


def measured(value):
    """The difference of a claim, with its unit; nothing if no network tells of it."""
    found = with_interval(value)
    return f"{found} {value['unit']}" if found else ""


def difference(value):
    """A claim: its difference, unit and what is not as it should be."""
    return f"{measured(value)}{judged(value)}".lstrip()


def sought(name, what, wanted):
    """The values of a record that are wanted, of which there must be some."""
    found = [value for value in values(name) if wanted(value)]
    if not found:
        raise SystemExit(f'the record of {name} has no "{what}"')
    return found


def span(low, high):
    """A band, which may be open at one end.

    >>> span("1", "2"), span("1", ""), span("", "2")
    ('1.00 to 2.00', '1.00 or more', '2.00 or less')
    """
    if low and high:
        return f"{number(low)} to {number(high)}"
    return f"{number(low)} or more" if low else f"{number(high)} or less"


def table(header, rows):
    r"""A table of Markdown.

    >>> print(table(["a"], [["|x|"]]))
    | a |
    | --- |
    | \|x\| |
    """
    lines = [header, ["---"] * len(header), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def table_of(lines):
    """A table of Markdown whose first line is its header."""
    header, *rows = lines
    return table([*header], rows)


def count(of, verdict):
    """How many values have a verdict; empty for none."""
    return str(sum(value["verdict"] == verdict for value in of) or "")


def catalogue():
    """All experiments, by name: those of the program, then those in Python."""
    paths = sorted(EXPERIMENTS.glob("*.toml"))
    names = [path.stem for path in paths if not path.name.endswith((".scenario.toml", ".settings.toml"))]
    in_python = re.findall(r'(?m)^    "([a-z0-9-]+)": Experiment\(', IN_PYTHON.read_text(encoding="utf-8"))
    return names + in_python


def totals():
    """How many values and claims of papers have which verdict, for a page that says no more."""
    made = [name for name in names() if name not in OWN]
    found = [value for name in made for value in values(name)]
    rows = []
    for what, claims in (("values", False), ("claims", True)):
        of = [value for value in found if is_claim(value) == claims]
        rows.append([what, *(count(of, verdict) or "0" for verdict in VERDICTS)])
    those = [name for name in catalogue() if name not in OWN]
    rest = "" if len(made) == len(those) else "; the others have no record yet"
    own = ", ".join(f"`{name}`" for name in OWN)
    said = f"These are {len(made)} of {len(those)} experiments{rest}. Not counted: {own}, which judge a transport of ours by goals of ours."
    return table(["", *VERDICTS], rows) + "\n\n" + said


def overview():
    """The verdicts of all experiments, and how long their runs took."""
    rows, totals, seconds = [], [0] * 6, 0
    made = set(names())
    for name in catalogue():
        if name in OWN:
            continue
        if name not in made:
            rows.append([f"`{name}`", *[""] * 7, "no record yet"])
            continue
        found = values(name)
        counts = [count([v for v in found if is_claim(v) == claims], verdict) for claims in (False, True) for verdict in VERDICTS]
        totals = [total + int(c or 0) for total, c in zip(totals, counts)]
        networks = max(int(value["n"]) for value in found)
        record = about(name)
        seconds += record.get("seconds", 0)
        rows.append([f"`{name}`", str(networks), *counts, f"commit {record['commit']}"])
    rows.append(["all", "", *map(str, totals), ""])
    header = ["experiment", "runs, images or pairs of a value, at most"]
    header += [f"values {verdict}" for verdict in VERDICTS] + [f"claims {verdict}" for verdict in VERDICTS]
    said = f"Their runs took {seconds / 3600:.1f} hours one after the other, without those of experiments in Python."
    return table([*header, "made by"], rows) + "\n\n" + said


def verdicts(name, ending=""):
    """The verdicts of an experiment by figure, quantity and transport."""
    groups = {}
    for value in values(name):
        judged = value["verdict"] != "not judged" and not is_claim(value)
        if judged and value["quantity"].endswith(ending):
            groups.setdefault((value["figure"], value["quantity"], value["transport"]), []).append(value)
    rows = []
    for (figure, quantity, transport), found in groups.items():
        one = found[0] if len(found) == 1 else None
        at = f" at {place(one['x'])}" if one and one["x"] else ""
        ours = with_interval(one) if one else f"{len(found)} values"
        paper = number(one["paper"]) if one else ""
        band = span(one["band_low"], one["band_high"]) if one else ""
        rows.append([figure, with_unit(quantity + at, found[0]), f"`{transport}`" if transport else "", paper, band, ours, said(found)])
    return table(["figure", "what", "transport", "paper", "band", "ours", "verdict"], rows)


def said(found):
    """The verdicts of several values in words; where only some failed, at which x.

    >>> said([{"verdict": "reproduced", "x": "1", "wanted": ""}, {"verdict": "undecided", "x": "2", "wanted": "31"}])
    'reproduced 1, undecided 1 (2)'
    >>> said([{"verdict": "undecided", "x": "", "wanted": "31"}])
    'undecided (31 runs)'
    """
    if len(found) == 1:
        wanted = f" ({found[0]['wanted']} runs)" if found[0]["wanted"] else ""
        return found[0]["verdict"] + wanted
    parts = []
    for verdict in VERDICTS:
        of = [value for value in found if value["verdict"] == verdict]
        where = f" ({', '.join(place(value['x']) for value in of)})" if of and verdict != "reproduced" and len(of) < len(found) else ""
        if of:
            parts.append(f"{verdict} {len(of)}{where}")
    return ", ".join(parts)


def of_quantity(name, quantity):
    """The values of a quantity: a row for each x, a column for each transport."""
    found = sought(name, quantity, lambda value: value["quantity"] == quantity)
    transports = list(dict.fromkeys(value["transport"] for value in found))
    xs = list(dict.fromkeys(value["x"] for value in found))
    at = {(value["transport"], value["x"]): with_interval(value) for value in found}
    rows = [[place(x), *(at.get((transport, x), "") for transport in transports)] for x in xs]
    return table([with_unit(quantity, found[0]), *(f"`{transport}`" for transport in transports)], rows)


def at_point(what):
    """A quantity and the point of its curves that is asked for; empty where it has none.

    >>> at_point("web ttlb, 3 nodes at 50"), at_point("requests open at the end")
    (('web ttlb, 3 nodes', '50'), ('requests open at the end', ''))
    """
    quantity, x = re.fullmatch(r"(.*?)(?: at ([0-9.]+))?", what).groups(default="")
    return quantity, x


def several(name, quantities):
    """Values of several quantities, of curves at a point: a row for each, a column for each transport."""
    rows, transports, most = [], [], 0
    for what in quantities.split("; "):
        quantity, x = at_point(what)
        found = sought(name, what, lambda value: value["quantity"] == quantity and place(value["x"]) == x)
        transports += [value["transport"] for value in found if value["transport"] not in transports]
        most = max(most, *(int(value["n"]) for value in found))
        rows.append((with_unit(what, found[0]), {value["transport"]: with_interval(value) + judged(value) for value in found}))
    # Nets and models of users are trained several times; all else is of sampled networks.
    draws = "runs" if name.startswith(("gan-", "traffic-")) else "networks"
    header = [f"{most} {draws}", *(f"`{transport}`" for transport in transports)]
    return table(header, [[what, *(of.get(transport, "") for transport in transports)] for what, of in rows])


def cases(name, whats):
    """The values of quantities in all cases: a row for each case, a column for each transport."""
    rows, transports, headings = {}, [], {}
    for what in whats.split("; "):
        quantity, x = at_point(what)

        def of_case(value):
            subject = value["quantity"].split(", ")[0]
            return (subject, place(value["x"])) == (quantity, x) and not is_claim(value)

        found = sought(name, what, of_case)
        headings[what] = with_unit(what, found[0])
        transports += [value["transport"] for value in found]
        for value in found:
            case = value["quantity"].partition(", ")[2], value["n"]
            rows.setdefault(case, {}).setdefault(value["transport"], {})[what] = with_interval(value) + judged(value)
    transports = list(dict.fromkeys(transports))
    header = [" / ".join(headings.values()), "networks", *(f"`{transport}`" for transport in transports)]

    def cell(said):
        return " / ".join(said.get(what, "none") for what in headings) if said else ""

    return [header, *([*case, *(cell(of.get(transport)) for transport in transports)] for case, of in rows.items())]


def courses(name, what):
    """Curves: a row for each quantity, or each case of it, and transport, a column for each x.

    All transports, or those behind " | ".
    """
    quantities, _, wanted = what.partition(" | ")
    quantities, wanted = quantities.split("; "), wanted.split(", ") if wanted else []
    curves = {}
    for value in values(name):
        if value["x"] and not is_claim(value) and (not wanted or value["transport"] in wanted):
            curves.setdefault(value["quantity"], []).append(value)
    rows, headings = {}, []
    for quantity in quantities:
        found = [quantity] if quantity in curves else [curve for curve in curves if curve.startswith(f"{quantity}, ")]
        if not found:
            raise SystemExit(f'the record of {name} has no curve "{quantity}"')
        headings.append(with_unit(quantity, curves[found[0]][0]))
        for value in (value for curve in found for value in curves[curve]):
            case = value["quantity"].removeprefix(quantity).removeprefix(", ")
            label = case if len(quantities) == 1 else with_unit(value["quantity"], value)
            rows.setdefault((label, value["transport"]), {})[value["x"]] = number(value["mean"])
    xs = sorted({x for of in rows.values() for x in of}, key=float)
    labels, transports = ({key[i] for key in rows} for i in range(2))
    title = headings[0] if len(quantities) == 1 else ""
    # A column that says the same in all rows is left out.
    if len(labels) == 1:
        header, keys = [title], [[f"`{transport}`"] for _, transport in rows]
    elif len(transports) == 1:
        header, keys = [f"{title}, `{transports.pop()}`"], [[label] for label, _ in rows]
    else:
        header, keys = [title, "transport"], [[label, f"`{transport}`"] for label, transport in rows]
    lines = [[*key, *(of.get(x, "") for x in xs)] for key, of in zip(keys, rows.values())]
    return table([*header, *map(place, xs)], lines)


def grid(name, what):
    """Quantities "A of R", or "A, R" at several x: a row for each R, or transport and x, a column for each A."""
    columns, names = (part.split("; ") for part in what.split(" | "))
    rows, header = {}, [""]
    for column in columns:
        for row in names:
            quantity = f"{column} {row}" if row.startswith("of ") else f"{column}, {row}"
            found = sought(name, quantity, lambda value: value["quantity"] == quantity)
            for value in found:
                at = f"`{value['transport']}`, {row} {place(value['x'])}" if value["x"] else row.removeprefix("of ")
                rows.setdefault(at, {})[column] = with_interval(value)
        header.append(with_unit(column, found[0]))
    return table(header, [[at, *(of.get(column, "") for column in columns)] for at, of in rows.items()])


def pairs(name, what):
    """Claims about several quantities: a row for each pair of transports and x, a column for each quantity."""
    quantities, rows = what.split("; "), {}
    for quantity in quantities:
        for value in sought(name, quantity, lambda value: value["quantity"] == f"{quantity}: difference"):
            at = value["transport"] + (f", {place(value['x'])}" if value["x"] else "")
            rows.setdefault((at, value["n"]), {})[quantity] = difference(value)
    lines = [[*key, *(of.get(quantity, "") for quantity in quantities)] for key, of in rows.items()]
    return table(["of", "networks", *quantities], lines)


def judged(value):
    """The verdict of a value behind it, if it is not what was to be shown.

    >>> judged({"verdict": "undecided"}), judged({"verdict": "reproduced"}), judged({"verdict": "not judged"})
    (' (undecided)', '', '')
    """
    return f" ({value['verdict']})" if value["verdict"] in VERDICTS[1:] else ""


def differences(name, what):
    """Claims of one transport and quantity in all cases: a row for each case, a column for each other one."""
    first, _, quantity = what.partition(": ")
    rows, others = {}, []
    for value in values(name):
        subject, _, case = value["quantity"].removesuffix(": difference").partition(", ")
        one, _, other = value["transport"].partition(" vs ")
        if is_claim(value) and (one, subject) == (first, quantity):
            others += [other] if other not in others else []
            rows.setdefault(case, {})[other] = difference(value)
    lines = [[case, *(of.get(other, "") for other in others)] for case, of in rows.items()]
    return table([f"{quantity}: `{first}` against", *(f"`{other}`" for other in others)], lines)


def claims(name, ending=""):
    """The claims of an experiment; those of one quantity and pair at several x in one row."""
    groups = {}
    for value in values(name):
        if is_claim(value) and ending in value["quantity"]:
            groups.setdefault((value["figure"], value["quantity"], value["transport"]), []).append(value)
    rows = []
    for (figure, quantity, pair), found in groups.items():
        claimed = {("", "0"): "lower", ("0", ""): "higher", ("", ""): "a percentage"}
        direction = claimed.get((found[0]["band_low"], found[0]["band_high"]), "")
        end = found[0]["band_high"] or found[0]["band_low"]
        direction = direction or f"{'within' if found[0]['band_high'] else 'not below'} {number(end)} %"
        at = ", ".join(place(value["x"]) for value in found if value["x"])
        ours = measured(found[0]) if len(found) == 1 else f"{len(found)} differences"
        rows.append([figure, quantity.removesuffix(": difference"), at, pair, direction, ours, said(found)])
    return table(["figure", "what", "at", "of", "claimed", "ours", "verdict"], rows)


# Tables of a record, by what pages call them; those of cases have transports in columns, or in rows.
TABLES = {
    "verdicts": verdicts,
    "claims": claims,
    "values": of_quantity,
    "rows": several,
    "cases": lambda *of: table_of(cases(*of)),
    "across": lambda *of: table_of(zip(*cases(*of))),
    "differences": differences,
    "courses": courses,
    "grid": grid,
    "pairs": pairs,
}


def block(order):
    """What stands for an order of a page."""
    kind, *rest = order.split(" ", 2)
    if kind == "counts":
        return totals()
    if kind == "verdicts" and not rest:
        return overview()
    if rest and rest[0] not in names():
        return f"No record yet: `hopflow reproduce {rest[0]}`, then `tools/records.py add FOLDER`, make one."
    if kind in TABLES:
        return TABLES[kind](*rest)
    raise SystemExit(f'there is no table "{order}"; allowed: counts, verdicts, verdicts ID [ENDING], values ID QUANTITY, rows ID QUANTITY [at X]; ..., claims ID [ENDING], cases or across ID QUANTITY [at X]; ..., differences ID FIRST: QUANTITY, courses ID QUANTITY; ... [| TRANSPORT, ...], grid ID QUANTITY; ... | of WHAT; ..., pairs ID QUANTITY; ...')


def page(text):
    """A page with all its tables made anew."""
    def made(match):
        return f"{BEGIN}{match[1]} -->\n{block(match[1])}\n<!-- end of record -->"

    return BLOCK.sub(made, text)


def unended(text):
    r"""The blocks of a page that do not end.

    >>> unended("<!-- record: A -->\n\nprose\n\n<!-- record: B -->\n<!-- end of record -->")
    ['A']
    """
    return re.findall(rf"{BEGIN}(.*?) -->", BLOCK.sub("", text))


def bands_of(data, name):
    """The bands of a data file: of curves by quantity, transport and x, of experiments in Python by quantity.

    >>> curve = {"quantity": "rate", "transport": "a", "paper": [[1, 100, 95, 105]], "whole": [2, 1, 3]}
    >>> bands_of({"curves": [curve]}, "")
    ({('rate', 'a', 1.0): [100, 95, 105], ('rate', 'a', None): [2, 1, 3]}, {})
    >>> bands_of({"band": [{"figure": "f", "quantity": "rate", "high": 3}]}, "f")
    ({}, {'rate': [3]})
    """
    bands, of_quantities = {}, {}
    for curve in data.get("curves", []):
        key = curve["quantity"], curve["transport"]
        for x, *of in curve.get("paper", []):
            bands[(*key, float(x))] = of
        if "whole" in curve:
            bands[(*key, None)] = curve["whole"]
    for band in data.get("band", []):
        if band["figure"] == name:
            of_quantities[band["quantity"]] = [band[key] for key in ("paper", "low", "high") if key in band]
    return bands, of_quantities


def direction(how, unit):
    """The ends of the band of a claim, as a record has them.

    >>> direction("lower", "%"), direction("higher", "s"), direction({"within": 25}, "%")
    ((None, 0.0), (0.0, None), (-25.0, 25.0))
    >>> direction({"not-below": 2}, "%"), direction({"not-below": 2}, "s")
    ((-2.0, None), (None, None))
    """
    if isinstance(how, str):
        return {"lower": (None, 0.0), "higher": (0.0, None)}[how]
    # Without ratios no percentage can be judged.
    if unit != "%":
        return None, None
    return (-float(how["within"]), float(how["within"])) if "within" in how else (-float(how["not-below"]), None)


def claims_of(data):
    """The claims and trends of a data file: how things differ, by what a record's values of them are.

    >>> claim = {"quantity": "rate", "first": "a", "from": ["b", "c"], "is": "lower"}
    >>> claims_of({"claims": [claim]})
    {('rate', None, 'a vs b', None): 'lower', ('rate', None, 'a vs c', None): 'lower'}
    >>> trend = {"quantity": "rate", "transports": ["a"], "x": [1, 2], "is": "higher"}
    >>> claims_of({"trends": [trend]})
    {('rate', 1.0, 'a', 2.0): 'higher'}
    """
    made = {}
    for claim in data.get("claims", []):
        for x in claim.get("x") or [None]:
            for other in claim["from"]:
                made[claim["quantity"], None, f"{claim['first']} vs {other}", x if x is None else float(x)] = claim["is"]
    for trend in data.get("trends", []):
        for before, x in itertools.pairwise(trend["x"]):
            for transport in trend["transports"]:
                made[trend["quantity"], float(before), transport, float(x)] = trend["is"]
    return made


def claimed(value):
    """What a claim of a record is of: a key of `claims_of`.

    >>> claimed({"quantity": "rate: difference", "transport": "a vs b", "x": ""})
    ('rate', None, 'a vs b', None)
    >>> claimed({"quantity": "rate: change from 1", "transport": "a", "x": "2"})
    ('rate', 1.0, 'a', 2.0)
    """
    quantity, change, before = value["quantity"].removesuffix(": difference").partition(": change from ")
    return quantity, float(before) if change else None, value["transport"], x_of(value)


def x_of(value):
    """The swept value, as a number."""
    return float(value["x"]) if value["x"] else None


def other_claims(data, found):
    """Claims of a record that its data file does not make so, and claims of the file that it lacks.

    >>> data = {"claims": [{"quantity": "rate", "first": "a", "from": ["b"], "is": "lower"}]}
    >>> value = {"quantity": "rate: difference", "unit": "%", "transport": "a vs b", "x": "", "band_low": "", "band_high": "0"}
    >>> list(other_claims(data, [value]))
    []
    >>> list(other_claims(data, [value | {"band_low": "-25", "band_high": "25"}]))
    ['rate, a vs b']
    >>> list(other_claims({}, [value])), list(other_claims(data, []))
    (['rate, a vs b'], ['rate, a vs b'])
    """
    claims = claims_of(data)
    made = {claimed(value): value for value in found if is_claim(value)}
    for key in claims | made:
        quantity, _, transports, _ = key
        differs = key not in claims or key not in made
        if not differs:
            ends = tuple(float(made[key][end]) if made[key][end] else None for end in ("band_low", "band_high"))
            differs = ends != direction(claims[key], made[key]["unit"])
        if differs:
            yield f"{quantity}, {transports}"


def other_bands(data, name, found):
    """Values of a record that its data file has another band for."""
    bands, of_quantities = bands_of(data, name)
    for value in found:
        # What no run has is counted, in a band of its own.
        if is_claim(value) or value["quantity"].endswith(WITH_VALUE):
            continue
        wanted = bands.get((value["quantity"], value["transport"], x_of(value)), [])
        # Of the arms of an experiment in Python one is judged, at each seed.
        if not value["transport"] or value["verdict"] != "not judged":
            wanted = wanted or of_quantities.get(value["quantity"], [])
        was = [value[end] for end in ("paper", "band_low", "band_high")]
        if [float(number) for number in was if number] != [float(number) for number in wanted]:
            yield f"{value['quantity']}, {value['transport']}"


def bands_differ(name):
    """Whether a record was judged by other bands or claims than the data file has now."""
    file = EXPERIMENTS / f"{name}.toml"
    data = tomllib.loads((file if file.is_file() else BANDS_IN_PYTHON).read_text(encoding="utf-8"))
    found = values(name)
    for what in itertools.islice(itertools.chain(other_bands(data, name, found), other_claims(data, found)), 1):
        yield f"the record of {name} was judged by other bands: {what}"


def problems():
    """What is wrong with records and pages."""
    for name in names():
        yield from bands_differ(name)
        if about(name).get("values") != short((RECORDS / name / "values.csv").read_text(encoding="utf-8")):
            yield f"the record of {name} has other values than were recorded: the hash of its values.csv does not fit"
        for preset, hashes in about(name)["golden"].items():
            if golden([preset], name)[preset] != hashes:
                yield f"the record of {name} was made by another `{preset}`: its golden hashes have changed since"
    for path in PAGES:
        file = ROOT / path
        if not file.is_file():
            continue
        text = file.read_text(encoding="utf-8")
        for order in unended(text):
            yield f"{path}: the block of the record {order} has no end"
        if page(text) != text:
            yield f"{path} differs from its records: `tools/records.py write` writes it"


def main():
    parser = argparse.ArgumentParser(description="The records of reproductions, and the tables made of them.")
    parser.add_argument("order", choices=["check", "write", "add"])
    parser.add_argument("folders", nargs="*", help="folders to add")
    parser.add_argument("--commit", default="HEAD", help="what the program was built from (default: HEAD)")
    parser.add_argument("--given", default="", help="the options of experiments in Python, such as '--seeds 10'")
    options = parser.parse_args()
    if options.order == "add":
        for folder in options.folders:
            add(folder, options.commit, options.given)
    if options.order == "write":
        for path in PAGES:
            file = ROOT / path
            if file.is_file():
                file.write_text(page(file.read_text(encoding="utf-8")), encoding="utf-8")
    found = list(problems()) if options.order == "check" else []
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
