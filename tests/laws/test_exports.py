"""The public face: `chainrule.__all__` is complete, sorted and true."""

import inspect

import pytest

import chainrule
from chainrule import errors

ENGINE = (
    *("ChainruleError", "CycleError", "Function", "Graph", "OPS"),
    *("check_grads", "grad", "hessian", "hvp", "jacobian", "jvp", "stop_gradient"),
    *("topological_sort", "trace", "value_and_grad", "variable", "vjp"),
)
ERRORS = [
    name
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, errors.ChainruleError)
]


def test_all_is_sorted() -> None:
    assert list(chainrule.__all__) == sorted(set(chainrule.__all__))


def test_every_exported_name_resolves() -> None:
    missing = [name for name in chainrule.__all__ if not hasattr(chainrule, name)]
    assert missing == []


@pytest.mark.parametrize("name", ENGINE)
def test_engine_name_is_exported(name: str) -> None:
    assert name in chainrule.__all__


@pytest.mark.parametrize("name", ERRORS)
def test_error_is_exported(name: str) -> None:
    assert name in chainrule.__all__
    assert getattr(chainrule, name) is getattr(errors, name)


def test_every_error_is_drawn_in_the_tree() -> None:
    assert errors.__doc__ is not None
    missing = [name for name in ERRORS if f" {name} " not in errors.__doc__.replace("\n", " ")]
    assert missing == []
