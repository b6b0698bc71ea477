#!/usr/bin/env python3
"""Checks that the workspace's crates depend on each other only as docs/adr/0001 allows.

Reads `cargo metadata` and prints one line per dependency that the tables below do not allow.
Exit status: 0 if there is none, 1 if there are some, 2 if cargo fails.
"""

import json
import subprocess
import sys

# What each crate's own code may use. A crate that is not listed may use none of ours.
ALLOWED = {
    "hopflow-units": set(),
    "hopflow-stats": set(),
    "hopflow-mpc": set(),
    "hopflow-random": {"units"},
    "hopflow-netem": {"units", "random"},
    "hopflow-paths": {"units", "random"},
    "hopflow-wire": {"units"},
    "hopflow-tcp": {"units"},
    "hopflow-onion": {"units", "wire"},
    "hopflow-channel": {"units"},
    "hopflow-results": {"units", "stats"},
    "hopflow-overlay": {"units", "wire", "tcp"},
    "hopflow-transports": {"units", "wire", "tcp", "overlay", "mpc"},
    "hopflow-sim": {"units", "random", "netem", "wire", "tcp", "overlay"},
    "hopflow-traffic": {"units", "random", "wire", "sim"},
    "hopflow-testkit": {"units", "wire", "tcp", "overlay"},
    "hopflow-engine": {"units", "wire", "overlay", "onion", "channel"},
    "hopflow-daemon": {
        "units", "random", "wire", "overlay", "onion", "channel", "engine", "transports", "paths", "netem",
    },
    "hopflow-report": {"units", "stats", "results"},
    "hopflow-lab": {"units", "random", "paths", "mpc", "tcp", "overlay", "transports", "sim", "traffic", "stats", "results", "report"},
    "hopflow-testbed": {"units", "random", "overlay", "transports", "sim", "results", "daemon"},
    "hopflow": {"units", "transports", "lab", "results", "report", "daemon", "testbed"},
    "hopflow-python": {"hopflow", "units", "lab", "results", "report"},
}

# What tests and benches may use on top of that.
ALLOWED_IN_TESTS = {
    "hopflow-mpc": {"random"},
    "hopflow-overlay": {"testkit"},
    "hopflow-transports": {"random", "testkit", "sim"},
    "hopflow-sim": {"testkit", "transports"},
    "hopflow-engine": {"transports"},
}


def violations(edges):
    """The lines to print for `edges`, triples of crate, kind and crate.

    >>> violations([("hopflow-overlay", "normal", "hopflow-wire")])
    []
    >>> violations([("hopflow-overlay", "dev", "hopflow-testkit")])
    []
    >>> print(*violations([("hopflow-sim", "normal", "hopflow-transports")]))
    hopflow-sim must not depend on hopflow-transports (allowed: netem, overlay, random, tcp, units, wire)
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


def main():
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
