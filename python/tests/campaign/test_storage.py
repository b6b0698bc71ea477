"""Campaigns in object storage: S3's protocol, spoken by a server that the test starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hopflow
from hopflow import Campaign
from hopflow.campaign import storage
from hopflow.campaign.watch import CampaignProgress

pytest.importorskip("s3fs")
moto = pytest.importorskip("moto.server")

Content = Callable[[str | Path], dict[str, str]]

ASKED: dict[str, Any] = {
    "vary": {"network.bucket.rate": ["1 MB/s", "2 MB/s"]},
    "precision": {"bulk_ttlb_median": "10 %"},
    "networks": {"first": 4, "most": 8, "batch": 2},
}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of a server in this process; workers find it by the environment."""
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    for name, value in [("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b"), ("REGION", "c")]:
        monkeypatch.setenv(f"AWS_{name}", value)
    files, _ = storage.file_system("s3://hopflow")
    # Servers of one process share what they hold.
    files.makedirs("hopflow", exist_ok=True)
    yield "s3://hopflow"
    files.clear_instance_cache()
    server.stop()


def test_what_is_there_stays(bucket: str, tmp_path: Path) -> None:
    for url in (f"{bucket}/kept", "memory://kept", str(tmp_path / "load")):
        store = storage.Store(url)
        store.create("a/b.json", b"first")
        store.create("a/b.json", b"second")
        assert store.read("a/b.json") == b"first"
        assert store.names("") == {"a/b.json"}
        store.remove("a/b.json")
        store.remove("a/b.json")
        assert store.read("a/b.json") is None


def test_the_server_itself_keeps_what_is_there(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = storage.Store(f"{bucket}/first")
    store.create("a.json", b"first")
    monkeypatch.setattr(storage.Store, "read", lambda *_: None)
    store.create("a.json", b"second")
    monkeypatch.undo()
    files, _ = storage.file_system(bucket)
    assert files.cat_file(f"{bucket}/first/a.json") == b"first"


def test_a_campaign_lies_in_a_bucket(
    bucket: str, small: dict[str, Any], tmp_path: Path, content: Content
) -> None:
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("duckdb")
    here = Campaign(small, out=tmp_path / "here", **ASKED).run(report=False, progress=False)
    told: list[CampaignProgress] = []
    campaign = Campaign(small, out=f"{bucket}/load", **ASKED)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = campaign.run(client=client, progress=False)
    files, base = storage.file_system(there.url)
    files.get(f"{base}/", f"{tmp_path}/copy/", recursive=True)
    assert content(tmp_path / "copy") == content(here.url)
    # Another machine goes on, and reads it.
    Campaign(small, out=f"{bucket}/load", **ASKED).run(progress=told.append)
    assert told[-1].planned == 0
    found = hopflow.open_campaign(f"{bucket}/load")
    assert found.runs.sort_by("run").equals(here.runs.sort_by("run"))
    assert found.summary.num_rows == here.summary.num_rows
    # Sums in another order differ in their last bits.
    for row, other in zip(found.summary.to_pylist(), here.summary.to_pylist(), strict=True):
        assert row == pytest.approx(other)
