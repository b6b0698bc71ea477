"""What relays learn from rates: runs that are made up, and a small simulated one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

import hopflow
from hopflow.observer import adversaries, costs, games, play, scenarios, words
from hopflow.observer.traces import columns
from hopflow.observer.words import HOMES, PLACES, Told

WINDOW, WINDOWS, BIN_S = 100, 3, 0.1
QUANTILES = len(words.QUANTILES)
SIDE = 2 * QUANTILES + 3
"""What is known of each circuit: two sets of quantiles, and three numbers."""

TRANSPORTS = {"vanilla": "", "joint": 'preset = "joint"\noptions = { relayed = false }'}


def made_up(network: int, place: str = "guard", of_guards: bool = False) -> Told:
    """A run in which words are told at one place only, and are those of clients or of guards.

    A word is twice as large in each window as in the one before. Where they are those of clients,
    second circuits have four times the words of first ones. What passes is drawn for each circuit,
    whoever it is of.
    """
    random = np.random.default_rng(network)
    shape = (2 * HOMES, WINDOW * WINDOWS)
    guards = random.integers(0, 8, 2 * HOMES)
    whose = guards if of_guards else np.arange(2 * HOMES) % HOMES
    rates = 1e5 * 1.02 ** random.permutation(HOMES)[whose]
    if not of_guards:
        rates[HOMES:] *= 4
    told = {name: np.full(shape, np.nan, np.float32) for name in PLACES}
    told[place][:] = rates[:, None] * 2.0 ** (np.arange(shape[1]) // WINDOW)
    return Told(
        transport="made-up",
        network=network,
        bin_s=BIN_S,
        words=told,
        passed={name: random.uniform(1e3, 1e4, shape).astype(np.float32) for name in PLACES},
        guards=guards,
    )


def logarithms_of(run: Told, place: str) -> np.ndarray:
    """Of each circuit's word in the first window."""
    return np.log2(1 + run.words[place][:, 0].astype(np.float64))


def test_true_pairs_are_of_one_client_whose_second_circuit_is_watched_later() -> None:
    run = made_up(1)
    found = words.clients([run], "guard", others=6)
    assert found.labels.mean() == pytest.approx(1 / 7)
    assert len(found.labels) == (WINDOWS - 1) * 7 * HOMES
    assert found.far is not None
    assert ((found.units == found.far) == (found.labels == 1)).all()
    near, far = (units - run.network * games.UNIT for units in (found.units, found.far))
    assert set(near) == set(far) == set(range(HOMES))
    # Words have doubled when the second circuit is watched, in each window as a whole.
    log = logarithms_of(run, "guard")
    apart = np.abs(log[near] - log[HOMES + far] - 1)
    assert found.features[:, :QUANTILES] == pytest.approx(apart[:, None].repeat(7, 1), abs=1e-3)
    assert found.features[found.labels == 1, :QUANTILES] == pytest.approx(3.0, abs=1e-3)
    window = found.features[:, SIDE] - (log[near] + log[HOMES + far] + 1) / 2
    assert np.bincount(np.rint(window).astype(int)).tolist() == [7 * HOMES, 7 * HOMES]


def test_no_pair_of_clients_is_there_twice() -> None:
    found = words.clients([made_up(1), made_up(2)], "guard", others=6)
    rows = np.concatenate([found.features, found.units[:, None], found.far[:, None]], 1)
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert set(found.networks) == {1, 2}


def test_clients_to_train_on_have_both_circuits_on_one_side() -> None:
    runs = [made_up(1), made_up(2)]
    found = words.clients(runs, "guard", divided=True)
    assert set(games.held(found.units)) == {False, True}
    assert (games.held(found.units) == games.held(found.far)).all()
    both = words.clients(runs, "guard")
    assert (games.held(both.units) != games.held(both.far)).any()


def test_clients_are_left_out_while_one_of_their_circuits_carries_too_little() -> None:
    run = made_up(1)
    run.passed["guard"][3, :WINDOW] = 0
    run.passed["guard"][HOMES + 5] = 0
    run.passed["guard"][HOMES + 7, :WINDOW] = 0
    found = words.clients([run], "guard", others=0)
    counts = np.bincount(found.units - games.UNIT, minlength=HOMES)
    assert (counts[3], counts[5], counts[7]) == (1, 0, 2)
    assert counts.sum() == 2 * HOMES - 3
    assert len(words.clients([run], "exit", others=0).labels) == 2 * HOMES


def test_true_pairs_of_exits_are_over_one_guard_at_the_same_time() -> None:
    run = made_up(1, "exit", of_guards=True)
    found = words.guards([run], others=6)
    assert found.far is not None
    assert ((found.units == found.far) == (found.labels == 1)).all()
    assert set(found.units - games.UNIT) <= set(run.guards)
    assert 1 / 7 <= found.labels.mean() < 1 / 6
    # The words of all circuits over a guard are the same, and change from window to window.
    same = found.features[:, 2 * SIDE]
    assert (same == found.labels).all()
    assert found.features[found.labels == 1, :QUANTILES] == pytest.approx(0.0, abs=1e-6)
    assert found.features[found.labels == 0, :QUANTILES].min() > 0.0
    assert found.out_of is None


def test_no_pair_over_guards_is_there_twice() -> None:
    of = np.asarray([1, 1, 2, 2, 1, 3])
    near, far, same = words._by_guard(of, 6, np.random.default_rng(1))
    assert (near < far).all()
    assert len(set(zip(near.tolist(), far.tolist(), strict=True))) == len(near)
    assert ((of[near] == of[far]) == (same == 1)).all()
    # Of the last of a guard's circuits no pair begins; the others have one true pair each.
    assert near[same == 1].tolist() == [0, 1, 2]


def test_guards_are_not_asked_about_where_too_little_passes() -> None:
    run = made_up(1, "exit", of_guards=True)
    quiet = run.guards == run.guards[6]
    run.passed["exit"][quiet] = games.LEAST_BYTES / WINDOW - 1
    found = words.guards([run], others=6)
    assert run.guards[6] not in set(found.units - games.UNIT) | set(found.far - games.UNIT)
    run.passed["exit"][quiet] = games.LEAST_BYTES / WINDOW
    assert run.guards[6] in set(words.guards([run], others=6).units - games.UNIT)


def test_circuits_of_guards_to_train_on_are_on_one_side() -> None:
    found = words.guards([made_up(1, "exit", of_guards=True)], divided=True)
    assert set(games.held(found.units)) == {False, True}
    assert (games.held(found.units) == games.held(found.far)).all()


def test_runs_shorter_than_the_windows_have_no_pairs() -> None:
    run = made_up(1)
    for part in (run.words, run.passed):
        part.update({place: series[:, : WINDOW - 1] for place, series in part.items()})
    assert len(words.clients([run], "guard").labels) == 0
    assert len(words.guards([run]).labels) == 0
    with pytest.raises(play.TooFew, match="0 examples to train on"):
        play.deal(play.client("guard"), [run, made_up(2)])


def test_an_adversary_finds_what_words_tell_and_guesses_where_none_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(play, "ADVERSARIES", {"forest": adversaries.forest})

    def reached(game: play.Game[Told], runs: list[Told]) -> float:
        (found,) = play.play(game, play.deal(game, runs), [1])
        assert found.networks == (3, 2)
        return found.measures["auc"].mean

    runs = [made_up(network) for network in range(1, 6)]
    assert reached(play.client("guard"), runs) > 0.95
    assert reached(play.client("exit"), runs) == pytest.approx(0.5, abs=0.06)
    assert reached(play.GUARDS, runs) == pytest.approx(0.5, abs=0.06)
    runs = [made_up(network, "exit", of_guards=True) for network in range(1, 6)]
    assert reached(play.GUARDS, runs) > 0.95


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of four clients, over six seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenarios, "HOMES", 4)
        scenario = tomllib.loads(scenarios.linked(TRANSPORTS, [1, 2]))
    scenario |= {"duration": "8 s", "warm-up": "2 s"}
    out = tmp_path_factory.mktemp("words") / "linked"
    return hopflow.run(scenario, out=out, progress=False).folder


def test_what_passes_and_guards_are_read(folder: Path) -> None:
    runs = words.read(folder)
    assert [(run.transport, run.network) for run in runs] == [
        (name, network) for name in sorted(TRANSPORTS) for network in (1, 2)
    ]
    for run in runs:
        assert run.bin_s == pytest.approx(0.1)
        for place in PLACES:
            assert run.words[place].shape == run.passed[place].shape == (8, 60)
        delivered = 6 * _columns(folder, "circuits", run)["goodput_bytes_per_s"]
        assert run.passed["guard"].sum(1) == pytest.approx(delivered, rel=1e-3)
        # At the beginning and at the end some are between exit and client.
        sums = [run.passed[place].sum() for place in ("exit", "guard")]
        assert sums[0] == pytest.approx(sums[1], rel=0.2)
        names = _columns(folder, "nodes", run)["name"]
        assert len(run.guards) == 8
        assert all(name.startswith("guard") for name in names[run.guards])
    for network in (0, 1):
        assert (runs[network].guards == runs[2 + network].guards).all()


def test_words_that_are_read_go_with_what_the_successor_has(folder: Path) -> None:
    for run in words.read(folder):
        if run.transport == "vanilla":
            assert all(np.isnan(run.words[place]).all() for place in PLACES)
            continue
        nodes, paths = (_columns(folder, name, run) for name in ("nodes", "paths"))
        least = np.fmin(nodes["access_bytes_per_s"], nodes["bucket_bytes_per_s"])
        for position, place in ((2, "exit"), (1, "middle"), (0, "guard")):
            successors = paths["node"][paths["position"] == position]
            told = run.words[place]
            assert np.isfinite(told[:, -1]).all()
            # A relay tells more than its rate while there are tokens, and all relays as much more.
            share = np.nanmax(told, 1) / least[successors]
            assert share.max() / share.min() < 1.25, place
            assert place != "guard" or share.max() <= 1


def _columns(folder: Path, table: str, run: Told) -> costs.Columns:
    found = columns(hopflow.Results(folder).table(table))
    mine = (found["transport"] == run.transport) & (found["network"] == run.network)
    return {name: column[mine] for name, column in found.items()}
