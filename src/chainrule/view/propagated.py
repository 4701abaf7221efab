"""A result with its uncertainty as a table: value ± standard error, and where it comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.explain.propagate import Propagated
from chainrule.view.styled import Styled, html_of, plain_of

SHOWN = 12  # results, inputs and lines


def text(found: Propagated) -> str:
    return "\n".join(plain_of(line) for line in lines_of(found))


def html(found: Propagated) -> str:
    return html_of(lines_of(found))


def lines_of(found: Propagated) -> list[Styled]:
    """Results first; then shares, of a result with several numbers those of all together."""
    values = np.concatenate([np.ravel(v) for v in flatten(found.value)[0]])
    errors = np.concatenate([np.ravel(v) for v in flatten(found.std)[0]])
    rows: list[Styled] = [
        [(f"{v:.6g}", "value"), (" ± ", "dim"), (f"{e:.2g}", "adjoint")]
        for v, e in zip(values[:SHOWN], errors[:SHOWN], strict=True)
    ]
    rows += _left_out(len(values))
    variances = errors**2
    for heading, shares in (("input", found.shares.inputs), ("line", found.shares.lines)):
        rows.append([("", "")])
        rows.append([(f"share  {heading}", "heading")])
        for name, share in list(shares.items())[:SHOWN]:
            rows.append([(_percent(share, variances), "value"), (f" {name}", "")])
        rows += _left_out(len(shares))
    return rows


def _left_out(count: int) -> list[Styled]:
    return [[(f"… {count - SHOWN} more", "dim")]] if count > SHOWN else []


def _percent(share: Any, variances: np.ndarray[Any, Any]) -> str:
    return f"{_together(share, variances):.1%}".rjust(6)


def _together(share: Any, variances: np.ndarray[Any, Any]) -> float:
    """A share of the sum of the variances."""
    total = float(variances.sum())
    return float(np.ravel(share) @ variances) / total if total else 0.0
