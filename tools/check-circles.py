#!/usr/bin/env python3
"""Finds circles of imports between the source files of each crate.

A file uses another if its code, tests aside, names something that the other file defines, by a path
that begins with `crate`, `self`, `super` or a module of its own. Names that a file only passes on
(`pub use`) lead to the file that defines them, so that a folder's `mod.rs` may show what is within.
Exit status: 0 if there is no circle, 1 if there are some.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ITEM = re.compile(
    r"\b(?:fn|struct|enum|union|trait|type|const|static|mod)\s+(?:mut\s+)?([A-Za-z_]\w*)"
    r"|macro_rules!\s*([A-Za-z_]\w*)"
)
USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
NAME = r"[A-Za-z_]\w*"
ROOTED = re.compile(rf"(?<![\w:$])(?:\$?crate|self|super)(?:::{NAME})+")
LOCAL = re.compile(rf"(?<![\w:.$'])({NAME})(?:::{NAME})+")


def without_strings(text):
    r"""The text without comments and the content of strings.

    >>> without_strings('a("x // y") // z')
    'a("") '
    """
    token = re.compile(
        r'r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.[^\']*|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/', re.S
    )

    def kept(match):
        found = match.group()
        if found.startswith("/"):
            return ""
        return "' '" if found[-1] == "'" else '""'

    return token.sub(kept, text)


def without_tests(text):
    """The text without items under `#[cfg(test)]`.

    >>> without_tests("a; #[cfg(test)] mod tests { b { c } } d;")
    'a;  d;'
    >>> without_tests("#[cfg(test)] mod tests; d;")
    ' d;'
    """
    mark = "#[cfg(test)]"
    while mark in text:
        start = text.index(mark)
        place, depth = start + len(mark), 0
        while place < len(text):
            letter = text[place]
            depth += (letter == "{") - (letter == "}")
            place += 1
            if depth == 0 and letter in ";}":
                break
        text = text[:start] + text[place:]
    return text


def spread(tree, prefix=()):
    """The paths that the text of a `use` names, each with the name that it gets.

    >>> list(spread("super::{a::B, self, c as d}"))
    [(('super', 'a', 'B'), 'B'), (('super',), 'super'), (('super', 'c'), 'd')]
    """
    tree = tree.strip()
    brace = tree.find("{")
    if brace >= 0:
        prefix += tuple(part for part in tree[:brace].replace(" ", "").split("::") if part)
        depth, begin = 0, brace + 1
        for place in range(brace, len(tree)):
            letter = tree[place]
            depth += (letter == "{") - (letter == "}")
            if (letter == "," and depth == 1) or depth == 0:
                if tree[begin:place].strip():
                    yield from spread(tree[begin:place], prefix)
                begin = place + 1
            if depth == 0:
                return
        return
    path, _, name = tree.partition(" as ")
    path = prefix + tuple(path.replace(" ", "").split("::"))
    if path[-1] == "self" and len(path) > 1:
        path = path[:-1]
    yield path, name.strip() or path[-1]


class Module:
    """A source file: the module that it is, what it defines and what it imports."""

    def __init__(self, path, name, text):
        self.path, self.name = path, name
        text = without_tests(without_strings(text))
        self.imports = []
        for public, tree in USE.findall(text):
            self.imports += [(bool(public), path, given) for path, given in spread(tree)]
        self.code = USE.sub("", text)
        self.defined = {first or second for first, second in ITEM.findall(self.code)}
        self.modules = set(re.findall(rf"\bmod\s+({NAME})\s*;", self.code))
        self.defined -= self.modules

    def paths(self):
        """The paths that the code names; an import that is only passed on is not one."""
        own = re.sub(rf"\bmod\s+{NAME}\s*;", "", self.code)
        for public, path, given in self.imports:
            if not public or re.search(rf"\b{given}\b", own):
                yield path
        heads = self.modules | {given for _, _, given in self.imports}
        yield from (tuple(found.group().lstrip("$").split("::")) for found in ROOTED.finditer(self.code))
        for found in LOCAL.finditer(self.code):
            if found.group(1) in heads and found.group(1) not in ("crate", "self", "super"):
                yield tuple(found.group().split("::"))


def modules_of(sources):
    """The modules of a crate from its files: pairs of a path below `src` and a text."""
    modules = {}
    for path, text in sources:
        parts = Path(path).with_suffix("").parts
        name = parts[:-1] if parts[-1] in ("mod", "lib") else parts
        modules[name] = Module(path, name, text)
    return modules


def resolve(modules, here, path, seen=frozenset()):
    """The module that defines what `path` names in the module `here`; none if it is not of ours.

    >>> crate = modules_of([
    ...     ("lib.rs", "mod a; pub mod b; pub use a::X;"),
    ...     ("a.rs", "pub struct X; pub use crate::b::deep::*;"),
    ...     ("b/mod.rs", "pub mod deep;"),
    ...     ("b/deep.rs", "pub const Y: u8 = 1; use super::super::X;"),
    ... ])
    >>> resolve(crate, ("b",), ("crate", "X"))
    ('a',)
    >>> resolve(crate, ("b", "deep"), ("super", "super", "a", "Y"))
    ('b', 'deep')
    >>> resolve(crate, (), ("std", "X"))
    """
    if (here, path) in seen:
        return None
    seen |= {(here, path)}
    head, rest = path[0], path[1:]
    if head == "crate":
        return descend(modules, (), rest, seen)
    if head == "self":
        return descend(modules, here, rest, seen)
    if head == "super":
        return resolve(modules, here[:-1], ("self", *rest), seen) if here else None
    module = modules[here]
    if head in module.modules:
        return descend(modules, here, path, seen)
    for _, target, given in module.imports:
        if given == head and target[:1] != (head,):
            return resolve(modules, here, (*target, *rest), seen)
    return None


def descend(modules, at, path, seen):
    """The module that defines what `path` names below the module `at`."""
    while path and path[0] == "super":
        at, path = at[:-1], path[1:]
    if at not in modules:
        return None
    if not path or path[0] in modules[at].defined:
        return at
    module, head = modules[at], path[0]
    if head in module.modules:
        return descend(modules, (*at, head), path[1:], seen)
    for _, target, given in module.imports:
        if given == head:
            return resolve(modules, at, (*target, *path[1:]), seen)
    for _, target, given in module.imports:
        if given == "*":
            found = resolve(modules, at, (*target[:-1], *path), seen)
            if found is not None:
                return found
    return at if head == "*" else None


def uses(modules):
    """For each module the modules that it uses.

    >>> crate = modules_of([
    ...     ("lib.rs", "mod a; mod b; pub use a::X;"),
    ...     ("a.rs", "pub struct X; fn f() { crate::b::g() } #[cfg(test)] mod t { use crate::X; }"),
    ...     ("b.rs", "use crate::X; pub fn g() {}"),
    ... ])
    >>> sorted((one, sorted(used)) for one, used in uses(crate).items())
    [((), []), (('a',), [('b',)]), (('b',), [('a',)])]
    """
    edges = {}
    for name, module in modules.items():
        found = {resolve(modules, name, path) for path in module.paths()}
        edges[name] = found - {None, name}
    return edges


def circles(edges):
    """The groups of modules that use each other, directly or not.

    >>> circles({1: {2}, 2: {3}, 3: {2}, 4: {4}})
    [[2, 3]]
    """
    reached = {}
    for start in edges:
        open_ends, seen = list(edges[start]), set()
        while open_ends:
            at = open_ends.pop()
            if at not in seen:
                seen.add(at)
                open_ends += edges.get(at, ())
        reached[start] = seen
    groups = {
        tuple(sorted({other for other in seen if start in reached[other]} | {start}))
        for start, seen in reached.items()
        if start in seen
    }
    return sorted(list(group) for group in groups if len(group) > 1)


def crate_circles(source):
    """The circles of the crate whose code is in the folder `source`, as lists of files."""
    files = sorted(source.rglob("*.rs"))
    skipped = {"tests.rs", "main.rs"}
    modules = modules_of(
        (file.relative_to(source), file.read_text()) for file in files if file.name not in skipped
    )
    named = lambda name: (source / modules[name].path).relative_to(ROOT).as_posix()
    return [[named(name) for name in circle] for circle in circles(uses(modules))]


def main():
    found = [
        circle
        for room in ("core", "simulator", "real", "study", "front")
        for source in sorted((ROOT / room).glob("*/src"))
        for circle in crate_circles(source)
    ]
    for circle in found:
        print(f"error: a circle of imports: {', '.join(circle)}", file=sys.stderr)
    if not found:
        print("circles of imports: none")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
