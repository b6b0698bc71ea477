"""A campaign on a real SLURM of one node, which the test starts: Debian's slurm-wlm and munge."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hopflow import Campaign

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo")

CONFIGURATION = """
ClusterName=hopflow
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SchedulerParameters=sched_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def find(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A short path: sockets have no long ones."""
    short = Path(f"/tmp/hopflow-slurm-{os.getpid()}")
    short.mkdir(mode=0o755)
    yield short
    shutil.rmtree(short, ignore_errors=True)


@pytest.fixture
def slurm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A controller and a node."""
    missing = [program for program in PROGRAMS if find(program) is None]
    missing += [name for name in ("distributed", "dask_jobqueue") if not find_spec(name)]
    if missing:
        leave_out(f"no SLURM: {', '.join(missing)} missing (slurm-wlm, munge, dask-jobqueue)")
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(
            host=socket.gethostname().split(".")[0],
            user=getpass.getuser(),
            folder=folder,
            cores=os.cpu_count(),
            **dict(zip(("controller", "daemon"), free_ports(2), strict=True)),
        )
    )
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    with contextlib.ExitStack() as stack:
        for name, arguments in daemons(folder).items():
            log = stack.enter_context((folder / f"{name}.out").open("wb"))
            program = find(name)
            assert program is not None
            process = subprocess.Popen([program, *arguments], stdout=log, stderr=log)
            stack.callback(end, process)
            time.sleep(0.5)
        if not is_idle(90.0):
            said = "; ".join(
                f"{path.name}: {path.read_text(errors='replace')[-300:]}"
                for path in sorted(folder.glob("*.out"))
            )
            leave_out(f"SLURM does not start here: {said}")
        yield folder


def leave_out(reason: str) -> NoReturn:
    """Skips the test, unless `HOPFLOW_REQUIRE` asks for it, as `.ci/run` does."""
    required = os.environ.get("HOPFLOW_REQUIRE", "").split(",")
    if "slurm" in map(str.strip, required):
        pytest.fail(f"{reason}. HOPFLOW_REQUIRE asks for slurm")
    pytest.skip(reason)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def daemons(folder: Path) -> dict[str, list[str]]:
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o400)
    places = {"key-file": "key", "socket": "munge.socket", "pid-file": "munge.pid"}
    places |= {"log-file": "munge.log", "seed-file": "munge.seed"}
    munge = [f"--{option}={folder / name}" for option, name in places.items()]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    return {
        "munged": ["--foreground", "--force", *munge],
        "slurmctld": ["-D"],
        "slurmd": ["-D"],
    }


def is_idle(seconds: float) -> bool:
    """Whether the node waits for work before so much time has passed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        told = subprocess.run(
            ["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False
        )
        if told.stdout.strip() == "idle":
            return True
        time.sleep(0.3)
    return False


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    process.kill()


def test_what_is_required_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPFLOW_REQUIRE", "netns,browser")
    with pytest.raises(pytest.skip.Exception):
        leave_out("no SLURM")
    monkeypatch.setenv("HOPFLOW_REQUIRE", "netns, slurm")
    with pytest.raises(pytest.fail.Exception, match=r"no SLURM\. HOPFLOW_REQUIRE asks for slurm"):
        leave_out("no SLURM")


def test_a_campaign_runs_through_slurm(
    slurm: Path, small: dict[str, Any], content: Callable[[str | Path], dict[str, str]]
) -> None:
    import dask_jobqueue
    from distributed import Client

    asked: dict[str, Any] = {"vary": {"circuits[0].count": [2, 3]}, "networks": 4}
    with (
        dask_jobqueue.SLURMCluster(
            cores=1,
            processes=1,
            memory="1GB",
            walltime="00:10:00",
            interface="lo",
            python=sys.executable,
            log_directory=str(slurm),
            job_script_prologue=[f"export PYTHONPATH={os.environ.get('PYTHONPATH', '')}"],
            scheduler_options={"dashboard_address": None},
        ) as cluster,
        Client(cluster) as client,
    ):
        cluster.scale(jobs=1)
        client.wait_for_workers(1, timeout=90)
        jobs = subprocess.run(
            ["squeue", "-h", "-o", "%T"], capture_output=True, text=True, check=True
        )
        assert jobs.stdout.split() == ["RUNNING"]
        results = Campaign(small, out=slurm / "far", **asked).run(
            client=client, report=False, progress=False
        )
    assert results.manifest["complete"]
    Campaign(small, out=slurm / "near", **asked).run(report=False, progress=False)
    assert content(slurm / "far") == content(slurm / "near")
