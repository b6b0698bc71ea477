"""The scenarios that the games are played in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

Transports = Mapping[str, str]
"""From a label to the rest of its table in a scenario; empty: the label is the preset."""

TRANSPORTS: Transports = {
    **{name: "" for name in ("vanilla", "tor-vegas", "pctcp", "backtap", "marut", "predictor")},
    **{
        f"{name}+refill-10ms": f'preset = "{name}"\noptions = {{ refill = "10 ms" }}'
        for name in ("vanilla", "tor-vegas", "pctcp")
    },
}
"""What the experiments compare unless they say otherwise.

Buckets are refilled as each transport has it, every 10 ms over datagrams and every 100 ms over TCP.
Those over TCP also run with refills of 10 ms, so that all can be compared with the same ones.

The plans of `predictor` travel on the links, so an entry sees their packets. Those of
`predictor-as-published` would not be seen: they travel out of band.
"""

FEEDBACK: Transports = {
    "backtap": "",
    **{
        f"backtap-{name}-{ms}": f'preset = "backtap"\n'
        f'options = {{ {option} = "{ms} ms", tolerance = "{ms} ms" }}'
        for name, option, ms in (
            ("wait", "feedback-delay", 50),
            ("hold", "feedback-hold", 50),
            ("hold", "feedback-hold", 200),
        )
    },
}
"""BackTap whose feedback waits for company, and whose feedback leaves at regular times only.

Windows tolerate round trips that are longer by as much: without this, what waits at a neighbour
counts as a queue, and windows stay small.
"""

WORDS: Transports = {
    **{name: "" for name in ("vanilla", "backtap", "joint")},
    "joint-relayed": 'preset = "joint"\noptions = { relayed = true }',
    "joint-no-hints": 'preset = "joint"\noptions = { hints = false }',
}
"""Without words, with those of successors, and with words that nodes pass on."""

BIN_MS = 50
"""Width of the observers' bins, in milliseconds."""

PAGES = "page-loads-firefox.csv.gz"
"""The file of recorded page loads, in the folder of data files."""

PAIRS = 24
"""Circuits per network whose bottleneck is watched for a second one."""


END_S = 45
"""When the runs of `large` end, in seconds."""

PAUSE_S = (1, 9)
"""Shortest and longest pause of its users between two visits, in seconds."""


def large(transports: Transports, seeds: Sequence[int], pages: str = PAGES) -> str:
    """The larger setting of BackTap's evaluation with recorded pages: 375 circuits.

    Two continents, a tenth of the circuits bulk (Tschorsch and Scheuermann, NSDI '16, section 4.3),
    over 100 relays of the built-in population with paths as Tor chooses them. Web users visit
    recorded pages (`pages`) with pauses of 1 s to 9 s.
    """
    think = [f"{pause} s" for pause in PAUSE_S]
    web = f'{{ class = "web", replay = "{pages}", think = {json.dumps(think)} }}'
    return "\n".join(
        [
            *_head("observer", transports, seeds, f"{END_S} s", "15 s"),
            "[network]",
            "topology = { dumbbell = {} }",
            "source = { population = { relays = 100 } }",
            *_circuits(38, "{ tor = 3 }", '"bulk"', 10),
            *_circuits(337, "{ tor = 3 }", web, 15),
        ]
    )


def shared(transports: Transports, seeds: Sequence[int]) -> str:
    """Circuits that download without end; at the relay of every other one there is one more user.

    Circuit `i` of the first `PAIRS` has its bottleneck at the relay `slow-i`, over which three
    users visit pages, too. If `i` is even, one more fetches 1 MiB now and then over the same relay;
    if it is odd, that one uses a relay of its own, so that the traffic is the same otherwise.
    Rates are drawn for each relay.
    """
    bulk = '{ class = "bulk", response = "endless" }'
    now_and_then = '{ class = "bulk", response = "1 MiB", think = ["1 s", "4 s"] }'
    lines = [
        *_head("observer-shared", transports, seeds, "40 s", "10 s"),
        "[network]",
        'access = { rate = "1 Gbit/s", delay = { uniform = ["5 ms", "35 ms"] } }',
        *_relays("entry", 6, ""),
        *_relays("exit", 6, ""),
        *_relays("slow", PAIRS, _SLOW),
        *_relays("other", PAIRS, _SLOW),
    ]
    for number in range(PAIRS):
        lines += _circuits(1, f'["entry", "slow-{number + 1}", "exit"]', bulk, 5)
    for number in range(PAIRS):
        relay = f"{'slow' if number % 2 == 0 else 'other'}-{number + 1}"
        lines += _circuits(1, f'["entry", "{relay}", "exit"]', now_and_then, 10)
    for number in range(PAIRS):
        lines += _circuits(3, f'["entry", "slow-{number + 1}", "exit"]', '"web"', 10)
    return "\n".join(lines)


HOMES = 48
"""Clients per network of `linked`, each with two circuits."""


def linked(transports: Transports, seeds: Sequence[int]) -> str:
    """Clients with two circuits each, over relays that are drawn for each circuit.

    Circuits `i` and `HOMES + i` are of the client `home-(i + 1)`, whose access link has a rate of
    its own. All users load pages.
    """
    lines = [
        *_head("observer-linked", transports, seeds, "60 s", "10 s", 'circuits = "100 ms"'),
        'hops = "100 ms"',
        "[network]",
        'access = { rate = "1 Gbit/s", delay = { uniform = ["5 ms", "35 ms"] } }',
        *_relays("guard", 8, _SHARED),
        *_relays("middle", 8, _SHARED),
        *_relays("exit", 6, _SHARED),
        *_relays("home", HOMES, _HOME),
    ]
    web = '{ class = "web", think = ["1 s", "5 s"] }'
    for _ in range(2):
        for number in range(HOMES):
            path = f'["home-{number + 1}", "guard", "middle", "exit"]'
            lines += [*_circuits(1, path, web, 5), "client = false"]
    return "\n".join(lines)


_HOME = (
    'access = { rate = { points = [["4 Mbit/s", 0.0], ["10 Mbit/s", 0.5], ["50 Mbit/s", 1.0]] } }\n'
    'bucket = "unlimited"'
)
_SHARED = 'bucket = { rate = { uniform = ["500 kB/s", "4 MB/s"] } }'
_SLOW = 'bucket = { rate = { uniform = ["200 kB/s", "800 kB/s"] } }'


def _head(
    name: str,
    transports: Transports,
    seeds: Sequence[int],
    duration: str,
    warm_up: str,
    record: str = f'circuits = "1 s"\ntraces = "{BIN_MS} ms"',
) -> list[str]:
    lines = [
        f'name = "{name}"',
        f'duration = "{duration}"',
        f'warm-up = "{warm_up}"',
        f"seeds = {list(seeds)}",
    ]
    for label, table in transports.items():
        lines += [f'[transports."{label}"]', table]
    return [*lines, "[record]", record]


def _relays(name: str, count: int, more: str) -> list[str]:
    return ["[[network.relays]]", f'name = "{name}"', f"count = {count}", more]


def _circuits(count: int, path: str, workload: str, start_s: int) -> list[str]:
    start = f'{{ uniform = ["0 s", "{start_s} s"] }}'
    return [
        "[[circuits]]",
        f"count = {count}",
        f"path = {path}",
        f"workload = {workload}",
        f"start = {start}",
    ]
