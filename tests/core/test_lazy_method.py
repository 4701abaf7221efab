"""A method named by a string: imported when first used, and then a method like any other."""

import inspect
import sys
from types import ModuleType

import pytest

import chainrule as cr
from chainrule.core.lazy_method import lazy_method


@pytest.fixture
def elsewhere(monkeypatch):
    module = ModuleType("elsewhere")
    module.looked_up = 0
    module.described = lambda self, times=1: f"{self.name} " * times
    module.built = lambda name: f"built {name}"
    monkeypatch.setitem(sys.modules, "elsewhere", module)
    return module


def make():
    class Thing:
        name = "thing"
        described = lazy_method("elsewhere", "described")
        built = lazy_method("elsewhere", "built", static=True)
        missing = lazy_method("elsewhere", "missing")
        nowhere = lazy_method("chainrule.no_such_room", "f")

    return Thing


def test_a_method(elsewhere):
    Thing = make()
    assert Thing().described() == "thing "
    assert Thing().described(times=2) == "thing thing "
    assert Thing.__dict__["described"] is elsewhere.described, "after first use a plain method"


def test_a_static_method(elsewhere):
    Thing = make()
    assert Thing.built("x") == "built x"
    assert Thing().built("x") == "built x"


def test_through_the_class_before_any_instance(elsewhere):
    Thing = make()
    assert Thing.described(Thing()) == "thing "


def test_a_subclass_gets_it_from_its_owner(elsewhere):
    Thing = make()

    class Other(Thing):
        name = "other"

    assert Other().described() == "other "
    assert "described" not in Other.__dict__
    assert Thing().described() == "thing "


def test_nothing_is_imported_before_it_is_used():
    Thing = make()
    assert "elsewhere" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        Thing().described()


def test_what_is_not_there_says_so(elsewhere):
    Thing = make()
    with pytest.raises(AttributeError, match="missing"):
        Thing().missing()
    with pytest.raises(ModuleNotFoundError, match="no_such_room"):
        Thing().nowhere()
    elsewhere.missing = lambda self: 3
    assert Thing().missing() == 3, "a failure is not remembered"


FACE = {
    cr.Graph: (
        "verify",
        "to_json",
        "from_json",
        "to_dot",
        "to_networkx",
        "forward",
        "define",
        "steps",
        "to_svg",
    ),
    cr.Run: ("to_svg",),
    cr.Variable: ("backward",),
}


@pytest.mark.parametrize("owner", FACE)
def test_the_late_methods_of_the_public_types_exist_and_are_described(owner):
    for name in FACE[owner]:
        assert inspect.getdoc(getattr(owner, name)), name
        assert not isinstance(vars(owner)[name], lazy_method), "used once, a method like any other"
