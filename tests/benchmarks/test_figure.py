"""The picture is well-formed, ordered and honest about what is missing."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import figure, report
from benchmarks.case import FASTEST, Cell, Table
from benchmarks.harness import Options

SVG = "{http://www.w3.org/2000/svg}"
WORKLOAD, CASE, TITLE = figure.HEADLINES[0]


def table(*cells: Cell) -> Table:
    return Table("Time", "ms", cells, (), FASTEST, ratios=True)


MEASURED = table(
    Cell(CASE, "numba.hand", (2.0, 2.0, 2.1)),
    Cell(CASE, "torch.eager", (20.0, 21.0, 20.0)),
    Cell(CASE, "jax.jit", (4.0, 4.0, 4.0)),
    Cell(CASE, "chainrule.compile", (1.0, 1.0, 1.0)),
    Cell(CASE, "chainrule.primal", (0.5, 0.5, 0.5)),
    Cell(CASE, "limit.dense", (0.4, 0.4, 0.4)),
)


def write(folder: Path, made: Table, **options: bool) -> None:
    report.write(WORKLOAD, "A page", [made], Options(out=folder, scratch="", **options))


def test_ours_comes_first_then_the_fastest_peer() -> None:
    made = figure.group(MEASURED, CASE, TITLE)
    assert [bar.variant for bar in made.bars] == [
        "chainrule.compile",
        "numba.hand",
        "jax.jit",
        "torch.eager",
    ]
    assert [bar.ratio for bar in made.bars] == [0.5, 1.0, 2.0, 10.0]
    assert made.limit == pytest.approx(0.2)


def test_the_picture_is_xml_and_longer_bars_are_slower(tmp_path: Path) -> None:
    write(tmp_path, MEASURED)
    root = ElementTree.fromstring(figure.picture(tmp_path))
    widths = [float(bar.get("width")) for bar in root.iter(f"{SVG}rect")]
    assert widths == sorted(widths)
    assert len(widths) == 4
    decade = widths[3] - widths[1]  # 10 over 1
    assert widths[2] - widths[1] == pytest.approx(0.30103 * decade, abs=0.2)
    limits = [line for line in root.iter(f"{SVG}line") if line.get("class") == "limit"]
    assert len(limits) == 1
    assert "prefers-color-scheme: dark" in root.find(f"{SVG}style").text


def test_every_mark_lies_inside(tmp_path: Path) -> None:
    write(tmp_path, MEASURED)
    root = ElementTree.fromstring(figure.picture(tmp_path))
    width, height = float(root.get("width")), float(root.get("height"))
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x")) <= width
        assert 0 <= float(text.get("y")) <= height
    for bar in root.iter(f"{SVG}rect"):
        assert float(bar.get("x")) + float(bar.get("width")) <= width - figure.RIGHT + 1


def test_what_is_not_built_has_words_in_place_of_a_bar(tmp_path: Path) -> None:
    unbuilt = Cell(CASE, "chainrule.compile", (), "not built yet")
    write(tmp_path, table(Cell(CASE, "jax.jit", (4.0,)), unbuilt))
    svg = figure.picture(tmp_path)
    assert "not built yet" in svg
    assert svg.count("<rect") == 1


def test_quick_runs_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    write(tmp_path, MEASURED, quick=True)
    assert figure.picture(tmp_path) is None
    assert "not a claim" in figure.picture(tmp_path, quick=True)


def test_runs_on_two_threads_are_left_out(tmp_path: Path) -> None:
    report.write(WORKLOAD, "A page", [MEASURED], Options(out=tmp_path, scratch="", threads=2))
    assert figure.picture(tmp_path) is None


def test_the_newest_run_counts(tmp_path: Path) -> None:
    write(tmp_path, MEASURED)
    path = next(tmp_path.glob("*.json"))
    old = json.loads(path.read_text()) | {"time": "2000-01-01T00:00:00+00:00", "tables": []}
    (tmp_path / f"{WORKLOAD}-2000-01-01.json").write_text(json.dumps(old))
    assert figure.newest(tmp_path, WORKLOAD)["tables"]


def test_a_disturbed_run_says_so() -> None:
    facts = {"cpu": "A", "threads": 1, "commit": "abc", "quick": False}
    load = {"load average before": 3.0, "load average at the end": 3.0}
    assert "other work was running" in figure.caption(
        [{"machine": facts | load, "time": "2026-01-01T00:00:00+00:00"}]
    )


def test_headlines_name_cases_that_exist() -> None:
    from importlib import import_module

    for workload, case, _ in figure.HEADLINES:
        module = import_module(f"benchmarks.{workload}")
        known = set(module.CASES)
        if workload == "compile_latency":
            known |= {module._case(name, ops) for name in module.PROGRAMS for ops in module.SIZES}
        assert case in known
