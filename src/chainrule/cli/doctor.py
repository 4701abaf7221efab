"""`chainrule doctor`: each thing that chainrule rests on is tried, not only looked up."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from chainrule.cli.output import columns, show, show_json

if TYPE_CHECKING:
    from chainrule.view.styled import Styled

EXAMPLE = "chainrule doctor"
SIZE = 64  # of the matrices that are multiplied


@dataclass(frozen=True)
class Check:
    """What was tried and found; `cure` says what to do where it is not `well`."""

    name: str
    well: bool
    found: str
    cure: str = ""


def add(parser: argparse.ArgumentParser) -> None:
    """It takes no arguments."""


def run(options: argparse.Namespace) -> int:
    """0 where all is well, else 1."""
    checks = [_tried(name, check) for name, check in CHECKS.items()]
    well = all(check.well for check in checks)
    if options.json:
        show_json({"well": well, "checks": [asdict(check) for check in checks]})
    else:
        show(options, _lines(checks, well))
    return 0 if well else 1


def _tried(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - whatever is broken may raise anything
        said = (str(error) or type(error).__name__).splitlines()[0]
        return Check(name, False, f"{type(error).__name__}: {said}", "please report this")


def _gradient() -> Check:
    import chainrule as cr

    found = cr.grad(lambda x: x * np.sin(x))(1.5)
    well = bool(np.isclose(found, np.sin(1.5) + 1.5 * np.cos(1.5), rtol=1e-14))
    return Check("gradient", well, f"d(x sin x)/dx at 1.5 is {found:.6g}", "install chainrule anew")


def _blas() -> Check:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, SIZE, SIZE))
    well = bool(np.allclose(a @ b, np.einsum("ij,jk->ik", a, b)))
    cure = "the BLAS of NumPy gives wrong products: pip install --force-reinstall numpy"
    return Check("matrix products", well, f"NumPy {np.__version__}", cure)


def _compiler() -> Check:
    import chainrule as cr

    try:
        import llvmlite
    except ImportError:
        cure = "pip install llvmlite; without it compiled functions run interpreted"
        return Check("compiler", False, "llvmlite is not installed", cure)

    def f(x: np.ndarray) -> np.ndarray:
        return np.sum(np.tanh(x) * x)

    x = np.linspace(-2.0, 2.0, 101)
    well = bool(np.isclose(cr.compile(f)(x), f(x), rtol=1e-12))
    cure = "machine code gives another number: please report it with `chainrule info`"
    return Check("compiler", well, f"llvmlite {llvmlite.__version__}", cure)


def _cache() -> Check:
    from chainrule.run.cache import code_cache

    cache = code_cache()
    if cache is None:
        cure = "each run compiles anew: unset CHAINRULE_CACHE, or name a folder of your own in it"
        off = os.environ.get("CHAINRULE_CACHE") == "off"
        return Check("cache", off, "off", "" if off else cure)
    with tempfile.TemporaryFile(dir=cache.folder):
        return Check("cache", True, f"{cache.folder} can be written")


def _threads() -> Check:
    from chainrule.run.threads import threads

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = f"{threads()} for compiled functions, {cores} cores"
    cure = "more threads than cores slow each other: unset CHAINRULE_THREADS, or lower it"
    return Check("threads", threads() <= (cores or 1), found, cure)


def _browser() -> Check:
    """A page can be written without one, so that it is never a fault."""
    try:
        found = getattr(webbrowser.get(), "name", "") or "found"
    except webbrowser.Error:
        found = "none; write the page with --output page.html and open it elsewhere"
    return Check("browser", True, found)


def _terminal() -> Check:
    encoding = (sys.stdout.encoding or "").lower()
    cure = "symbols are shown as \\u…: set PYTHONIOENCODING=utf-8"
    return Check("terminal", encoding.startswith("utf"), encoding or "unknown", cure)


CHECKS: dict[str, Callable[[], Check]] = {
    "gradient": _gradient,
    "matrix products": _blas,
    "compiler": _compiler,
    "cache": _cache,
    "threads": _threads,
    "browser": _browser,
    "terminal": _terminal,
}


def _lines(checks: list[Check], well: bool) -> Iterator[Styled]:
    yield []
    rows = [("well" if c.well else "NOT WELL", c.name, c.found) for c in checks]
    for check, line in zip(checks, columns(rows, ("value", "heading")), strict=True):
        yield line if check.well else [(text, "wrong") for text, _ in line]
        if not check.well:
            yield [(f"      {check.cure}", "wrong")]
    yield []
    yield [("  all is well" if well else "  the lines marked need you", "heading")]
    yield []
