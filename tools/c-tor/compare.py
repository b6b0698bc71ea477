#!/usr/bin/env python3
"""The transport `tor-vegas` in the simulator beside C tor 0.4.9.11 on the same paths.

C tor ran in network namespaces on one machine: client, guard, middle and exit with 40 ms between
neighbours, all downloads over circuits of one client; medians of three runs. This makes the same
downloads in the simulator and prints both, as docs/validation.md has them. Needs pyarrow.

    cargo build --release --features overlay && python3 tools/c-tor/compare.py target/release/hopflow
"""
import pathlib, statistics, subprocess, sys, tempfile
import pyarrow.parquet as parquet

CIRCUIT_RTT = 0.24  # seconds; tor's downloads begin with a round trip for BEGIN and CONNECTED
CELL = 488 / 498  # payload of a cell with CGO, which C tor used, relative to ours
WIRE = 514 / 543  # bytes of a cell relative to those with TLS's record

# downloads, MB each, limit of the middle relay in KiB/s, TCP_NODELAY:
# goodput in MB/s, median time to first byte in ms, and that of one-cell probes beside the load.
C_TOR = {
    (1, 10, None, True): (2.39, 484, 499),
    (10, 3, None, True): (10.35, 553, 495),
    (50, 0.6, None, True): (16.25, 557, 496),
    (1, 10, None, False): (0.91, 643, 676),
    (10, 3, None, False): (10.07, 791, 604),
    (50, 0.6, None, False): (12.97, 663, 676),
    (1, 6, 1500, False): (0.83, 485, 711),
    (10, 0.9, 1500, False): (1.21, 723, 1822),
    (50, 0.2, 1500, False): (1.21, 665, 3935),
}

SCENARIO = """
name = "c-tor"
duration = "40 s"
seeds = 3
[transports.tor-vegas]
[network]
access = {{ rate = "10 Gbit/s", delay = "20 ms" }}
tcp = {{ congestion = "cubic", nagle = {nagle} }}
[[network.relays]]
name = "client"
[[network.relays]]
name = "guard"
[[network.relays]]
name = "middle"
{bucket}
[[network.relays]]
name = "exit"
[[circuits]]
count = {count}
client = false
path = ["client", "guard", "middle", "exit"]
workload = {{ class = "bulk", response = "{size} MB", think = ["100 s", "100 s"] }}
start = {{ uniform = ["2 s", "2.01 s"] }}
[[circuits]]
count = 3
client = false
path = ["client", "guard", "middle", "exit"]
workload = {{ class = "web", response = "498 B", think = ["0 s", "0 s"] }}
start = {{ uniform = ["1 s", "1.2 s"] }}
"""


def simulate(hopflow, pays, count, size, limit, nodelay):
    """Goodput in MB/s, and times to first byte of downloads and probes in ms, as tor has them."""
    bucket = ""
    if limit:
        rate = limit * 1.024 * WIRE
        bucket = f'bucket = {{ rate = "{rate:.1f} kB/s", depth = "150 kB", refill = "100 ms", pays = "{pays}" }}'
    text = SCENARIO.format(nagle=str(not nodelay).lower(), bucket=bucket, count=count, size=size)
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder, "c-tor.toml")
        scenario.write_text(text)
        out = pathlib.Path(folder, "out")
        subprocess.run([hopflow, "run", scenario, "--out", out], check=True, capture_output=True)
        for table in out.glob("runs/*/downloads.parquet"):
            rows = parquet.read_table(table).to_pylist()
            bulk = [row for row in rows if row["class"] == "bulk"]
            slowest = max(row["ttlb_s"] for row in bulk)
            goodput = CELL * sum(row["bytes"] for row in bulk) / (slowest + CIRCUIT_RTT) / 1e6
            first = statistics.median(row["ttfb_s"] for row in bulk) + CIRCUIT_RTT
            busy = [row for row in rows if row["class"] == "web" and 2.5 < row["start_s"] < 2 + slowest]
            # A probe of tor is two round trips.
            probe = 2 * statistics.median(row["ttfb_s"] for row in busy)
            seen.append((goodput, 1e3 * first, 1e3 * probe))
    return [statistics.mean(column) for column in zip(*seen)]


def main():
    hopflow = sys.argv[1] if len(sys.argv) > 1 else "target/release/hopflow"
    print("| downloads | limit | Nagle | goodput C tor, MB/s | ours | | first byte C tor, ms | ours | | probe C tor, ms | ours | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for (count, size, limit, nodelay), theirs in C_TOR.items():
        for pays in ["reading", "sending"] if limit else ["reading"]:
            ours = simulate(hopflow, pays, count, size, limit, nodelay)
            cells = [f"{count} x {size} MB", f"1500 KiB/s, {pays}" if limit else "none", "off" if nodelay else "on"]
            for real, model, digits in zip(theirs, ours, (2, 0, 0)):
                cells += [f"{real:.{digits}f}", f"{model:.{digits}f}", f"{100 * (model / real - 1):+.0f} %"]
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
