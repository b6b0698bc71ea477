#!/usr/bin/env python3
"""Prints the workspace's crates in an order in which they can be published: what one uses comes before it.

Dependencies of tests do not count: cargo leaves out those that have a path and no version.
With `--check`, says what keeps crates from being published, and has the exit status 1 if something does.
"""

import json
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

# What is made for tests, for other registries, or to be copied.
UNPUBLISHED = {"hopflow-own-transport", "hopflow-playground", "hopflow-python", "hopflow-testkit"}
ROOT = Path(__file__).resolve().parent.parent


def metadata():
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {package["name"]: package for package in json.loads(found.stdout)["packages"]}


def published(crates):
    return [name for name in order(crates) if name not in UNPUBLISHED]


def own(package, crates):
    """The dependencies of a crate's own code that are crates of the workspace."""
    kept = [it for it in package["dependencies"] if it["kind"] != "dev"]
    return sorted((it for it in kept if it["name"] in crates), key=lambda it: it["name"])


def order(crates):
    """The names of the crates, what others use first.

    >>> one = {"dependencies": [{"name": "b", "kind": None}, {"name": "c", "kind": "dev"}]}
    >>> none = {"dependencies": []}
    >>> order({"a": one, "b": none, "c": {"dependencies": [{"name": "a", "kind": None}]}})
    ['b', 'a', 'c']
    """
    uses = {name: [it["name"] for it in own(package, crates)] for name, package in crates.items()}
    return list(TopologicalSorter({name: uses[name] for name in sorted(uses)}).static_order())


def obstacles(crates):
    for name in published(crates):
        package = crates[name]
        if package["publish"] == []:
            yield f"{name}: `publish = false`"
        for it in own(package, crates):
            if it["req"] == "*":
                yield f"{name}: its dependency {it['name']} has no version"
        for it in package["dependencies"]:
            if it["kind"] == "dev" and it["name"] in crates and it["req"] != "*":
                yield f"{name}: its tests use {it['name']} by version, and not by path alone"
        for key in ("description", "license"):
            if not package[key]:
                yield f"{name}: there is no `{key}`"


def main():
    crates = metadata()
    if sys.argv[1:] == ["--check"]:
        found = list(obstacles(crates))
        print("\n".join(found) if found else "nothing keeps the crates from being published")
        return 1 if found else 0
    if sys.argv[1:]:
        print(f"there is no option {sys.argv[1]}; allowed is --check", file=sys.stderr)
        return 2
    print("\n".join(published(crates)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
