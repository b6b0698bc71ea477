#!/usr/bin/env python3
"""Checks that the workspace's crates depend on each other only as docs/adr/0001 allows.

Reads `cargo metadata` and prints one line per dependency that the tables below do not allow. The
table in docs/adr/0001 is made of the first of them: `--write` writes it, and any other run compares.
Exit status: 0 if all is well, 1 if something is not, 2 if cargo fails.
"""

import json
import subprocess
import sys
from pathlib import Path

# What each crate's own code may use. A crate that is not listed may use none of ours.
ALLOWED = {
    "hopflow-units": set(),
    "hopflow-stats": set(),
    "hopflow-mpc": set(),
    "hopflow-random": {"units"},
    "hopflow-config": set(),
    "hopflow-netem": {"units", "random"},
    "hopflow-paths": {"units", "random"},
    "hopflow-wire": {"units"},
    "hopflow-tcp": {"units"},
    "hopflow-onion": {"units", "wire"},
    "hopflow-channel": {"units"},
    "hopflow-results": {"units", "stats"},
    "hopflow-overlay": {"units", "wire", "tcp"},
    "hopflow-transports": {"units", "config", "wire", "tcp", "overlay", "mpc"},
    "hopflow-trace": {"units", "wire", "overlay"},
    "hopflow-sim": {"units", "random", "netem", "wire", "tcp", "overlay", "trace"},
    "hopflow-simulated-hosts": {"overlay", "transports", "sim"},
    "hopflow-real-hosts": {"overlay", "transports", "onion", "engine"},
    "hopflow-traffic": {"units", "random", "wire", "sim"},
    "hopflow-testkit": {"units", "wire", "tcp", "overlay"},
    "hopflow-engine": {"units", "wire", "overlay", "trace", "onion", "channel"},
    "hopflow-daemon": {
        "units", "config", "random", "wire", "overlay", "onion", "channel", "engine", "transports", "real-hosts", "paths",
        "netem", "trace",
    },
    "hopflow-report": {"units", "stats", "results"},
    "hopflow-lab": {"units", "config", "wire", "random", "paths", "overlay", "trace", "transports", "sim", "simulated-hosts", "traffic", "stats", "results"},
    "hopflow-reproductions": {"units", "wire", "random", "mpc", "tcp", "sim", "stats", "results", "report", "lab"},
    "hopflow-testbed": {"units", "wire", "random", "netem", "overlay", "transports", "sim", "simulated-hosts", "real-hosts", "results", "daemon"},
    "hopflow-api": {"testbed", "transports", "lab", "reproductions", "results", "report", "stats"},
    "hopflow-picture": {"units", "sim"},
    "hopflow-live": {"units", "overlay", "sim", "lab", "results", "picture"},
    "hopflow": {"units", "onion", "overlay", "sim", "transports", "lab", "results", "report", "daemon", "testbed", "api", "live"},
    "hopflow-playground": {"units", "config", "transports", "lab", "picture"},
    "hopflow-own-transport": {"hopflow", "units", "wire", "overlay", "transports"},
    "hopflow-python": {"hopflow", "units", "lab", "results", "report", "api"},
}

# What tests and benches may use on top of that.
ALLOWED_IN_TESTS = {
    "hopflow-playground": {"results"},
    "hopflow-mpc": {"random"},
    "hopflow-config": {"units"},
    "hopflow-tcp": {"testkit"},
    "hopflow-overlay": {"testkit"},
    "hopflow-transports": {"random", "testkit", "sim"},
    "hopflow-sim": {"testkit", "transports"},
    "hopflow-engine": {"real-hosts", "transports"},
    "hopflow-lab": {"testkit"},
    "hopflow-daemon": {"testkit"},
    "hopflow-testbed": {"testkit"},
    "hopflow-own-transport": {"testkit"},
}


def violations(edges):
    """The lines to print for `edges`, triples of crate, kind and crate.

    >>> violations([("hopflow-overlay", "normal", "hopflow-wire")])
    []
    >>> violations([("hopflow-overlay", "dev", "hopflow-testkit")])
    []
    >>> print(*violations([("hopflow-sim", "normal", "hopflow-transports")]))
    hopflow-sim must not depend on hopflow-transports (allowed: netem, overlay, random, tcp, trace, units, wire)
    >>> print(*violations([("hopflow-units", "dev", "hopflow-sim")]))
    hopflow-units must not depend on hopflow-sim, not even in tests (allowed: none)
    >>> print(*violations([("hopflow-new", "normal", "hopflow-units")]))
    hopflow-new must not depend on hopflow-units (allowed: none)
    """
    lines = []
    for user, kind, used in sorted(edges):
        allowed = ALLOWED.get(user, set())
        where = ""
        if kind == "dev":
            allowed = allowed | ALLOWED_IN_TESTS.get(user, set())
            where = ", not even in tests"
        if used.removeprefix("hopflow-") not in allowed:
            names = ", ".join(sorted(allowed)) or "none"
            lines.append(f"{user} must not depend on {used}{where} (allowed: {names})")
    return lines


def workspace_edges():
    """The dependencies between the workspace's crates, as triples of crate, kind and crate."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"]
    packages = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["packages"]
    ours = {package["name"] for package in packages}
    return [
        (package["name"], dependency["kind"] or "normal", dependency["name"])
        for package in packages
        for dependency in package["dependencies"]
        if dependency["name"] in ours
    ]


ADR = Path(__file__).resolve().parent.parent / "docs/adr/0001-workspace-and-layers.md"
BEGIN, END = "<!-- crates: begin -->\n", "<!-- crates: end -->\n"


def table(folders, allowed):
    """The crates of each folder and what they may use, as Markdown.

    >>> print(table({"core/wire": "hopflow-wire"}, {"hopflow-wire": {"units"}}), end="")
    | room | crate | uses |
    | --- | --- | --- |
    | core | `wire` | units |
    """
    lines = ["| room | crate | uses |", "| --- | --- | --- |"]
    for folder, crate in sorted(folders.items(), key=lambda it: (ROOMS.index(it[0].split("/")[0]), it)):
        room, name = folder.split("/")
        uses = ", ".join(sorted(allowed.get(crate, ()))) or "none of ours"
        lines.append(f"| {room} | `{crate.removeprefix('hopflow-')}` | {uses} |")
    return "".join(f"{line}\n" for line in lines)


ROOMS = ["core", "simulator", "real", "study", "front"]


def with_table(text, crates):
    """The text with the table of crates in its place.

    >>> with_table(f"a\\n{BEGIN}old{END}b", "new") == f"a\\n{BEGIN}new{END}b"
    True
    """
    before, rest = text.split(BEGIN)
    return before + BEGIN + crates + END + rest.split(END)[1]


def crate_folders():
    """The folder of each crate, with its name."""
    root = ADR.parent.parent.parent
    manifests = (path for room in ROOMS for path in sorted((root / room).glob("*/Cargo.toml")))
    name = lambda path: next(
        line.split('"')[1] for line in path.read_text().splitlines() if line.startswith("name = ")
    )
    return {path.parent.relative_to(root).as_posix(): name(path) for path in manifests}


def main():
    text = ADR.read_text()
    expected = with_table(text, table(crate_folders(), ALLOWED))
    if "--write" in sys.argv:
        ADR.write_text(expected)
    elif text != expected:
        print(f"error: the table in {ADR.name} is old: run {sys.argv[0]} --write", file=sys.stderr)
        return 1
    try:
        edges = workspace_edges()
    except (OSError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", None) or b""
        print(f"error: {error}\n{detail.decode(errors='replace')}".rstrip(), file=sys.stderr)
        return 2
    wrong = violations(edges)
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    if not wrong:
        print(f"crate graph: {len(edges)} dependencies, all in allowed directions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
