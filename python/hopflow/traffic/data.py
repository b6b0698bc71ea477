"""Published traffic models of Tor's users, as steps of sessions.

The files come from the CCS '18 traffic study (Jansen, Traudt and Hopper, *Privacy-Preserving
Dynamic Learning of Tor Network Traffic*): `tgen.protocol.http.model.graphml.xml.xz` holds 1,000
page loads, and `tgen.protocol.bittorrent.model.graphml.xml.xz` 100 groups of peer-to-peer
transfers. They are not part of hopflow: a folder that holds them is named by an argument or by the
environment variable `HOPFLOW_DATA`, or they lie in the cache.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from hopflow._data import find
from hopflow._errors import HopflowError
from hopflow.traffic.step import Step

HTTP_FILE = "tgen.protocol.http.model.graphml.xml.xz"
BULK_FILE = "tgen.protocol.bittorrent.model.graphml.xml.xz"
STREAM_FILE = "tgen.privcount.stream.model.graphml.xml.xz"
PACKET_FILE = "tgen.privcount.packet.model.graphml.xml.xz"
TALLIES_FILE = "privcount/privcount.tallies.1512058187-1512144587.json"

#: Seconds of which a user of the published models waits one, drawn uniformly, after a step.
WEB_THINK: tuple[float, ...] = tuple(float(second) for second in range(1, 31))
BULK_THINK: tuple[float, ...] = (1.0,)

_GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"
_HTTP_NODE = re.compile(r"session(\d+)_transfer[AB]_(GET|POST)_(page|object\d+)")
_BULK_NODE = re.compile(r"transfer_(\d+)_(\d+)")


def attributed_elements(path: Path, tag: str) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """The nodes or edges of a GraphML file: their XML attributes, and their data by name.

    The file is plain, or compressed if its name ends in `.xz`.

    Raises:
        HopflowError: The file is missing, or is not GraphML.
    """
    try:
        content = path.read_bytes()
        root = ElementTree.fromstring(lzma.decompress(content) if path.suffix == ".xz" else content)
    except (OSError, lzma.LZMAError, ElementTree.ParseError) as error:
        raise HopflowError(
            f"{path} cannot be read: {error}; allowed is a file of the CCS '18 traffic study"
        ) from error
    names = {key.attrib["id"]: key.attrib["attr.name"] for key in root.iter(f"{_GRAPHML}key")}
    for element in root.iter(f"{_GRAPHML}{tag}"):
        data = {names[item.attrib["key"]]: item.text or "" for item in element}
        yield dict(element.attrib), data


def read_web(path: Path) -> list[Step]:
    """The page loads of a TGen graph of HTTP sessions, by number of session.

    Raises:
        HopflowError: The file cannot be read, or holds no page loads.
    """
    first: dict[int, int] = {}
    objects: dict[int, list[int]] = {}
    uploads: dict[int, list[int]] = {}
    for attributes, data in attributed_elements(path, "node"):
        match = _HTTP_NODE.fullmatch(attributes["id"])
        if match is None:
            continue
        session, method, name = int(match[1]), match[2], match[3]
        size = int(data["size"])
        if name == "page":
            first[session] = size
        else:
            kind = objects if method == "GET" else uploads
            kind.setdefault(session, []).append(size)
    if not first:
        raise HopflowError(f"{path} holds no page loads; allowed is a TGen model of HTTP sessions")
    return [
        Step(first[number], tuple(objects.get(number, ())), tuple(uploads.get(number, ())))
        for number in sorted(first)
    ]


def read_bulk(path: Path) -> list[Step]:
    """The groups of transfers of a TGen graph of peers: what is fetched, and what is given.

    Raises:
        HopflowError: The file cannot be read, or holds no transfers.
    """
    fetched: dict[int, list[int]] = {}
    given: dict[int, list[int]] = {}
    for attributes, data in attributed_elements(path, "node"):
        match = _BULK_NODE.fullmatch(attributes["id"])
        if match is None or "theirsize" not in data:
            continue
        group = int(match[1])
        for sizes, key in ((fetched, "theirsize"), (given, "oursize")):
            if size := int(data[key]):
                sizes.setdefault(group, []).append(size)
    if not fetched:
        raise HopflowError(f"{path} holds no transfers; allowed is a TGen model of peers")
    return [
        Step(sizes[0], tuple(sizes[1:]), tuple(given.get(group, ())))
        for group, sizes in sorted(fetched.items())
    ]


def load(folder: Path | None = None) -> dict[str, list[Step]]:
    """All sessions of the published models, by class: `web` and `bulk`.

    Args:
        folder: Where the files are; `None`: where `HOPFLOW_DATA` says, or else in the cache.

    Raises:
        HopflowError: A file is missing, or holds something else.
    """
    return {
        "web": read_web(find(HTTP_FILE, folder)),
        "bulk": read_bulk(find(BULK_FILE, folder)),
    }
