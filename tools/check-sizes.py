#!/usr/bin/env python3
"""Checks the sizes of functions and structs outside of tests: half of the functions have at most 7 lines,
nine of ten at most 22, and none more than 50; a struct with methods that change it has at most 12 fields.

The lines of a function are those from `fn` to its closing brace. Structs that are read from files are left
out: their fields are what users may write."""

import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# One table of results for each field.
LISTS = {"Collected"}
MEDIAN, NINTH_DECILE, MOST_LINES, MOST_FIELDS = 7, 22, 50, 12
FUNCTION = re.compile(r"^(\s*)(?:pub(?:\([^)]*\))? )?(?:const |async )*fn (\w+)", re.M)
STRUCT = re.compile(r"^(?:pub(?:\([^)]*\))? )?struct (\w+)[^;{]*\{\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^    (?:pub(?:\([^)]*\))? )?(?:r#)?\w+: ", re.M)
IMPL = re.compile(r"^impl\b([^{]*)\{\n(.*?)^\}", re.M | re.S)
TESTS = re.compile(r"^#\[cfg\((?:test|all\(test)[^\n]*\n(?:mod \w+;|mod \w+ \{\n.*?^\})", re.M | re.S)


def functions(source):
    """The names of functions with bodies, and how many lines each has.

    >>> list(functions("fn one() {}\\nimpl A {\\n    pub(crate) const fn two(&self) -> u8 {\\n        2\\n    }\\n}\\n"))
    [('one', 1), ('two', 3)]
    >>> list(functions("trait T {\\n    fn declared(&self);\\n    fn given(\\n        &self,\\n    ) {\\n    }\\n}\\n"))
    [('given', 4)]
    """
    for found in FUNCTION.finditer(source):
        lines = 0
        for line in source[found.start() :].lstrip("\n").splitlines():
            lines += 1
            if line == found[1].lstrip("\n") + "}" or (lines == 1 and line.endswith("}")):
                yield found[2], lines
                break
            if line.endswith(";") and not re.search(r"\{$", line) and len(line) - len(line.lstrip()) <= len(
                found[1].lstrip("\n")
            ):
                break


def structs(sources):
    """The names of structs of a crate that have methods which change them, and their numbers of fields.

    >>> a = "struct A<T> {\\n    /// One.\\n    pub(crate) b: T,\\n    c: u8,\\n}\\nimpl<T> A<T> {\\n    fn d(&mut self) {}\\n}\\n"
    >>> list(structs([a, "struct B {\\n    c: u8,\\n}\\nimpl B {\\n    fn c(&self) {}\\n}\\n"]))
    [('A', 2)]
    """
    changing = {
        name
        for source in sources
        for head, body in IMPL.findall(source)
        if re.search(r"&mut self\b", body)
        for name in re.findall(r"\w+", head)
    }
    for source in sources:
        for found in STRUCT.finditer(source):
            name, body = found.groups()
            attributes = source[: found.start()].rpartition("\n\n")[2]
            if name in changing - LISTS and "Deserialize" not in attributes:
                yield name, len(FIELD.findall(body))


def crates():
    """The sources of each crate without tests, by folder."""
    listed = subprocess.run(["git", "ls-files", "*.rs"], cwd=ROOT, check=True, capture_output=True, text=True)
    found = {}
    for file in map(pathlib.PurePath, listed.stdout.splitlines()):
        if "src" not in file.parts or file.name == "tests.rs" or "tests" in file.parts:
            continue
        crate = file.parents[len(file.parts) - file.parts.index("src") - 1]
        source = TESTS.sub("", (ROOT / file).read_text())
        found.setdefault(crate, {})[file] = source
    return found


def main():
    sizes, wrong = [], []
    for crate, sources in crates().items():
        for file, source in sources.items():
            for name, lines in functions(source):
                sizes.append(lines)
                if lines > MOST_LINES:
                    wrong.append(f"{file}: {name} has {lines} lines: at most {MOST_LINES} are allowed")
        for name, fields in structs(sources.values()):
            if fields > MOST_FIELDS:
                wrong.append(f"{crate}: {name} has {fields} fields: at most {MOST_FIELDS} are allowed")
    median, ninth = statistics.median(sizes), statistics.quantiles(sizes, n=10)[-1]
    if median > MEDIAN:
        wrong.append(f"half of the functions have more than {median} lines: {MEDIAN} are allowed")
    if ninth > NINTH_DECILE:
        wrong.append(f"a tenth of the functions has more than {ninth} lines: {NINTH_DECILE} are allowed")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(sizes)} functions: median {median:g} lines, ninth decile {ninth:g}, longest {max(sizes)}")


if __name__ == "__main__":
    main()
