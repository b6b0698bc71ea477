"""Keys, values and designs: which points a campaign has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopflow import Campaign, HopflowError
from hopflow.campaign import Span, read_campaign, scenario_text
from hopflow.campaign.keys import with_value
from hopflow.campaign.points import Point
from hopflow.campaign.values import _UNITS, MOST, quantity, read_values


def values(text: str) -> list[Any]:
    found = read_values(text, "key")
    return found.values() if isinstance(found, Span) else list(found)


def test_values_are_lists_and_ranges() -> None:
    assert values("1MB/s,2MB/s") == ["1MB/s", "2MB/s"]
    assert values("2..6") == [2, 3, 4, 5, 6]
    assert values("0.0..1.0:3") == [0.0, 0.5, 1.0]
    assert values("1 MB/s..8 MB/s:log4") == ["1 MB/s", "2 MB/s", "4 MB/s", "8 MB/s"]
    assert values("500 kB/s..2 MB/s:2") == ["500 kB/s", "2000 kB/s"]
    assert values("true,false") == [True, False]
    assert values("round-robin,kist") == ["round-robin", "kist"]


def test_quantities_of_ranges_have_no_exponents(small: dict[str, Any]) -> None:
    assert values("0s..100us:3") == ["0 s", "0.00005 s", "0.0001 s"]
    assert values("10000000000 B..30000000000 B:3")[1] == "20000000000 B"
    delays = {"network.access.delay": "0s..100us:3"}
    assert Campaign(small, vary=delays).left_out == []
    # As files of runs have them.
    assert values("0.5 ms..2 ms:log3") == ["0.5 ms", "1 ms", "2 ms"]
    assert values("0.3 s..1 s:4")[1:3] == ["0.533333 s", "0.766667 s"]
    assert values("0.0001 s..1234567 s:2")[0] == "0.0001 s"
    assert values("1000000 B..3000000 B:3")[1] == "2000000 B"


def test_equal_quantities_are_one_point(small: dict[str, Any]) -> None:
    key = "network.access.delay"
    for equal in (["7 ms", "7000 us", "7_000_000 ns", "0.007 s"], ["0.1 min", "6 s"]):
        assert len(Campaign(small, vary={key: equal}).points) == 1
    for text, base in [
        ("5 us", 5e-6),
        ("0.3 ms", 3e-4),
        ("123456789.123456789 ns", 0.123456789123456789),
        ("4.35 MB", 4_350_000.0),
        ("5_0. ms", 0.05),
        ("1.5_0 s", 1.5),
        ("3 bit/s", 0.375),
        ("1.5 GiB/s", 1.5 * 1024**3),
        ("1e3", 1000.0),
        (0.1, 0.1),
    ]:
        found = quantity(text)
        assert found is not None
        assert found.base == base
    assert values("7 ms..21000 us:3") == ["7 ms", "14 ms", "21 ms"]


def test_quantities_are_those_that_scenarios_take(small: dict[str, Any]) -> None:
    for key, suffix in [
        ("network.access.delay", "_s"),
        ("network.bucket.rate", "_bytes_per_s"),
        ("circuits[0].workload.response", "_bytes"),
    ]:
        with pytest.raises(HopflowError, match="unknown unit") as refused:
            _ = Campaign(small, vary={key: ["5 x"]}).left_out
        told = re.search(r"a number and one of ([A-Za-z/, ]+)", str(refused.value))
        assert told is not None
        own = {unit for unit, (end, _) in _UNITS.items() if end == suffix}
        assert own == set(told[1].strip().split(", "))
    for text in ("1e3 B", "1 packet", "+5 ms", "-5 ms", ".5 s", "_5 s", "5 x"):
        assert quantity(text) is None
    assert quantity("-1e3") is not None
    assert Campaign(small, vary={"network.access.queue": ["5 packets"]}).left_out == []


def test_ranges_and_designs_are_bounded(small: dict[str, Any]) -> None:
    assert len(values(f"1..{MOST}")) == MOST
    vary = {"circuits[0].count": "1..1000000000"}
    with pytest.raises(HopflowError, match=r"\.\.1000000000: the number of values is 1000000000; "):
        _ = Campaign(small, vary=vary).points
    vary = {"circuits[0].count": "1..1000", "network.burst": "1..1000"}
    with pytest.raises(HopflowError, match="grid has 1000000 points; allowed are 1 to"):
        _ = Campaign(small, vary=vary).points
    for design in ("sobol:0", "latin-hypercube:1000000000"):
        with pytest.raises(HopflowError, match=f"design: {design} has"):
            _ = Campaign(small, vary=vary, design=design).points


def test_ends_of_ranges_are_as_they_were_given() -> None:
    assert values("1234567 B..7654321 B:2") == ["1234567 B", "7654321 B"]
    assert values("1234567 B..7654321 B:log3")[::2] == ["1234567 B", "7654321 B"]
    assert values("0.12345678..9.87654321:2") == [0.12345678, 9.87654321]
    assert values("1234567 B..7654.321 kB:3") == ["1234567 B", "4444440 B", "7654.321 kB"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1MB/s..2MB/s", r"allowed are 1MB/s\.\.2MB/s:N"),
        ("1 MB/s..2 s:3", "quantities of the same kind"),
        ("6..2", "the lower end first"),
        ("0..8:log3", "above zero"),
        ("1,1", "each once"),
        ("1..inf:3", r"1\.\.inf: allowed are ends that are finite"),
        ("nan..3:3", "ends that are finite"),
        ("1..1e999 s:3", "same kind"),
        ("1 s..1" + "0" * 400 + " s:3", "ends that are finite"),
        ("1 s..1e9 s:3", "quantities of the same kind"),
        ("1 packet..3 packet:3", "quantities of the same kind"),
        ("1..1" + "0" * 400, "allowed are two numbers"),
        ("1 s..2 s:100001", "the number of values is 100001; allowed are up to 100000"),
        ("1..4:1", "allowed is 2 or more"),
        ("1..100:log", r"allowed are 1\.\.100:N and, with equal ratios, 1\.\.100:logN"),
    ],
)
def test_values_that_are_none_are_named(text: str, message: str) -> None:
    with pytest.raises(HopflowError, match=message):
        values(text)


def test_a_key_leads_to_a_place_in_the_scenario(small: dict[str, Any]) -> None:
    changed = with_value(small, "network.relays[relay].bucket.rate", "1 MB/s")
    assert changed["network"]["relays"][0]["bucket"] == {"rate": "1 MB/s"}
    assert "bucket" not in small["network"]["relays"][0]
    assert with_value(small, "circuits[*].count", 7)["circuits"][0]["count"] == 7
    changed = with_value(small, 'transports."backtap+ewma".options.alpha', 3)
    assert changed["transports"]["backtap+ewma"] == {"options": {"alpha": 3}}
    for key, message in [
        ("network..rate", "is no key"),
        ("network.", "is no key"),
        ("", "is no key"),
        ("transports.backtap+ewma.options.alpha", "stands in quotation marks"),
        ("circuits[3].count", r"there is no \[3\]; the last is \[0\]"),
        ("network.relays[relais].count", "did you mean 'relay'"),
        ("duration.x", "which is no table"),
        ("duration[0]", "no list"),
    ]:
        with pytest.raises(HopflowError, match=message):
            with_value(small, key, 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("circuits[0].count", "circuits[*].count"),
        ("circuits[*].count", "circuits[0].count"),
        ("network.relays[0].bucket.rate", "network.relays[relay].bucket.rate"),
        ("network.bucket", "network.bucket.rate"),
        ("network.bucket.rate", "network.bucket"),
        ("duration=circuits[0].count", "warm-up=circuits[*].count"),
        ("network.access.delay", 'duration=network."access".delay'),
    ],
)
def test_two_parameters_that_write_the_same_place_are_refused(
    small: dict[str, Any], first: str, second: str
) -> None:
    def some(key: str) -> list[Any]:
        return [{"rate": "1 MB/s"}] if key.endswith("bucket") else [1, 2]

    campaign = Campaign(small, vary={first: some(first), second: some(second)})
    with pytest.raises(HopflowError) as refused:
        _ = campaign.points
    told = str(refused.value)
    assert told.endswith("allowed is one of both, or both with `=` between them, for one value")
    pairs = {f"{a} and {b}" for a in first.split("=") for b in second.split("=")}
    assert any(pair in told for pair in pairs)


def test_parameters_of_different_places_are_taken(small: dict[str, Any]) -> None:
    vary = {
        "network.relays[relay].bucket.rate": ["1 MB/s", "2 MB/s"],
        "network.relays[relay].bucket.burst": ["10 kB"],
        "circuits[0].count=circuits[*].count": [1, 2],
    }
    found = Campaign(small, vary=vary).points
    assert len(found) == 4
    for point in found:
        (relay,), (group,) = point.scenario["network"]["relays"], point.scenario["circuits"]
        rate = relay["bucket"]["rate"]
        column = "network_relays_relay_bucket_rate_bytes_per_s"
        assert point.parameters[column] == float(rate[0]) * 1e6
        assert point.parameters["circuits_0_count"] == group["count"]


def test_points_are_named_by_their_values(small: dict[str, Any], tmp_path: Path) -> None:
    vary = {"network.bucket.rate": "1 MB/s,2 MB/s", "circuits[0].count": "1..3"}
    campaign = Campaign(small, vary=vary, out=tmp_path)
    assert len(campaign.points) == 6
    assert campaign.points[1].parameters == {
        "network_bucket_rate_bytes_per_s": 1e6,
        "circuits_0_count": 2,
    }
    wider = Campaign(small, vary={**vary, "circuits[0].count": "2..5"}, out=tmp_path)
    both = {point.id for point in campaign.points} & {point.id for point in wider.points}
    assert len(both) == 4
    assert "count = 2" in scenario_text(campaign.points[1])


def test_samples_fill_the_space_and_stay_the_same(small: dict[str, Any]) -> None:
    pytest.importorskip("scipy")
    vary = {"network.bucket.rate": "1 MB/s..4 MB/s:log", "circuits[0].count": "1..8"}
    for design, count in (("sobol:16", 16), ("latin-hypercube:5", 5)):
        first, again = (Campaign(small, vary=vary, design=design).points for _ in range(2))
        assert len(first) == count
        assert [point.id for point in first] == [point.id for point in again]
        rates = [point.parameters["network_bucket_rate_bytes_per_s"] for point in first]
        assert all(1e6 <= rate <= 4e6 for rate in rates)
        assert {type(point.parameters["circuits_0_count"]) for point in first} == {int}
    with pytest.raises(HopflowError, match="powers of two"):
        _ = Campaign(small, vary=vary, design="sobol:5").points


def test_what_cannot_be_is_refused_with_the_point(small: dict[str, Any], tmp_path: Path) -> None:
    def run(**options: Any) -> None:
        Campaign(small, out=tmp_path, **options).run(report=False, progress=False)

    with pytest.raises(HopflowError, match=r"burst.*\(where network_burst = 3\)"):
        run(vary={"network.burst": [3]})
    with pytest.raises(HopflowError, match="there is no transport 'marut'"):
        run(vary={"transports.marut.options.alpha": [3]})
    with pytest.raises(HopflowError, match=r"there is no transport 'marut\+kist'"):
        run(vary={'transports."marut+kist".options.alpha': [3]})
    with pytest.raises(HopflowError, match="branch: it has variants"):
        Campaign("branch", out=tmp_path)
    with pytest.raises(HopflowError, match="precision: there is no quantity 'ttlb'"):
        run(precision={"ttlb": "5 %"})
    with pytest.raises(HopflowError, match="precision: latency: it is '5 MB'; allowed"):
        run(precision={"latency": "5 MB"})
    for width in ("1.2.3%", "%", "inf %", float("nan"), float("inf"), "0 %"):
        with pytest.raises(HopflowError, match=r"latency: it is .*finite number above"):
            run(precision={"latency": width})
    for key in ("seeds", '"branch"[0].x'):
        with pytest.raises(HopflowError, match=f"vary: {re.escape(key)}: campaigns make n"):
            run(vary={key: [1, 2]})
    with pytest.raises(HopflowError, match="'vanilla' is listed twice; allowed is once"):
        run(transports=["vanilla", "vanilla"])
    for hours in (float("nan"), float("inf"), 0, -1.0, "2"):
        with pytest.raises(HopflowError, match=r"hours: it is .*; allowed is a number above zero"):
            Campaign(small, out=tmp_path).run(hours=hours)  # type: ignore[arg-type]
    with pytest.raises(HopflowError, match="networks: first is 10, most 5"):
        run(networks={"first": 10, "most": 5})
    with pytest.raises(HopflowError, match="runs: it is 3; the first round alone has 4"):
        run(runs=3)
    with pytest.raises(HopflowError, match="networks: it is 'ten'; allowed"):
        run(networks="ten")
    for cores in (0, -1):
        with pytest.raises(HopflowError, match=f"cores: it is {cores}; allowed"):
            Campaign(small, out=tmp_path).run(cores=cores)
    assert not any(tmp_path.iterdir())


def test_a_scenario_that_is_none_is_told_by_key(small: dict[str, Any], tmp_path: Path) -> None:
    (group,) = small["circuits"]
    for changed, message in [
        ({"name": None}, "name: it is None"),
        ({"seeds": [3, 5, 8]}, r"seeds: it is \[3, 5, 8\]; a campaign makes"),
        ({"circuits": [{**group, "count": "ten"}]}, "count"),
        ({"circuits": "x.csv"}, "circuits"),
        ({"seeds": "twenty"}, "seeds: it is 'twenty'; allowed is a number of networks from 1 on"),
        ({"seeds": 2.5}, r"seeds: it is 2\.5"),
        ({"seeds": -3}, "seeds: it is -3"),
        ({"seeds": True}, "seeds: it is True"),
        ({"transports": ["vanilla"]}, r"transports: the scenario has \['vanilla'\]; allowed are"),
        ({"circuits": [{**group, "count": np.array([1, 2])}]}, r"circuits\[0\].count: it is array"),
    ]:
        with pytest.raises(HopflowError, match=message):
            _ = Campaign({**small, **changed}, out=tmp_path).left_out
    unnamed = {key: value for key, value in small.items() if key != "name"}
    with pytest.raises(HopflowError, match="name: the scenario has None; allowed is a name"):
        Campaign(unnamed)
    with pytest.raises(HopflowError, match=r"vary: network\.burst: it is array"):
        Campaign(small, vary={"network.burst": [np.array([1, 2])]})
    varied = Campaign(small, vary={"circuits[0].count": [np.int64(2), np.int64(3)]})
    assert [point.parameters["circuits_0_count"] for point in varied.points] == [2, 3]
    for seeds in ([], [1, "a"]):
        with pytest.raises(HopflowError, match="seeds: it is"):
            Campaign({**small, "seeds": seeds}, networks=4)
    given = Campaign({**small, "seeds": [3, 5, 8]}, networks=4)
    assert given.definition.networks.first == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("network.access.loss = nan", "network.access.loss: it is nan; allowed are finite numbers"),
        ("network.access.loss = -inf", "network.access.loss: it is -inf; allowed are finite"),
        ("since = 2026-08-01", "since: it is datetime.date(2026, 8, 1); allowed are text, numbers"),
        ("at = [1, 07:32:00]", "at[1]: it is datetime.time(7, 32); allowed are text, numbers"),
    ],
)
def test_a_value_that_no_scenario_has_is_told_by_file_and_key(
    small: dict[str, Any], tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "wrong.toml"
    text = f"{line}\n{scenario_text(Point('p', {}, small))}"
    path.write_text(text)
    for read in (Campaign, read_campaign):
        for given in (path, str(path)):
            with pytest.raises(HopflowError, match=f"^{re.escape(f'{path}: {message}')}"):
                read(given)
    with pytest.raises(HopflowError, match=f"^{re.escape(message)}"):
        Campaign(text)


def test_files_that_are_varied_lie_beside_the_campaign(
    small: dict[str, Any], tmp_path: Path
) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).touch()
    scenario = scenario_text(Point("p", {}, small))
    (tmp_path / "small.toml").write_text(scenario)
    key = "circuits[0].workload.replay"
    for values in ('["a.csv", "b.csv", "c.csv"]', '"a.csv, b.csv, c.csv"'):
        table = f'[campaign]\nscenario = "small.toml"\n[campaign.vary]\n"{key}" = {values}\n'
        (tmp_path / "files.toml").write_text(table)
        (parameter,) = read_campaign(tmp_path / "files.toml").definition.parameters
        placed = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
        assert list(parameter.listed()) == [*placed, "c.csv"]


def test_what_cannot_be_is_left_out_where_that_is_asked(
    small: dict[str, Any], tmp_path: Path
) -> None:
    vary = {"transports.backtap.options.end-to-end": ["none", "window", "credits"]}
    campaign = Campaign(small, vary=vary, networks=1, skip="invalid", out=tmp_path)
    assert len(campaign.points) == 2
    ((point, reason),) = campaign.left_out
    assert point.parameters == {"transports_backtap_options_end_to_end": "credits"}
    assert "credits" in reason
    results = campaign.run(report=False, progress=False)
    assert [it["point"] for it in results.manifest["left_out"]] == [point.id]
    assert {it["point"] for it in results.manifest["points"]} == {it.id for it in campaign.points}
    with pytest.raises(HopflowError, match=r"credits.*\(where transports_backtap_options"):
        _ = Campaign(small, vary=vary).left_out
    with pytest.raises(HopflowError, match="no point can be run; the first: "):
        _ = Campaign(small, vary={"network.burst": [3]}, skip="invalid").points
    with pytest.raises(HopflowError, match="skip: it is 'all'; allowed is \"invalid\""):
        Campaign(small, skip="all")


def test_a_file_holds_a_scenario_and_what_is_asked(small: dict[str, Any], tmp_path: Path) -> None:
    scenario = scenario_text(Point("p", {}, small))
    table = '[campaign]\nnetworks = 3\n[campaign.vary]\n"circuits[0].count" = "1..2"\n'
    (tmp_path / "both.toml").write_text(scenario + table)
    (tmp_path / "small.toml").write_text(scenario)
    alone = table.replace("networks", 'scenario = "small.toml"\nnetworks')
    (tmp_path / "alone.toml").write_text(alone)
    found = [read_campaign(tmp_path / f"{name}.toml") for name in ("both", "alone")]
    for campaign in found:
        assert campaign.definition.networks.most == 3
        assert [point.id for point in campaign.points] == [p.id for p in found[0].points]
    with pytest.raises(HopflowError, match=r"read_campaign reads this table"):
        Campaign(str(tmp_path / "both.toml"))
    more = read_campaign(tmp_path / "both.toml", vary={"network.bucket.rate": "1MB/s,2MB/s"})
    assert len(more.points) == 4
    (tmp_path / "wrong.toml").write_text(scenario + "[campaign]\nnetwork = 3\n")
    with pytest.raises(HopflowError, match=r"campaign\.network is unknown; allowed: scenario"):
        read_campaign(tmp_path / "wrong.toml")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('confidence = "95 %"', "campaign.confidence: it is '95 %'; allowed is a number from 0.5"),
        ("confidence = 3", "campaign.confidence: it is 3; allowed is from 0.5"),
        ("tables = 5", "campaign.tables: it is 5; allowed is a list of names"),
        ('tables = "circuits"', "campaign.tables: it is 'circuits'; allowed is a list of names"),
        ("out = 5", "campaign.out: it is 5; allowed is a folder or a URL"),
        ('precision = "5 %"', "campaign.precision: it is '5 %'; allowed is a table of widths"),
        ('vary = ["a"]', "campaign.vary: it is ['a']; allowed is a table of values by key"),
        ('transports = "backtap"', "campaign.transports: it is 'backtap'; allowed is a list of"),
        ('transports = ["n23", "n23"]', "campaign.transports: 'n23' is listed twice"),
        ("design = 5", "campaign.design: it is 5; allowed is text"),
        ("precision = { latency = nan }", "campaign.precision: latency: it is nan; allowed are"),
    ],
)
def test_what_cannot_be_is_told_by_file_and_key(
    small: dict[str, Any], tmp_path: Path, table: str, message: str
) -> None:
    path = tmp_path / "asked.toml"
    path.write_text(scenario_text(Point("p", {}, small)) + f"[campaign]\n{table}\n")
    for options in ({}, {"vary": {}, "precision": {}}, {"vary": {"network.burst": [3]}}):
        if next(iter(options.get("vary", {})), None) and table.startswith("vary"):
            continue
        with pytest.raises(HopflowError, match=f"^{re.escape(f'{path}: {message}')}"):
            read_campaign(path, **options)


def test_a_campaign_that_is_no_table_is_told(small: dict[str, Any], tmp_path: Path) -> None:
    path, other = tmp_path / "asked.toml", tmp_path / "small.toml"
    scenario = scenario_text(Point("p", {}, small))
    for text, message in [
        (f"campaign = 5\n{scenario}", f"{path}: campaign: it is 5; allowed is one table"),
        (f"{scenario}[[campaign]]\nruns = 3\n", f"{path}: campaign: it is [{{'runs': 3}}]; "),
        ("[campaign]\nscenario = 5\n", f"{path}: campaign.scenario: it is 5; allowed is the"),
        ('[campaign]\nscenario = "small.toml"\n', f"{other}: seeds: it is 'ten'; allowed is"),
    ]:
        path.write_text(text)
        other.write_text(scenario.replace("seeds = 1\n", 'seeds = "ten"\n'))
        with pytest.raises(HopflowError, match=f"^{re.escape(message)}"):
            read_campaign(path)
    # What a command line gives is not in the file.
    path.write_text(f'{scenario}[campaign]\ntransports = ["vanilla"]\n')
    with pytest.raises(HopflowError, match=r"^transports: 'n23' is listed twice"):
        read_campaign(path, transports=["n23", "n23"])
