#!/usr/bin/env python3
"""Measures hopflow beside C tor, on one machine, in one run.

    tools/compare-with-tor.py --script NETWORK.py [--hopflow target/release/hopflow] ...

NETWORK.py builds a private network of C tor in network namespaces (`up` and `down`), with a client,
guard, middle, exit and web server in the namespaces `rt-c1`, `rt-g1`, `rt-m1`, `rt-e1` and `rt-web`,
and delays or limits the links. This tool starts hopflow's relays and client in the same namespaces
and lets both systems fetch the same files in turn, by curl. With several transports it starts hopflow's once
for each. It needs root, as that script does.

For each setting and system it prints the rate of all downloads together, the time to the first byte
of the downloads and of probes (small fetches on circuits of their own while the downloads run), and
the CPU time of each process for each megabyte (10^6 bytes) of payload; and ratios of pairs of rounds with
95 % intervals: of each transport to tor, and of each further transport to the first. Rounds in which a side
delivered nothing have no ratio; the line says so.
"""

import argparse
import importlib.util
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

NODES = ["g1", "m1", "e1"]
# Ports of the first transport; each further one has the next.
HOPFLOW_SOCKS = 9150
HOPFLOW_PORT = 6000
# 97.5 % quantiles of Student's t for one degree of freedom and more, and of the normal distribution.
T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]
Z = 1.959964


def student_t(freedom):
    """The 97.5 % quantile of Student's t; beyond the table by the expansion of Cornish and Fisher.

    >>> [round(student_t(freedom), 2) for freedom in (1, 10, 11, 15, 16, 30, 120)]
    [12.71, 2.23, 2.2, 2.13, 2.12, 2.04, 1.98]
    """
    if freedom <= len(T):
        return T[freedom - 1]
    first = (Z**3 + Z) / (4 * freedom)
    return Z + first + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)


def usable(pairs):
    """The pairs that have a ratio: neither side delivered nothing, nor lacks a value.

    >>> usable([(2, 1), (0, 1), (math.nan, 1), (3, 0)])
    [(2, 1)]
    """
    return [(a, b) for a, b in pairs if a > 0 and b > 0]


def interval_of_ratio(pairs):
    """The geometric mean of the pairs' ratios a / b and its 95 % interval.

    >>> [round(x, 3) for x in interval_of_ratio([(2, 1), (2, 1), (2, 1)])]
    [2.0, 2.0, 2.0]
    >>> mean, low, high = interval_of_ratio([(1, 1), (4, 1)])
    >>> round(mean, 3), low < mean < high
    (2.0, True)
    >>> [round(x, 3) for x in interval_of_ratio([(3, 1)])]
    [3.0, nan, nan]
    """
    logs = [math.log(a / b) for a, b in pairs]
    if not logs:
        return math.nan, math.nan, math.nan
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(mean), math.nan, math.nan
    half = student_t(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def comparison(pairs):
    """The ratio of all pairs that have one, with its interval and how many they are.

    >>> comparison([(2, 1), (2, 1)])
    '2.00 (2.00 to 2.00), 2 pairs'
    >>> comparison([(2, 1), (2, 1), (0, 1)])
    '2.00 (2.00 to 2.00), ONLY 2 of 3 pairs: a side of the others has no value'
    """
    used = usable(pairs)
    mean, low, high = interval_of_ratio(used)
    ratio = f"{mean:.2f} ({low:.2f} to {high:.2f})"
    if len(used) == len(pairs):
        return f"{ratio}, {len(pairs)} pairs"
    return f"{ratio}, ONLY {len(used)} of {len(pairs)} pairs: a side of the others has no value"


def quantile(values, share):
    """The smallest value that at least `share` of all values do not exceed.

    >>> quantile([3, 1, 2, 4], 0.5), quantile([3, 1, 2, 4], 0.9), quantile([], 0.5)
    (2, 4, nan)
    """
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def load(path):
    """The network's script as a module."""
    spec = importlib.util.spec_from_file_location("network", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Hopflow:
    """Relays and a client of hopflow in the namespaces of the network; `number` tells several apart.

    Options of the transport follow its name, with spaces between."""

    def __init__(self, network, binary, transport, rate_kb, folder, number=0):
        self.network, self.binary, self.folder, self.pids = network, binary, folder, {}
        self.socks = HOPFLOW_SOCKS + number
        authority = self.output("directory", "keygen", f"{folder}/authority").split('"')[1]
        about = f'[network]\ndirectory = "directory.toml"\nauthority = "{authority}"\n'
        entries = []
        for node in NODES:
            top = f'keys = "{node}"\nlisten = "{network.ip(node)}:{HOPFLOW_PORT + number}"\nworkers = 1\n'
            extra = ""
            if node == "m1" and rate_kb:
                # tor limits the bytes of TLS records; two cells and their record have 1056 bytes
                # here, of which the bucket counts 1034.
                rate = int(rate_kb * 1024 * 1034 / 1056)
                extra += f'[bucket]\nrate = "{rate} B/s"\nburst = "{rate} B"\n'
            if node == "e1":
                extra += '[exit]\npolicy = ["accept *:*"]\nallow-private = true\n'
            self.write(node, top + about + extra)
            flags = ["--guard"] if node == "g1" else []
            entry = self.output("directory", "entry", self.config(node), "--nickname", node, *flags)
            self.write(f"{node}-entry", entry)
            entries.append(self.config(f"{node}-entry"))
        preset, *options = transport.split()
        self.output(
            "directory", "sign", *entries, "--keys", f"{folder}/authority", "--network", "compare",
            "--transport", preset, *[f"--option={option}" for option in options],
            "--out", f"{folder}/directory.toml",
        )
        socks = f'socks = "{network.ip("c1")}:{self.socks}"\n'
        self.write("c1", socks + about + "[circuits]\nbuild-timeout = \"20 s\"\n")
        for node in [*NODES, "c1"]:
            self.start(node)
        time.sleep(1)

    def config(self, name):
        return f"{self.folder}/{name}.toml"

    def write(self, name, text):
        with open(self.config(name), "w", encoding="utf-8") as file:
            file.write(text)

    def output(self, *arguments):
        done = subprocess.run([self.binary, *arguments], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"hopflow {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def start(self, node):
        role = "client" if node == "c1" else "relay"
        log = open(f"{self.folder}/{node}.log", "w", encoding="utf-8")
        inside = ["ip", "netns", "exec", f"{self.network.PFX}{node}"]
        process = subprocess.Popen(
            [*inside, self.binary, role, self.config(node)],
            stdout=log, stderr=log, start_new_session=True,
        )
        self.network.prio(process.pid, self.network.NICE)
        self.pids[node] = process.pid

    def stop(self):
        for pid in self.pids.values():
            subprocess.run(["kill", "-9", str(pid)], check=False)


class System:
    """One of the systems, as an application sees it."""

    def __init__(self, name, network, port, pids):
        self.name, self.network, self.port, self.pids = name, network, port, pids

    def curl(self, user, size, seconds):
        """A curl that fetches `size` bytes and prints what it measured, as a running process."""
        inside = ["ip", "netns", "exec", f"{self.network.PFX}c1"]
        proxy = ["--socks5-hostname", f"{self.network.ip('c1')}:{self.port}"]
        what = "%{http_code} %{time_starttransfer} %{time_total} %{size_download}"
        url = f"http://{self.network.ip('web')}:{self.network.WEB}/{size}"
        options = ["-s", "-o", "/dev/null", "--max-time", str(seconds), "-w", what]
        command = ["nice", "-n", str(self.network.NICE), *inside, "curl", *options, *proxy]
        command += ["--proxy-user", f"{user}:x", url]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def fetch(self, user, size, seconds=60):
        return read(self.curl(user, size, seconds))

    def cpu(self):
        return {node: self.network.cpu(pid) for node, pid in self.pids.items()}


def read(process):
    """What a curl measured: status, first byte, end, bytes."""
    fields = (process.communicate()[0] or "").split()
    if len(fields) < 4:
        return {"ok": False, "first": math.nan, "total": math.nan, "bytes": 0}
    code, first, total, size = fields[:4]
    return {"ok": code == "200", "first": float(first), "total": float(total), "bytes": int(size)}


def probe(system, number, found, stop):
    """Fetches one byte again and again on a circuit of its own, the same in all rounds.

    A fetch that is under way when the round ends is not counted."""
    while not stop.is_set():
        result = system.fetch(f"probe{number}", 1)
        if result["ok"] and not stop.is_set():
            found.append(result["first"])
        stop.wait(0.1)


def one_round(system, options):
    """A round of downloads; with a duration they are ended after it."""
    found, stop = [], threading.Event()
    seconds = options.seconds or 280
    before, start = system.cpu(), time.time()
    loads = [system.curl(f"u{user}", options.size, seconds) for user in range(options.downloads)]
    probes = []
    if options.probes:
        if options.seconds:
            time.sleep(min(5, options.seconds / 4))
        probes = [
            threading.Thread(target=probe, args=(system, number, found, stop))
            for number in range(options.probes)
        ]
    for thread in probes:
        thread.start()
    results = [read(load) for load in loads]
    wall = time.time() - start
    stop.set()
    for thread in probes:
        thread.join()
    after, total = system.cpu(), sum(result["bytes"] for result in results) / 1e6
    good = [result for result in results if result["ok"]]
    return {
        "system": system.name,
        "ok": len(good),
        "rate": total / (options.seconds or max([r["total"] for r in good], default=wall)),
        "first": statistics.median([r["first"] for r in good] or [math.nan]),
        "first_max": max([r["first"] for r in good], default=math.nan),
        "cpu": {node: 1e3 * (after[node] - before[node]) / max(total, 1e-9) for node in before},
        "probes": found,
    }


def report(rounds, options):
    """Prints medians of all systems and ratios of pairs of rounds."""
    names = ["tor", *options.transport]
    by_system = {name: [r for r in rounds if r["system"] == name] for name in names}
    for name, own in by_system.items():
        probes = [value for r in own for value in r["probes"]]
        row = {
            "system": name,
            "rounds": len(own),
            "ok": min(r["ok"] for r in own),
            "rate_MBps": round(statistics.median(r["rate"] for r in own), 3),
            "first_byte_s": round(statistics.median(r["first"] for r in own), 3),
            "first_byte_max_s": round(max(r["first_max"] for r in own), 3),
            "cpu_ms_per_MB": {
                node: round(statistics.median(r["cpu"][node] for r in own), 2)
                for node in own[0]["cpu"]
            },
        }
        if options.probes:
            row["probes"] = {
                "number": len(probes),
                "median_s": round(quantile(probes, 0.5), 3),
                "p90_s": round(quantile(probes, 0.9), 3),
                "max_s": round(max(probes, default=math.nan), 3),
            }
        print(json.dumps(row), flush=True)
    wanted = {"rate": lambda r: r["rate"], "first_byte": lambda r: r["first"]}
    for node in NODES:
        wanted[f"cpu {node}"] = lambda r, node=node: r["cpu"][node]
    if options.probes:
        wanted["probe"] = lambda r: quantile(r["probes"], 0.5)
    first, *further = options.transport
    ratios = [(name, "tor") for name in options.transport] + [(name, first) for name in further]
    for above, below in ratios:
        pairs = list(zip(by_system[above], by_system[below]))
        for name, value in wanted.items():
            print(f"{above} / {below}, {name}: {comparison([(value(a), value(b)) for a, b in pairs])}", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--script", required=True, help="the script that builds the network of C tor")
    parser.add_argument("--hopflow", default="target/release/hopflow", help="hopflow's binary")
    parser.add_argument(
        "--transport", nargs="+", default=["backtap"],
        help="hopflow's transports, in turn, each with its options: 'backtap refill=10ms'",
    )
    parser.add_argument("--delay-ms", type=float, default=0, help="one-way delay of each link")
    parser.add_argument("--mid-rate-kb", type=int, default=0, help="limit of the middle relay, KiB/s")
    parser.add_argument("--nodelay", action="store_true", help="let tor set TCP_NODELAY")
    parser.add_argument("--downloads", type=int, default=10, help="downloads at the same time")
    parser.add_argument("--size", type=int, default=6_000_000, help="bytes of a download")
    parser.add_argument("--seconds", type=int, default=0, help="end downloads after this time")
    parser.add_argument("--probes", type=int, default=0, help="probes at the same time")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of rounds")
    parser.add_argument("--json", help="file for every round's figures")
    parser.add_argument("--keep", action="store_true", help="leave the network up")
    return parser.parse_args()


def main():
    options = arguments()
    network = load(options.script)
    up = argparse.Namespace(
        cc=2, delay_ms=options.delay_ms, mid_rate_kb=options.mid_rate_kb, mid_burst_kb=0,
        mid_tbf_mbit=0, tbf_ms=100, params="", tcp="cubic", nice=network.NICE,
        nodelay=options.nodelay, conflux=False, scheduler="KIST,KISTLite,Vanilla",
    )
    network.up(up)
    binary, started, rounds = os.path.abspath(options.hopflow), [], []
    try:
        for number, transport in enumerate(options.transport):
            folder = tempfile.mkdtemp(prefix="hopflow-compare-")
            started.append(
                Hopflow(network, binary, transport, options.mid_rate_kb, folder, number)
            )
        tor_pids = {node: network.pids()[node] for node in [*NODES, "c1"]}
        systems = [System("tor", network, network.SOCKS, tor_pids)]
        systems += [
            System(transport, network, hopflow.socks, hopflow.pids)
            for transport, hopflow in zip(options.transport, started)
        ]
        users = [f"u{user}" for user in range(options.downloads)]
        users += [f"probe{number}" for number in range(options.probes)]
        for system in systems:
            # Every user's circuit is built before anything is measured.
            for warm in [system.curl(user, 1, 60) for user in users]:
                read(warm)
        for number in range(options.rounds):
            # Who is first changes from round to round.
            for system in systems if number % 2 == 0 else systems[::-1]:
                rounds.append(one_round(system, options))
                time.sleep(1)
        report(rounds, options)
        if options.json:
            with open(options.json, "a", encoding="utf-8") as file:
                for row in rounds:
                    file.write(json.dumps({**vars(options), **row}) + "\n")
    finally:
        if not options.keep:
            for hopflow in started:
                hopflow.stop()
            network.down(up)


if __name__ == "__main__":
    main()
