"""Pages and sections."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import hopflow
from hopflow._claims import claim
from hopflow.experiments import Verdict
from hopflow.report import (
    Axis,
    Horizontal,
    Page,
    Section,
    Series,
    add_section,
    figures,
    interval,
    label,
    remove_section,
    verdict,
)

# One pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c626001000000050001a5f645400000000049454e44ae426082"
)


def page() -> Page:
    page = Page("Games", "What an observer learns.").fact("Networks", 5)
    section = page.section("Pairs").prose("Half of them belong `together`.")
    section.table(
        ["transport", ("AUC", ""), "verdict", "interval"],
        [
            [label("vanilla", 0), (0.71, 0.02), verdict("reproduced"), interval(0.7, 0.6, 0.9)],
            ["backtap", np.float32(0.5), verdict("not judged"), figures("1 of 2", faint=True)],
            ["marut", math.nan, None, None],
            ["n23", (math.nan, 0.1), None, None],
        ],
        caption="Area under the curve.",
    )
    x = np.linspace(0.0, 1.0, 5)
    section.chart(
        "roc",
        "ROC",
        Axis("false positives"),
        Axis("true positives", include=[1.0, math.nan]),
        [Series("vanilla", x, np.sqrt(x), low=x, high=x + 0.1, mark="curve")],
        references=[Horizontal("chance", 0.5), Horizontal("none", math.nan)],
    )
    cloud = Series("a", [3, 1, math.nan, 2], [1, 2, 3, 4], mark="points")
    section.chart("cloud", "Cloud", Axis("x"), Axis("y"), [cloud])
    section.image(PNG, "A dot.").code("Command", "hopflow").note("So it is.")
    return page


def test_a_page_has_all_that_was_put_into_it(tmp_path: Path) -> None:
    written = page().write(tmp_path / "out")
    text = written.read_text()
    assert written == tmp_path / "out" / "report.html"
    for part in ["<h1>Games</h1>", "<code>together</code>", "A dot.", "data:image/png;base64,iVBO"]:
        assert part in text
    assert (tmp_path / "out" / "plots" / "cloud.svg").is_file()


def test_a_page_can_be_made_again_from_its_file(tmp_path: Path) -> None:
    from hopflow.cli import main

    written = page().write(tmp_path)
    before = written.read_text()
    written.unlink()
    assert main(["report", str(tmp_path)]) == 0
    assert written.read_text() == before


def _page_of(section: Section) -> Page:
    return Page("P").add(section)


def test_what_cannot_be_shown_is_told(tmp_path: Path) -> None:
    with pytest.raises(hopflow.HopflowError, match="row 0 of the table 'c' has 1 cells"):
        Section("S").table(["a", "b"], [["x"]], caption="c")
    with pytest.raises(hopflow.HopflowError, match="no verdict"):
        _page_of(Section("S").table(["a"], [[verdict("good")]])).write(tmp_path)
    with pytest.raises(hopflow.HopflowError, match="no PNG file"):
        _page_of(Section("S").image(b"GIF89a", "c")).write(tmp_path)
    with pytest.raises(hopflow.HopflowError, match="2 x and 1 y"):
        Section("S").chart("c", "C", Axis("x"), Axis("y"), [Series("s", [1, 2], [1])])
    with pytest.raises(hopflow.HopflowError, match="2 points, 2 lower and 0 upper ends"):
        one_end = Series("s", [1, 2], [1, 2], low=[0, 1])
        Section("S").chart("c", "C", Axis("x"), Axis("y"), [one_end])


def test_a_section_becomes_part_of_a_report_and_stays(
    results: hopflow.Results, tiny: dict[str, Any]
) -> None:
    section = Section("What it gives away").table(["transport", "AUC"], [["vanilla", 0.7]])
    written = add_section(results.folder, section)
    text = written.read_text()
    assert text.index("What it gives away</h2>") < text.index("Origin</h2>")
    hopflow.run(tiny, out=results.folder, progress=False)
    assert written.read_text() == text


def test_a_page_does_not_replace_the_report_of_runs(results: hopflow.Results) -> None:
    before = results.report.read_text()
    with pytest.raises(hopflow.HopflowError, match="add_section"):
        page().write(str(results.folder))
    assert results.report.read_text() == before


def test_a_section_needs_results_and_a_name(results: hopflow.Results, tmp_path: Path) -> None:
    typo = tmp_path / "typo"
    with pytest.raises(hopflow.HopflowError, match=r"manifest\.json"):
        add_section(typo, Section("Mine"))
    assert not typo.exists()
    for heading, name in (("Ω", None), ("Mine", ""), ("Mine", "../mine")):
        with pytest.raises(hopflow.HopflowError, match="lower-case letters, digits and hyphens"):
            add_section(str(results.folder), Section(heading), name)


def test_a_section_that_cannot_be_shown_leaves_the_report_as_it_was(
    results: hopflow.Results,
) -> None:
    from hopflow.cli import main

    wrong = Section("Mine").table(["a"], [[verdict("good")]])
    file = results.folder / "sections" / "mine.json"
    with pytest.raises(hopflow.HopflowError, match="no verdict"):
        add_section(results.folder, wrong)
    assert not file.exists()
    right = Section("Mine").table(["a"], [[verdict("reproduced")]])
    page = add_section(results.folder, right).read_text()
    before = file.read_bytes()
    with pytest.raises(hopflow.HopflowError, match="no verdict"):
        add_section(results.folder, wrong)
    assert file.read_bytes() == before
    assert main(["report", str(results.folder)]) == 0
    assert results.report.read_text() == page
    remove_section(results.folder, "mine")
    assert not file.exists() and "Mine</h2>" not in results.report.read_text()


def test_only_sections_are_removed(results: hopflow.Results) -> None:
    other = results.folder / "x.json"
    other.write_text("{}")
    for name in ("../x", "", "/x", "a.b"):
        with pytest.raises(hopflow.HopflowError, match="lower-case letters, digits and hyphens"):
            remove_section(results.folder, name)
    assert other.exists()
    other.unlink()


def test_an_interval_that_is_not_finite_is_missing(tmp_path: Path) -> None:
    assert interval(math.nan, math.nan, math.nan) is None
    assert interval(math.inf, 0.0, 1.0) is None
    assert interval(0.5, 0.25, math.inf) == figures("0.500")
    assert interval(0.5, math.nan, math.nan, 1) == figures("0.5")
    rows = [["a", interval(math.nan, 0.0, 1.0)], ["b", interval(0.5, 0.25, 0.75)]]
    written = _page_of(Section("S").table(["of", "AUC"], rows)).write(tmp_path)
    text = written.read_text()
    assert "nan" not in text and "0.500 [0.250, 0.750]" in text


def test_a_page_does_not_replace_that_of_an_experiment(tmp_path: Path) -> None:
    with claim(tmp_path / "out", "gan-fig1"):
        Page("Its own").write(tmp_path / "out")
    with pytest.raises(hopflow.HopflowError, match="holds gan-fig1"):
        Page("Another").write(tmp_path / "out")
    assert "Its own" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("numbers", [[0.0, 1e60], [-1e308, 1e308], [5e-324], [1e308]])
@pytest.mark.parametrize("log", [False, True])
def test_charts_show_numbers_of_any_size(numbers: list[float], log: bool, tmp_path: Path) -> None:
    page = Page("Sizes")
    series = Series("all", numbers, numbers)
    page.section("All").chart("all", "All", Axis("x", log=log), Axis("y", log=log), [series])
    page.write(tmp_path)
    assert "NaN" not in (tmp_path / "plots" / "all.svg").read_text()


def test_every_verdict_that_is_allowed_can_be_shown(tmp_path: Path) -> None:
    names = [str(name) for name in get_args(Verdict)]
    page = Page("Verdicts")
    page.section("All").table(["verdict"], [[verdict(name)] for name in names])
    page.write(tmp_path)
    assert all(f"`{name}`" in (verdict.__doc__ or "") for name in names)


def test_an_unknown_mark_is_named_with_its_series() -> None:
    page = Page("Marks")
    series = [Series("mine", [1.0], [2.0], mark="lines")]  # type: ignore[arg-type]
    with pytest.raises(hopflow.HopflowError, match=r"the mark .lines.; allowed: line"):
        page.section("One").chart("one", "One", Axis("x"), Axis("y"), series)
