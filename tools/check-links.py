#!/usr/bin/env python3
"""Checks that links within a folder of HTML pages lead somewhere: to a file, and to a place in it.

    check-links.py FOLDER [--base /] [--only-to api]

Pages of a folder named by --only-to, which others make and check, are linked to but not read for links.
"""

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and which places in it can be linked to.

    >>> page = Page('<h2 id="top">A</h2> <a href="b.html#c">b</a> <img src="d.svg">')
    >>> page.places, page.links
    ({'top'}, ['b.html#c', 'd.svg'])
    """

    def __init__(self, text):
        super().__init__()
        self.places, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if value and name in ("id", "name"):
                self.places.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)


def target(folder, base, page, link):
    """The file that a link leads to, and the place in it; none for other sites.

    >>> target(Path("s"), "/x/", Path("s/a/b.html"), "../c#d")
    (PosixPath('s/c'), 'd')
    >>> target(Path("s"), "/x/", Path("s/a/b.html"), "/x/c.html")
    (PosixPath('s/c.html'), '')
    >>> target(Path("s"), "/x/", Path("s/a/b.html"), "https://example.org/")
    """
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = unquote(parts.path)
    if not path:
        found = page
    elif path.startswith("/"):
        if not path.startswith(base):
            return folder / "outside of the site", ""
        found = folder / path[len(base) :]
    else:
        found = page.parent.joinpath(path)
    found = Path(*_without_dots(found.parts))
    return found, unquote(parts.fragment)


def _without_dots(parts):
    kept = []
    for part in parts:
        if part == ".." and kept:
            kept.pop()
        else:
            kept.append(part)
    return kept


def as_file(path):
    """The file that a web server sends for a path."""
    return path / "index.html" if path.is_dir() else path


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--base", default="/", help="the path of the folder on its server")
    arguments.add_argument("--only-to", action="append", default=[], metavar="FOLDER")
    given = arguments.parse_args()
    pages = {}

    def read(path):
        if path not in pages:
            pages[path] = Page(path.read_text(encoding="utf-8"))
        return pages[path]

    dead, checked = [], 0
    for path in sorted(given.folder.rglob("*.html")):
        if path.relative_to(given.folder).parts[0] in given.only_to:
            continue
        for link in read(path).links:
            aim = target(given.folder, given.base, path, link)
            if aim is None:
                continue
            checked += 1
            file, place = as_file(aim[0]), aim[1]
            if not file.is_file():
                dead.append(f"{path}: {link}: there is no {file}")
            # What a page of its own program reads is no place in it.
            elif place and "=" not in place and file.suffix == ".html" and place not in read(file).places:
                dead.append(f"{path}: {link}: {file} has no place {place!r}")
    for line in dead:
        print(line, file=sys.stderr)
    if not checked:
        sys.exit(f"{given.folder}: has no page with links")
    print(f"{checked} links checked, {len(dead)} dead")
    sys.exit(1 if dead else 0)


if __name__ == "__main__":
    main()
