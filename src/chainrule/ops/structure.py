"""Ops the engine itself stands on: conversion, detaching, one of several results."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrule.core import depends
from chainrule.core.depends import EVERY
from chainrule.core.node import Node
from chainrule.core.op import Rules, sample
from chainrule.core.parts import Parts
from chainrule.core.picked import LANES
from chainrule.core.rule import rule_for
from chainrule.core.spec import Spec
from chainrule.errors import ArgumentError, DTypeError
from chainrule.ops.define import ZERO, composite, elementwise_spec, linear, rules
from chainrule.ops.samples import draw, holomorphic, reals


def _astype(x: Any, dtype: Any) -> Any:
    return x.astype(dtype) if hasattr(x, "astype") else np.asarray(x, dtype)


astype = linear(
    "astype",
    _astype,
    lambda g: g,  # the walk brings every contribution into its parent's own dtype
    samples=lambda: [
        sample(draw((3,), -2, 2), dtype=np.dtype(np.float32)),
        sample(draw((3,), -2, 2), dtype=np.dtype(np.complex128)),
        sample(draw((2,), -2, 2).astype(np.float32), dtype=np.dtype(np.float64)),
    ],
    spec=lambda x, dtype: Spec(x.shape, np.dtype(dtype)),
    lower=lambda b, x, dtype: b.astype(x, dtype),
    picked=LANES,
)


def only_device(device: Any) -> None:
    """NumPy knows one device, and so do we."""
    if device not in (None, "cpu"):
        raise ArgumentError(f'device={device!r}: only "cpu" is there')


def _numpy_astype(x: Any, dtype: Any, copy: bool = True, device: Any = None) -> Any:
    only_device(device)
    return x if not copy and x.dtype == dtype else astype(x, dtype=np.dtype(dtype))


numpy_astype = composite(
    "numpy_astype",
    _numpy_astype,
    samples=lambda: [
        sample(draw((3,), -2, 2), dtype=np.float32),
        sample(draw((3,), -2, 2), dtype=np.float64, copy=False),
    ],
    numpy=(np.astype,),
    picked=True,
    reference=lambda x, dtype, copy=True: np.asarray(x, dtype),
    doc="np.astype as NumPy calls it; recorded as `astype`.",
)


def refuse_loss(value: np.dtype[Any], array: np.dtype[Any]) -> None:
    """A complex value written into a real array loses a part, for NumPy with a warning only."""
    if value.kind == "c" and array.kind != "c":
        raise DTypeError(
            f"a {value.name} value would lose its imaginary part in an array of {array.name}; "
            "take np.real of it, or make the array complex: x.astype(complex)"
        )


def cast_into(value: Any, dtype: np.dtype[Any]) -> Any:
    """`value` as an array of `dtype` takes it in, which may round it but not drop a part of it."""
    refuse_loss(value.dtype, dtype)
    return value if value.dtype == dtype else astype(value, dtype=dtype)


stop_gradient = rules(
    "stop_gradient",
    lambda x: x,
    derivative=ZERO,
    samples=reals,
    spec=elementwise_spec(lambda x: x),
    doc="The value of x, through which no derivative flows: the one way to detach.",
    lower=lambda b, x: x,
    picked=LANES,
)
constant = rules(
    "constant",
    lambda value: value,
    derivative=ZERO,
    inputs=(),
    spec=lambda value: Spec.of(value),
    samples=lambda: [sample(value=np.float64(2.0)), sample(value=draw((2, 3), -2, 2))],
    doc="A value that depends on nothing: the output of a function that ignores its arguments.",
    lower=lambda b, value: b.given(value),
)


def constant_node(value: Any, line: tuple[Any, int] = (None, 0), args: Any = ()) -> Node:
    """A node that is an array or a number."""
    attrs = {"value": value}
    return Node(rule_for(constant, ()), (), (), attrs, value.shape, value.dtype, *line, args)


conjugate = linear(
    "conjugate",
    lambda x: np.conjugate(x),
    lambda g: np.conjugate(g),
    samples=holomorphic,
    depends=EVERY,
    numpy=(np.conjugate,),
    spec=elementwise_spec(np.conjugate),
    lower=lambda b, x: x,
    picked=LANES,
)
real = linear(
    "real",
    lambda x: np.real(x),
    lambda g: g,
    samples=holomorphic,
    numpy=(np.real,),
    view=True,
    lower=lambda b, x: x,
    picked=LANES,
)
imag = linear(
    "imag",
    lambda x: np.imag(x),
    lambda g, x_spec: g * 1j if x_spec.dtype.kind == "c" else g * 0,
    samples=holomorphic,
    depends=EVERY,
    numpy=(np.imag,),
    spec=elementwise_spec(np.imag),
    picked=LANES,
)


def _pull_item(g: Any, index: int, count: int) -> Parts:
    return Parts.single(index, count, g)


def _item_spec(x: tuple[Spec, ...], index: int, count: int) -> Spec:
    """`x` are the specs of all the results."""
    if count != len(x) or index not in range(count):
        raise ArgumentError(f"the result {index} of {count} is asked for, and there are {len(x)}")
    return x[index]


item = rules(
    "item",
    lambda x, index, count: x[index],
    # Elementwise: dead lanes of a result are dead lanes of that part.
    derivative=Rules((_pull_item,), (lambda t, index: t[index],)),
    depends=depends.LANES,
    samples=list,
    spec=_item_spec,
    doc="One result of an op that has several.",
    batch=lambda call: call.raw(0)[call.attrs["index"]],
)


def _copy(x: Any, order: str = "K") -> Any:
    return np.array(x, order=order)[()]  # type: ignore[call-overload]


copy = linear(
    "copy",
    _copy,
    lambda g: g,
    samples=lambda: [*holomorphic(), sample(draw((2, 3), -2, 2), order="F")],
    numpy=(np.copy,),
    spec=elementwise_spec(_copy),
    lower=lambda b, x, order: x,
    picked=LANES,
)
