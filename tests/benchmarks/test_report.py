"""R1, R2 and R3 are what they say, round by round."""

from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.case import FASTEST, FASTEST_LIBRARY, Cell, Table, Target
from benchmarks.harness import LIMIT, Options

CASE = "a case"


def table(*costs: tuple[str, tuple[float, ...]], targets: tuple[Target, ...] = ()) -> Table:
    cells = tuple(Cell(CASE, variant, rounds) for variant, rounds in costs)
    return Table("Time", "ms", cells, targets, FASTEST, ratios=True)


MEASURED = table(
    ("numba.hand", (4.0, 4.0, 5.0)),
    ("torch.compile", (9.0, 8.0, 9.0)),
    ("jax.jit", (8.0, 8.0, 8.0)),
    ("chainrule.compile", (2.0, 3.0, 2.0)),
    ("chainrule.primal", (1.0, 1.0, 1.0)),
    ("limit.dense", (1.6, 1.5, 1.6)),
    ("limit.triangular", (0.8, 0.75, 0.8)),
)


def test_ratios_are_taken_round_by_round() -> None:
    found = report.ratios(MEASURED, CASE)
    assert {name: verdict.theirs for name, verdict in found.items()} == {
        "R1": "numba.hand",
        "R1 of libraries": "jax.jit",
        "R2": "chainrule.primal",
        "R3": "limit.triangular",
    }
    assert found["R1"].ratios == (0.5, 0.75, 0.4)
    assert found["R1 of libraries"].ratios == (0.25, 0.375, 0.25)
    assert found["R2"].ratios == (2.0, 3.0, 2.0)
    assert found["R3"].ratios == pytest.approx((2.5, 4.0, 2.5))


def test_primal_and_limit_are_nobodys_gradient() -> None:
    assert report.best(MEASURED, CASE, "chainrule").variant == "chainrule.compile"
    assert report.best(MEASURED, CASE, FASTEST).variant == "numba.hand"
    assert report.best(MEASURED, CASE, FASTEST_LIBRARY).variant == "jax.jit"
    assert report.best(MEASURED, CASE, LIMIT).variant == "limit.triangular"


def page(made: Table) -> str:
    facts = {"load average before": 0.0, "load average at the end": 1.0, "threads": 1}
    return report.markdown("A page", [made], facts)


def test_the_page_shows_the_ratios() -> None:
    text = page(MEASURED)
    row = (
        "| a case | numba.hand | 0.50 (0.40–0.75) | 0.25 (0.25–0.38) | 2.00 (2.00–3.00) | "
        "2.50 (2.50–4.00) |"
    )
    assert row in text
    assert "÷ fastest peer" in text
    assert "broken" not in text


def test_a_ratio_below_its_floor_is_pointed_out() -> None:
    costs = (("jax.jit", (8.0,)), ("chainrule.compile", (2.0,)), ("limit.traffic", (3.0,)))
    assert "**Below their floor of 1, so something is broken: a case (R3).**" in page(table(*costs))


def test_what_is_not_built_is_a_cell_and_no_failure() -> None:
    cells = (Cell(CASE, "jax.jit", (8.0,)), Cell(CASE, "chainrule.compile", (), "not built yet"))
    target = Target(CASE, FASTEST, 0.5)
    text = page(Table("Time", "ms", cells, (target,), FASTEST, ratios=True))
    assert "| a case | chainrule.compile | — | not built yet |" in text
    assert "| a case | chainrule | fastest peer | — |  | ≤ 0.5 | not measured |  |" in text


def test_threads_of_the_run_are_not_other_work() -> None:
    facts = {"load average before": 0.1, "load average at the end": 2.2, "threads": 2}
    assert not report.disturbed(facts)
    assert report.disturbed(facts | {"threads": 1})


def test_a_page_is_written_with_its_raw_data(tmp_path: Path) -> None:
    report.write("gmm", "A page", [MEASURED], Options(out=tmp_path, scratch="", quick=True))
    assert {path.suffix for path in tmp_path.iterdir()} == {".md", ".json"}
    report.write("gmm", "A page", [MEASURED], Options(out=tmp_path, scratch="", threads=2))
    assert len(list(tmp_path.iterdir())) == 4  # no run writes over one on another thread count
