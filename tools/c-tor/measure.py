#!/usr/bin/env python3
"""Measures downloads through a private network of C tor, for tools/c-tor/compare.py.

    tools/c-tor/measure.py --script NETWORK.py [--rounds 10] [--out tools/c-tor/measured.csv]

NETWORK.py builds the network in network namespaces, as for tools/compare-with-tor.py: `up` and `down`, with a
client and a place for a web server in `rt-c1` (10.77.0.30) and `rt-web` (10.77.0.40), and `--delay-ms`, `--nodelay` and `--mid-rate-kb`. Needs root.

Each round has circuits of its own, so that every download starts with tor's first window. All streams
are opened, and fetch a byte twice, before the round begins: a time counts from the request on an open stream to the
first or the last byte of the answer. A probe is a fetch of one byte over one more circuit, again and again, 100 ms
after the one before, as long as the downloads take; one that is not answered by then does not count.

The file is written when all is measured.
"""

import argparse
import asyncio
import csv
import json
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import threading
import time

PORT = 81
CLIENT, WEB = "10.77.0.30", "10.77.0.40"
COLUMNS = ["cores", "delay_ms", "nagle", "limit_kib_s", "downloads", "mb", "round"]
COLUMNS += ["goodput_mb_s", "first_byte_ms", "probes_ms"]
# Cores, one-way delay between neighbours in ms, Nagle's algorithm, RelayBandwidthRate of the middle relay in KiB/s:
# numbers of downloads and MB each.
PLAN = [
    ((2, 40, False, 0), [(1, 10), (10, 3), (50, 0.6)]),
    ((2, 40, True, 0), [(1, 10), (10, 3), (50, 0.6)]),
    ((2, 40, True, 1500), [(1, 6), (10, 0.9), (50, 0.2)]),
    ((2, 80, False, 0), [(10, 3), (50, 0.6)]),
    ((1, 40, False, 0), [(10, 3), (50, 0.6)]),
]


def serve():
    """Answers each line, a number, with so many bytes."""
    content = os.urandom(1 << 20)

    def answer(connection):
        try:
            for line in connection.makefile("rb"):
                left = int(line)
                while left > 0:
                    left -= connection.send(content[: min(left, len(content))])
        except OSError:
            pass

    listener = socket.create_server((WEB, PORT), backlog=256)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


async def opened(user):
    """A stream over a circuit of its own, which tor gives to each user of SOCKS."""
    reader, writer = await asyncio.open_connection(CLIENT, 9050, limit=1 << 22)
    writer.write(b"\x05\x01\x02")
    await reader.readexactly(2)
    writer.write(b"\x01" + bytes([len(user)]) + user.encode() + b"\x01x")
    await reader.readexactly(2)
    writer.write(b"\x05\x01\x00\x01" + socket.inet_aton(WEB) + PORT.to_bytes(2, "big"))
    reply = await reader.readexactly(10)
    if reply[1]:
        raise OSError(f"SOCKS reply {reply[1]}")
    return reader, writer


async def fetch(stream, size):
    """Seconds to the first and to the last byte."""
    reader, writer = stream
    start, first, left = time.monotonic(), None, size
    writer.write(b"%d\n" % size)
    while left > 0:
        data = await reader.read(1 << 18)
        if not data:
            raise OSError("the stream ended")
        first = first or time.monotonic() - start
        left -= len(data)
    return first, time.monotonic() - start


async def one_round(count, size):
    """Goodput in MB/s, the median time to the first byte in ms, and all probes' times in ms."""
    users = [f"{time.time():.3f}-{number}" for number in range(count + 1)]
    streams = await asyncio.gather(*map(opened, users))
    for _ in range(2):
        await asyncio.gather(*(fetch(stream, 1) for stream in streams))
    await asyncio.sleep(1.5)
    probes = []

    async def probe():
        while True:
            probes.append(round(1e3 * (await fetch(streams[-1], 1))[0]))
            await asyncio.sleep(0.1)

    async def download(stream):
        await asyncio.sleep(0.01 * random.random())
        return await fetch(stream, size)

    probing = asyncio.create_task(probe())
    times = await asyncio.gather(*map(download, streams[:-1]))
    probing.cancel()
    # A probe that failed says so; one that is under way does not count.
    await asyncio.gather(probing, return_exceptions=True)
    if not probing.cancelled():
        probing.result()
    slowest = max(last for _, last in times)
    first = 1e3 * statistics.median(first for first, _ in times)
    print(json.dumps([round(count * size / 1e6 / slowest, 3), round(first), probes]))


def within(node, *command):
    return ["ip", "netns", "exec", f"rt-{node}", sys.executable, __file__, *map(str, command)]


def control(script, *arguments):
    # Its daemons inherit where it writes to, so that a pipe would wait for them.
    null = subprocess.DEVNULL
    command = ["timeout", "90", sys.executable, script, *arguments]
    return subprocess.run(command, stdout=null, stderr=null).returncode


def build(script, cores, delay, nagle, limit):
    """Builds the network, all of whose processes stay on these cores; a start may fail, so it has a few chances."""
    os.sched_setaffinity(0, cores)
    arguments = ["--cc", "2", "--delay-ms", str(delay)]
    arguments += [] if nagle else ["--nodelay"]
    arguments += ["--mid-rate-kb", str(limit)] if limit else []
    for _ in range(6):
        if control(script, "up", *arguments) == 0:
            return
        control(script, "down")
    sys.exit(f"{script}: the network does not start")


def rows(script, rounds, cores):
    """All rounds of all settings."""
    for setting, loads in PLAN:
        build(script, cores[: setting[0]], *setting[1:])
        server = subprocess.Popen(within("web", "--serve"))
        try:
            time.sleep(0.5)
            for count, mb in loads:
                for number in range(1, rounds + 1):
                    command = within("c1", "--round", count, round(mb * 1e6))
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    goodput, first, probes = json.loads(done.stdout)
                    probes = " ".join(map(str, probes))
                    yield [*setting, count, mb, number, goodput, first, probes]
        finally:
            server.kill()
            server.wait()
            control(script, "down")


def measure(script, rounds, out):
    cores = sorted(os.sched_getaffinity(0))
    most = max(setting[0] for setting, _ in PLAN)
    if len(cores) < most:
        sys.exit(f"{len(cores)} cores: at least {most} are needed")
    measured = []
    for row in rows(script, rounds, cores):
        measured.append(row)
        print(*row, flush=True)
    with open(out, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(measured)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--script", help="the script that builds the network of C tor")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", default=pathlib.Path(__file__).with_name("measured.csv"))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--round", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
    elif options.round:
        asyncio.run(one_round(*options.round))
    elif options.script:
        measure(options.script, options.rounds, options.out)
    else:
        parser.error("--script is missing")


if __name__ == "__main__":
    main()
