"""Linux's TCP over an emulated path between two network namespaces: one bulk transfer per call."""

import ctypes
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
PORT = 5001

# What Linux has and the model lacks, and what would make runs depend on each other.
SYSCTLS = {
    "tcp_frto": "0",  # detection of spurious timeouts
    "tcp_dsack": "0",  # undoing of spurious recoveries
    "tcp_comp_sack_nr": "0",  # fewer duplicate acknowledgements than segments
    "tcp_ecn": "0",
    "tcp_no_metrics_save": "1",
    "tcp_moderate_rcvbuf": "0",
    "tcp_rmem": "4096 33554432 33554432",
    "tcp_wmem": "4096 8388608 8388608",
}


@dataclass(frozen=True)
class Point:
    """What is measured: an algorithm over a bottleneck."""

    algorithm: str
    rate: int  # bytes per second, from the IP header on
    round_trip_ms: float
    queue: int  # bytes
    seconds: float


@dataclass(frozen=True)
class Result:
    """What a bulk transfer achieved from its first SYN on."""

    goodput: float  # payload bytes per second read by the receiver
    retransmitted: float  # share of the segments sent
    queueing_ms: float  # mean wait of a packet in the queue
    stopped: float  # share of the time for which the machine had stalled; it is left out


class Unavailable(Exception):
    """This machine cannot measure; the message says why."""


def build(directory: str) -> str:
    """Compiles the path emulator and returns its file name."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Unavailable("no C compiler")
    program = os.path.join(directory, "path")
    source = Path(__file__).with_name("path.c")
    subprocess.run([compiler, "-O2", "-o", program, str(source)], check=True)
    return program


def check(algorithms: list[str]) -> None:
    """Raises Unavailable unless this machine can measure these algorithms."""
    if os.geteuid() != 0:
        raise Unavailable("not root")
    if not os.path.exists("/dev/net/tun"):
        raise Unavailable("no /dev/net/tun")
    known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    for algorithm in algorithms:
        if algorithm not in known:
            raise Unavailable(f"the kernel has no {algorithm}; it has {', '.join(known)}")
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        os.close(new_namespace(home))
    except OSError as error:
        raise Unavailable(f"no network namespaces: {error.strerror}") from error
    finally:
        os.close(home)


def enter(namespace: int) -> None:
    """Moves this thread into a namespace."""
    if LIBC.setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def new_namespace(home: int) -> int:
    """A new network namespace as an open file; this thread goes back home."""
    if LIBC.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for name, value in SYSCTLS.items():
        path = Path("/proc/sys/net/ipv4", name)
        if path.exists():
            path.write_text(value)
    namespace = os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)
    enter(home)
    return namespace


def socket_in(namespace: int, home: int) -> socket.socket:
    """A TCP socket of a namespace."""
    enter(namespace)
    try:
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    finally:
        enter(home)


def measure(program: str, point: Point) -> Result:
    """Runs one bulk transfer. Call it from the main thread of a process of its own."""
    # A reader or writer that is preempted while it holds its socket delays acknowledgements, which
    # then come in bursts.
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    ends = [new_namespace(home), new_namespace(home)]
    delay_us = round(point.round_trip_ms * 500)
    arguments = [*ends, point.rate, point.queue, delay_us]
    path = subprocess.Popen(
        [program, *map(str, arguments)],
        pass_fds=ends,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if path.stdout.readline().strip() != "ready":
            raise Unavailable("the path emulator did not start")
        received, retransmitted = transfer(ends, home, point)
    finally:
        report, _ = path.communicate()
        for namespace in (*ends, home):
            os.close(namespace)
    numbers = [int(word) for word in report.split()[1::2]]
    _, _, queueing_us, stopped_us = numbers
    running = point.seconds - stopped_us / 1e6
    return Result(
        received / running, retransmitted, queueing_us / 1000, 1 - running / point.seconds
    )


def transfer(ends: list[int], home: int, point: Point) -> tuple[int, float]:
    """Bytes received in time, and the share of segments sent again."""
    listener = socket_in(ends[1], home)
    listener.bind(("10.9.0.2", PORT))
    listener.listen(1)
    sender = socket_in(ends[0], home)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, point.algorithm.encode())
    # Each write ends in a pushed segment, which the receiver acknowledges at once: few, large ones.
    block = b"x" * (1 << 22)
    deadline = time.monotonic() + point.seconds
    source = threading.Thread(target=pour, args=(sender, block), daemon=True)
    source.start()
    receiver, _ = listener.accept()
    received = drain(receiver, deadline)
    # struct tcp_info of linux/tcp.h: tcpi_total_retrans and tcpi_data_segs_out.
    info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    (total_retrans,) = struct.unpack_from("=I", info, 100)
    (data_segs_out,) = struct.unpack_from("=I", info, 156)
    # Closing with data unread makes a reset, and the source's next write fails.
    for end in (receiver, listener):
        end.close()
    sender.shutdown(socket.SHUT_RDWR)
    source.join(5)
    sender.close()
    return received, total_retrans / max(data_segs_out, 1)


def pour(sender: socket.socket, block: bytes) -> None:
    """Connects, and writes until the connection breaks."""
    sender.connect(("10.9.0.2", PORT))
    try:
        while True:
            sender.sendall(block)
    except OSError:
        pass


def drain(receiver: socket.socket, deadline: float) -> int:
    """Reads until the deadline and returns how much that was."""
    buffer = bytearray(1 << 18)
    received = 0
    while (left := deadline - time.monotonic()) > 0:
        receiver.settimeout(left)
        try:
            received += receiver.recv_into(buffer)
        except TimeoutError:
            break
    return received


def main() -> None:
    """A quick try of one point."""
    with tempfile.TemporaryDirectory() as directory:
        point = Point("cubic", 2_500_000, 40, 100_000, 10)
        print(measure(build(directory), point))


if __name__ == "__main__":
    main()
