"""Campaigns on Dask, and campaigns that are killed: the data set is the same bit for bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hopflow import Campaign, HopflowError
from hopflow.campaign.watch import CampaignProgress

distributed = pytest.importorskip("distributed")

Content = Callable[[str | Path], dict[str, str]]

ASKED: dict[str, Any] = {
    "vary": {"network.bucket.rate": ["1 MB/s", "2 MB/s"], "circuits[0].count": "2..4"},
    "precision": {"bulk_ttlb_median": "10 %"},
    "networks": {"first": 6, "most": 24, "batch": 3},
}


@pytest.fixture(scope="module")
def expected(
    small: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, content: Content
) -> dict[str, str]:
    """The data set of a campaign that nothing interrupted."""
    out = tmp_path_factory.mktemp("campaign") / "whole"
    Campaign(small, out=out, **ASKED).run(report=False, progress=False)
    return content(out)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Three worker processes."""
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_worker_that_is_killed_changes_nothing(
    client: Any,
    small: dict[str, Any],
    tmp_path: Path,
    expected: dict[str, str],
    content: Content,
) -> None:
    killed: list[int] = []

    def kill_one(now: CampaignProgress) -> None:
        if now.made > 0 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    campaign = Campaign(small, out=tmp_path / "out", **ASKED)
    results = campaign.run(client=client, report=False, progress=kill_one)
    assert killed and results.manifest["complete"]
    assert content(tmp_path / "out") == expected


def test_time_that_is_over_ends_no_runs_of_a_cluster_that_were_begun(
    client: Any, small: dict[str, Any], tmp_path: Path
) -> None:
    begun = 0

    def note(now: CampaignProgress) -> None:
        nonlocal begun
        begun = now.made

    campaign = Campaign(small, vary={"circuits[0].count": "1..9"}, networks=4, out=tmp_path / "out")
    with pytest.raises(HopflowError, match="the time is over"):
        campaign.run(client=client, report=False, progress=note, hours=0.05 / 3600.0)
    made = len(list((tmp_path / "out").glob("data/runs/*/*.parquet")))
    assert 4 * made == begun < 72
    assert campaign.run(client=client, report=False, progress=False).manifest["complete"]


def test_a_worker_of_another_build_is_refused(
    client: Any, small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hopflow.campaign import pools

    monkeypatch.setattr(pools, "identity", lambda: "another")
    with pytest.raises(HopflowError, match=r"the worker tcp://\S+ has another build of hopflow"):
        Campaign(small, out=tmp_path, **ASKED).run(client=client, progress=False)


def test_a_worker_of_another_build_that_comes_later_makes_nothing(
    small: dict[str, Any], tmp_path: Path
) -> None:
    from hopflow.campaign import chunks, pools, storage

    with pytest.raises(HopflowError, match="this worker has another build of hopflow"):
        pools._same_build("another").setup(None)
    setting = chunks.Setting(storage.Store(str(tmp_path)), "another", ())
    point = Campaign(small).points[0]
    order = chunks.Order(point.text, "vanilla", 1, 1, "content", ((point.id, ()),), ())
    with pytest.raises(HopflowError, match="allowed is the same package on all machines"):
        chunks.make(order, setting)
    assert not any(tmp_path.iterdir())


@dataclass(frozen=True)
class Lasting:
    """An order that takes so many seconds."""

    long: float
    runs: int = 1
    about: str = "a run"
    seeds: str = "seed 1"

    @property
    def kind(self) -> tuple[str, str]:
        return "transport", str(self.long)


class Two:
    """A client of two workers that make nothing."""

    def run(self, _: Any) -> dict[str, str]:
        return {}

    def register_plugin(self, *_: Any, **__: Any) -> None:
        pass

    def nthreads(self) -> dict[str, int]:
        return {"one": 2}


def test_a_task_has_many_short_orders_or_one_that_is_long() -> None:
    from hopflow.campaign.chunks import Made
    from hopflow.campaign.pools import SECONDS, DaskPool

    pool = DaskPool(Two(), print)
    short, long = Lasting(SECONDS / 20), Lasting(2 * SECONDS)
    left = deque([short] * 100 + [long] * 100)
    assert len(pool._task(left)) == 1  # Nothing is known yet.
    for order in (long, short):
        pool._learn([order], [Made(1, order.long, order.long, ())])
    assert len(pool._task(left)) == 20
    left = deque([long] * 100)
    assert len(pool._task(left)) == 1
    # At the end of a round no worker is left without work.
    assert len(pool._task(deque([short] * 8))) == 2


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that are lost are so at once."""
    from hopflow.campaign import workers

    for name, seconds in {"GLANCE": 0.1, "PAUSE": 0.5, "PATIENCE": 2.0}.items():
        monkeypatch.setattr(workers, name, seconds)


def test_a_cluster_without_workers_is_given_up(
    impatient: None, small: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster.scheduler_address) as client,
    ):

        class Ending(Campaign):
            def _note(self, *arguments: Any) -> None:
                super()._note(*arguments)
                cluster.scale(0)

        campaign = Ending(small, out=tmp_path / "out", **ASKED)
        message = "no worker has been there for .*; what is made is kept, and the same call goes on"
        with pytest.raises(HopflowError, match=message):
            campaign.run(client=client, report=False)
    assert "there is no worker: waiting for one" in capsys.readouterr().err
    assert list((tmp_path / "out").glob("data/runs/*/*.parquet"))


def test_options_of_a_cluster_are_of_their_types(tmp_path: Path) -> None:
    queues = pytest.importorskip("dask_jobqueue")
    from hopflow.campaign.clusters import _arguments

    given = ["cores=8", "memory=16GB", "account=0042", "nanny=false", "walltime=04:00:00"]
    given += ["job_extra_directives=--exclusive", "job_extra_directives=--constraint=fast"]
    given += ["job_script_prologue=module load python", "worker_extra_args=--lifetime=230m"]
    found = _arguments("slurm", given)
    assert found["nanny"] is False and found["cores"] == 8 and found["account"] == "0042"
    with queues.SLURMCluster(
        **found, scheduler_options={"dashboard_address": None, "interface": "lo"}
    ) as cluster:
        lines = cluster.job_script().splitlines()
    for line in ("#SBATCH --exclusive", "#SBATCH --constraint=fast", "module load python"):
        assert line in lines
    assert "--no-nanny" in lines[-1] and "--lifetime=230m" in lines[-1]
    directives = ["job_extra_directives=+Group = a=b", "job_extra_directives=nice_user=true"]
    table = {"+Group": "a=b", "nice_user": "true"}
    assert _arguments("htcondor", directives) == {"job_extra_directives": table}
    with pytest.raises(HopflowError, match="allowed for htcondor is job_extra=NAME=VALUE"):
        _arguments("htcondor", ["job_extra=alone"])


SCRIPT = """
import json, sys
from hopflow import Campaign
small, asked, out = json.loads(sys.argv[1])
Campaign(small, out=out, **asked).run(report=False, progress=False)
"""


def test_two_people_extend_a_campaign_at_the_same_time(
    small: dict[str, Any], tmp_path: Path, content: Content
) -> None:
    out = tmp_path / "out"
    first, second, both = (
        {**ASKED, "vary": {**ASKED["vary"], "circuits[0].count": counts}}
        for counts in ([2, 3], [3, 4], [2, 3, 4])
    )
    running = [
        subprocess.Popen([sys.executable, "-c", SCRIPT, json.dumps([small, asked, str(out)])])
        for asked in (first, second)
    ]
    assert [process.wait() for process in running] == [0, 0]
    made = content(out)
    assert len(list((out / "requests").iterdir())) == 2
    Campaign(small, out=tmp_path / "alone", **both).run(report=False, progress=False)
    alone = content(tmp_path / "alone")
    tables = [name for name in alone if name.endswith(".parquet")]
    assert {name: made[name] for name in tables} == {name: alone[name] for name in tables}
    assert sum(name.endswith(".parquet") for name in made) == len(tables)


KILLED = """
import json, os, signal, sys
from hopflow import Campaign
small, asked, out = json.loads(sys.argv[1])
def end(now):
    if now.made >= 15:
        os.kill(os.getpid(), signal.SIGKILL)
Campaign(small, out=out, **asked).run(report=False, progress=end)
"""


def test_a_campaign_that_is_killed_goes_on(
    small: dict[str, Any], tmp_path: Path, expected: dict[str, str], content: Content
) -> None:
    out = tmp_path / "out"
    asked = json.dumps([small, ASKED, str(out)])
    killed = subprocess.run([sys.executable, "-c", KILLED, asked], check=False)
    assert killed.returncode == -signal.SIGKILL
    kept = content(out)
    assert "data/manifest.json" not in kept
    subprocess.run([sys.executable, "-c", SCRIPT, asked], check=True)
    # What was being written stays under a hidden name, which no reader takes for data.
    visible = {name: made for name, made in content(out).items() if "/." not in name}
    assert visible == expected
    assert {name: visible[name] for name in kept if "/." not in name}.items() <= expected.items()
