"""Writes reference/ops.md and the catalogue of ops by family; tests hold both against this.

python docs/make_ops.py
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from textwrap import fill
from typing import Any

import numpy as np
import scipy.special

import chainrule as cr
import chainrule.ops
from chainrule.core.op import ZERO, Linear, Multilinear, Op, Partials, Rules

PAGE = Path(__file__).parent / "reference" / "ops.md"
CATALOGUE = Path(__file__).parents[1] / "src" / "chainrule" / "ops" / "catalogue.py"
INTRODUCTION = """# Operations

Every operation, by family. Each is `cr.<name>`. The NumPy functions and the SciPy ufuncs named here
work on Variables under their own names. `cr.OPS` is this table as a mapping from names to records;
`chainrule ops` prints it.

- **derivative** says how it is written: *elementwise* (a factor per input), *linear* (a transpose),
  *multilinear* (a transpose per input), *rules* (a rule per mode), *composite* (made of other
  operations), or *zero* (zero wherever it exists). "not in y" means that the input y carries no
  derivative.
- **kinks** marks operations whose derivative jumps somewhere: see [Kinks](../how-to/kinks.md). A
  composite has the kinks of what it is made of.

There are {count} operations in {families} families. This page is written by `docs/make_ops.py`.
"""


def page() -> str:
    """The whole page."""
    filled = by_family()
    parts = [INTRODUCTION.format(count=sum(map(len, filled.values())), families=len(filled))]
    for family, ops in filled.items():
        opening = (sys.modules[f"chainrule.ops.{family}"].__doc__ or "").split("\n\n")[0]
        parts.append(f"## {family.replace('_', ' ').capitalize()}\n\n{' '.join(opening.split())}\n")
        parts.append("| operation | meaning | derivative | kinks |\n|---|---|---|---|")
        parts += [row(op) for op in ops]
        parts.append("")
    return "\n".join(parts)


def row(op: Op) -> str:
    signature = f"{op.name}({', '.join((*op.inputs, *op.attrs))})"
    kinks = "yes" if op.kinks is not None else ""
    return f"| `{signature}` | {meaning_of(op)} | {derivative_of(op)} | {kinks} |"


def meaning_of(op: Op) -> str:
    """The op's own sentence and the names NumPy and SciPy have for it."""
    names = [name for f in op.numpy if (name := library_name(f))]
    if not names and not op.doc and hasattr(scipy.special, op.name):
        names = [f"scipy.special.{op.name}"]
    listed = ", ".join(f"`{name}`" for name in dict.fromkeys(names))
    doc = " ".join(op.doc.split()).replace("|", r"\|")
    if not doc:
        return listed
    return f"{doc} {listed}" if names and not any(f"{name}" in doc for name in names) else doc


def library_name(function: Any) -> str | None:
    """The name under which NumPy's or SciPy's users know a function."""
    name = getattr(function, "__name__", "")
    if getattr(np, name, None) is function:
        return f"np.{name}"
    module = getattr(function, "__module__", None) or "scipy.special"
    public = ".".join(part for part in module.split(".") if not part.startswith("_"))
    return f"{public.replace('numpy', 'np', 1)}.{name}" if name else None


def derivative_of(op: Op) -> str:
    if op.expand is not None:
        return "composite"
    if op.derivative is ZERO:
        return "zero"
    words = {Partials: "elementwise", Linear: "linear", Multilinear: "multilinear", Rules: "rules"}
    flows = () if op.variadic else next(iter(rules_of(op)))
    missing = [name for name, flow in zip(op.inputs, flows, strict=False) if flow is None]
    kind = words[type(op.derivative)]
    return f"{kind}; not in {', '.join(missing)}" if missing else kind


def rules_of(op: Op) -> Iterator[tuple[Any, ...]]:
    """The tuples of per-input rules an op's derivative holds."""
    for field in ("factors", "transposes", "reverse", "forward"):
        found = getattr(op.derivative, field, None)
        if found is not None:
            yield found


@cache
def by_family() -> dict[str, list[Op]]:
    """The ops that each file declares."""
    found: dict[str, list[Op]] = {m.name: [] for m in iter_modules(chainrule.ops.__path__)}
    for family in found:
        import_module(f"chainrule.ops.{family}")
    for _, op in sorted(dict.items(cr.OPS)):
        found[family_of(op, found)].append(op)
    return {family: ops for family, ops in found.items() if ops}


def family_of(op: Op, families: Iterable[str]) -> str:
    """The file an op is declared in: it holds the op and most of the functions it is made of."""
    modules = {f"chainrule.ops.{family}": family for family in families}
    holders = {f for m, f in modules.items() if any(v is op for v in vars(sys.modules[m]).values())}
    parts = [op.forward, op.expand, op.samples, op.edges, op.bad, op.kinks, op.reference, op.spec]
    parts += [getattr(f, "weights", f) for rules in rules_of(op) for f in rules]
    votes = Counter(modules[m] for p in parts if (m := getattr(p, "__module__", None)) in modules)
    candidates = holders or set(votes)
    return max(sorted(candidates), key=lambda family: votes[family])


def catalogue() -> str:
    """The source of the catalogue: which file declares which ops."""
    lines = [
        '"""Which file declares which ops, so that one is imported without the others.',
        "",
        "Written by docs/make_ops.py.",
        '"""',
        "",
        "CATALOGUE = {",
    ]
    for family, ops in by_family().items():
        names = fill(" ".join(op.name for op in ops), 88).splitlines()
        if len(names) == 1 and len(family) + len(names[0]) < 88:
            lines.append(f'    "{family}": "{names[0]}",')
        else:
            lines.append(f'    "{family}": (')
            ends = [" "] * (len(names) - 1) + [""]
            lines += [f'        "{n}{end}"' for n, end in zip(names, ends, strict=True)]
            lines.append("    ),")
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    CATALOGUE.write_text(catalogue(), encoding="utf-8")
