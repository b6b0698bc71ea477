#!/usr/bin/env python3
"""Checks the walks of docs/architecture.md: every function that a step names is in the file that it
names, and the sentence behind each walk gives the right numbers. `--write` corrects the sentences."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/architecture.md"
FOLDERS = {
    "O": "core/overlay/src",
    "T": "core/transports/src",
    "W": "simulator/sim/src/world",
    "E": "real/engine/src",
    "N": "real/daemon/src/net",
}
BLOCK = re.compile(r"^```walk (\d)\n(.*?)^```$", re.M | re.S)
COUNT = re.compile(r"(<!-- walk (\d): -->)(.*?)(<!-- -->)", re.S)


def steps(block):
    """The steps of a block, each a file and a function.

    >>> list(steps("E/mod.rs  Engine::send\\n  src/a.rs  take, Way::new\\n"))
    [('real/engine/src/mod.rs', 'Engine::send'), ('src/a.rs', 'take'), ('src/a.rs', 'Way::new')]
    """
    for line in block.splitlines():
        file, functions = line.split(maxsplit=1)
        folder, _, rest = file.partition("/")
        file = f"{FOLDERS[folder]}/{rest}" if folder in FOLDERS else file
        for function in functions.split(","):
            yield file, function.strip()


def defines(source, function):
    """Whether a source has a function of this name, and its type where one is named.

    >>> defines("impl<P> Link<P> {\\n fn send(&self) {", "Link::send")
    True
    >>> defines("fn sender()", "send")
    False
    """
    kind, _, name = function.rpartition("::")
    found = re.search(rf"\bfn {name}\b", source)
    return bool(found) and (not kind or re.search(rf"\b{kind}\b", source) is not None)


def main():
    text = PAGE.read_text()
    walks, missing = {}, []
    for number, block in BLOCK.findall(text):
        for file, function in steps(block):
            walks.setdefault(number, set()).add((file, function))
            path = ROOT / file
            if not path.is_file():
                missing.append(f"walk {number}: there is no file {file}")
            elif not defines(path.read_text(), function):
                missing.append(f"walk {number}: {file} has no function {function}")

    def sentence(match):
        walk = walks.get(match[2], set())
        files = len({file for file, _ in walk})
        return f"{match[1]}{len(walk)} functions in {files} files.{match[4]}"

    right = COUNT.sub(sentence, text)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(right)
    elif right != text:
        missing.append("the numbers of the walks are others: tools/check-walks.py --write")
    if missing:
        sys.exit("docs/architecture.md: " + "\n".join(sorted(missing)))
    print(f"the functions of {len(walks)} walks are where docs/architecture.md says")


if __name__ == "__main__":
    main()
