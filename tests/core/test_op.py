"""The op record: what it refuses, how a call is bound, and the table that fills itself late."""

import subprocess
import sys
from threading import Thread

import numpy as np
import pytest

import chainrule as cr
from chainrule.core.op import (
    NOT_WRITTEN,
    OPS,
    RESERVED,
    ZERO,
    Op,
    Sample,
    Table,
    first_recorded,
    register,
    sample,
)


def make(name="toy", forward=lambda x: x, inputs=("x",), samples=lambda: [sample(1.0)], **fields):
    return Op(name, forward, inputs, ZERO, None, samples, **fields)


# ---- declaring ----------------------------------------------------------------------------------


def test_an_op_without_samples_cannot_exist():
    with pytest.raises(cr.GraphError, match="toy has no samples"):
        make(samples=None)


@pytest.mark.parametrize("name", sorted(RESERVED - {"xs"}))
def test_an_input_cannot_have_a_name_with_a_meaning(name):
    with pytest.raises(cr.GraphError, match=f"toy: an input cannot be called {name}"):
        make(inputs=("x", name))


@pytest.mark.parametrize("forward", [lambda x, out: x, lambda x, *, g=1: x, lambda x, active=0: x])
def test_nor_can_an_attr(forward):
    with pytest.raises(cr.GraphError, match="cannot be called"):
        make(forward=forward)


def test_two_ops_of_one_name():
    sine = OPS["sin"]
    with pytest.raises(cr.GraphError, match="two ops are called sin"):
        register(make("sin"))
    assert OPS["sin"] is sine


def test_a_record_is_frozen_and_is_itself():
    op = make()
    with pytest.raises(AttributeError):
        op.name = "other"
    assert op == op
    assert op != make()
    assert len({op, make()}) == 2


def test_it_reads_like_a_function():
    op = make(forward=lambda x, axis=None, *, keepdims=False: x, doc="A toy.")
    assert (op.__name__, op.__doc__) == ("toy", "A toy.")
    assert make().__doc__ == "toy(x)"
    assert repr(op) == "<op toy(x, axis, keepdims)>"
    assert op.attrs == {"axis": None, "keepdims": False}
    assert (repr(ZERO), repr(NOT_WRITTEN)) == ("ZERO", "NOT_WRITTEN")
    assert sample(1, axis=2) == Sample((1,), {"axis": 2})


def test_every_op_prints_as_its_signature():
    assert [op for op in OPS.values() if not repr(op).startswith(f"<op {op.name}(")] == []


# ---- binding ------------------------------------------------------------------------------------

two = make(
    forward=lambda x, y, k, axis=None, *, flag=False: (x, y, k, axis, flag), inputs=("x", "y")
)
many = make(forward=lambda *xs, axis=0: (xs, axis), inputs=("xs",), variadic=True)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1, 2, 3), {}),
        ((1, 2), {"k": 3}),
        ((1,), {"y": 2, "k": 3}),
        ((), {"x": 1, "y": 2, "k": 3}),
        ((), {"k": 3, "y": 2, "x": 1}),
    ],
)
def test_ways_to_say_the_same_call(args, kwargs):
    expected = [1, 2], {"k": 3, "axis": None, "flag": False}
    assert two.bind(args, kwargs) == expected
    assert two(*args, **kwargs) == (1, 2, 3, None, False)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1,), {"k": 0}, r"toy needs 2 arrays \(x, y\), got 1"),
        ((1, 2), {}, "toy needs the argument 'k'"),
        ((1, 2, 3, 4, 5, 6), {}, "toy takes at most 5 arguments, got 6"),
        ((1, 2, 3), {"colour": 0}, "toy has no argument 'colour'; it takes x, y, k, axis, flag"),
        ((1, 2, 3), {"x": 0}, "toy got two values for 'x'"),
        ((1, 2, 3), {"k": 0}, "toy got two values for 'k'"),
        ((1,), {"x": 0, "k": 3}, "toy got two values for 'x'"),
        ((), {"y": 2, "k": 3}, r"toy needs 2 arrays \(x, y\), got 1"),
    ],
)
def test_a_call_that_cannot_be_bound(args, kwargs, message):
    with pytest.raises(cr.ArgumentError, match=message):
        two.bind(args, kwargs)
    with pytest.raises(cr.ArgumentError, match=message):
        two(*args, **kwargs)
    with pytest.raises(cr.ArgumentError, match=message):
        two(*(cr.variable(a) for a in args), **kwargs)


def test_a_call_on_variables_that_cannot_be_bound_names_its_line():
    with pytest.raises(cr.ArgumentError, match=r"test_op.py"):
        cr.sum(cr.variable(1.0), colour=0)


def test_any_number_of_inputs():
    for args in (([1, 2],), ((1, 2),), (1, 2)):
        assert many.bind(args, {"axis": 1}) == ([1, 2], {"axis": 1})
    assert many.bind(([1, 2], 1), {}) == ([1, 2], {"axis": 1})
    with pytest.raises(cr.ArgumentError, match="at most"):
        many.bind(([1, 2], 1, 2), {})


def test_attrs_are_fresh_for_every_call():
    first = two.bind((1, 2, 3), {})[1]
    first["axis"] = 9
    assert two.bind((1, 2, 3), {})[1]["axis"] is None


# ---- calling ------------------------------------------------------------------------------------


def test_arrays_are_computed_at_once_and_variables_recorded():
    assert type(cr.exp(np.zeros(2))) is np.ndarray
    assert isinstance(cr.exp(cr.variable(0.0)), cr.Variable)
    assert isinstance(cr.stack([1.0, cr.variable(0.0)]), cr.Variable)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: cr.multiply(2.0, y=x),
        lambda x: cr.sum(x=x),
        lambda x: cr.multiply(y=x, x=2.0),
        lambda x: cr.erf(x=x),
        lambda x: cr.setitem(np.zeros(3), value=x, template=(slice(None),)),
        lambda x: cr.stack(xs=[x, x]),
        lambda x: cr.stack(axis=1, xs=(x, np.ones(3))),
        lambda x: cr.erf(np.array([x[0], x[1]])),
        lambda x: cr.erf(x=np.array([[x[0], 1.0]])),
    ],
)
def test_a_variable_passed_by_keyword_keeps_its_gradient(call):
    x = cr.variable(np.ones(3))
    made = call(x)
    assert isinstance(made, cr.Variable)
    np.sum(made).backward()
    assert x.grad.any()


@pytest.mark.parametrize(
    "call",
    [
        lambda v: cr.max(np.ones(3), initial=v),
        lambda v: cr.leaky_relu(np.ones(3), v),
        lambda v: cr.max(np.ones(3), keepdims=cr.variable(1.0) > 0, initial=v),
    ],
)
def test_a_variable_given_for_an_attr_is_refused(call):
    """An attr is fixed: the result would carry no gradient with respect to it."""
    with pytest.raises(cr.DetachError, match=r"is a fixed setting(.|\n)*test_op.py"):
        call(cr.variable(2.0))


def test_the_first_variable_is_found_in_nested_lists():
    x = cr.variable(1.0)
    assert first_recorded([1, [2, (3, x)]]) is x
    assert first_recorded([1, [2, (3, "x")], None]) is None
    assert first_recorded([np.ones(3), np.array([[1.0, x]], object)]) is x
    assert first_recorded([np.array([None, 1.0])]) is None


# ---- the table ----------------------------------------------------------------------------------


def test_asking_is_what_imports():
    """A fresh interpreter: nothing of SciPy, and of an op asked for its own file alone."""
    code = (
        "import sys, numpy as np, chainrule as cr\n"
        "early = dict.__len__(cr.OPS)\n"
        "assert cr.OPS['add'].name == 'add' and dict.__len__(cr.OPS) == early\n"
        "assert 'softmax' in cr.OPS and dict.__len__(cr.OPS) == early\n"
        "assert cr.softmax is cr.OPS['softmax'] and dict.__len__(cr.OPS) > early\n"
        "cr.grad(lambda x: np.sum(np.fft.irfft(np.sinc(x))))(np.ones(3))\n"
        "assert 'chainrule.ops.fourier' in sys.modules, 'a NumPy function is found by its name'\n"
        "assert 'chainrule.ops.special_bessel' not in sys.modules\n"
        "assert len(cr.OPS) > 400 and 'chainrule.ops.special_bessel' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.fixture
def late(tmp_path, monkeypatch):
    """A table of which one op is in a file that has not been imported."""
    (tmp_path / "a_family.py").write_text(
        "import time\nfrom tests.core.test_op import make, SHARED\n"
        "time.sleep(0.1)\ndict.__setitem__(SHARED, 'late', make('late'))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "a_family", raising=False)
    monkeypatch.setitem(sys.modules, "tests.core.test_op", sys.modules[__name__])
    monkeypatch.setattr(f"{__name__}.SHARED", Table())
    SHARED.places = {"late": "a_family"}
    return SHARED


@pytest.mark.parametrize(
    ("ask", "answer"),
    [
        (lambda t: t["late"].name, "late"),
        (lambda t: t.get("late").name, "late"),
        (lambda t: "late" in t, True),
        (lambda t: "never" in t, False),
        (list, ["late"]),
        (len, 1),
        (bool, True),
        (lambda t: [op.name for op in t.values()], ["late"]),
        (lambda t: list(t.keys()), ["late"]),
        (lambda t: [k for k, _ in t.items()], ["late"]),
        (lambda t: [*{**t}], ["late"]),
        (lambda t: t.get("never"), None),
    ],
)
def test_every_question_sees_the_whole_table(late, ask, answer):
    assert ask(late) == answer
    assert ask(late) == answer


def test_the_table_is_in_alphabetical_order_whatever_came_first():
    assert list(OPS) == sorted(OPS) == [op.name for op in OPS.values()]


def test_a_place_that_declares_no_such_op(late):
    late.places["missing"] = "a_family"
    with pytest.raises(KeyError, match="missing"):
        late["missing"]


def test_a_name_nobody_has():
    with pytest.raises(KeyError):
        OPS["no_such_op"]
    assert OPS.get("no_such_op", 3) == 3
    with pytest.raises(AttributeError, match="no attribute 'no_such_op'"):
        cr.no_such_op  # noqa: B018


def test_a_thread_that_asks_while_another_imports_waits(late):
    found = []
    threads = [Thread(target=lambda: found.append(late["late"].name)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == ["late"] * 4


SHARED = Table()
