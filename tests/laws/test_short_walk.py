"""A gradient is not far from the call: `cr.grad(f)(x)` enters few files, and few lines of them."""

import sys
from types import FrameType
from typing import Any

import numpy as np

import chainrule as cr

MAX_FILES = 12


def files_entered(call: Any) -> set[str]:
    """The files of the package of which a function runs; generated text belongs to its writer."""
    entered: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if frame.f_globals.get("__name__", "").startswith("chainrule."):
            entered.add(frame.f_code.co_filename)

    before = sys.gettrace()
    sys.settrace(note)
    try:
        call()
    finally:
        sys.settrace(before)
    return {name for name in entered if not name.startswith("<")}


def test_a_gradient_enters_few_files() -> None:
    gradient = cr.grad(lambda x: np.sin(x) * x)
    gradient(2.0)  # fast forms are written when first used
    entered = files_entered(lambda: gradient(2.0))
    assert any(name.endswith("reverse.py") for name in entered), entered
    assert len(entered) <= MAX_FILES, sorted(entered)


def test_a_longer_walk_is_seen() -> None:
    hessian = cr.hessian(lambda x: np.sum(np.sin(x) * x))
    hessian(np.ones(2))
    assert len(files_entered(lambda: hessian(np.ones(2)))) > MAX_FILES
