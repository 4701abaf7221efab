"""Source text that makes a float64 Variable and its node in place, for the hottest paths.

It is the fast form of `recorder.node_of`.  `Variable(out, Node(…))` says the same in one line, and
takes 150 ns more: two calls, and a third to ask the rule what to keep.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.core.node import NO_ATTRS, Node
from chainrule.core.rule import Rule
from chainrule.core.written import written
from chainrule.record.state import current

DOUBLE = np.dtype(np.float64)


def making(
    rule: str, second: str, keeps: Rule, shape: str, indent: int, attrs: str = "NO_ATTRS"
) -> str:
    """Statements that make `made` of `out` at the line of `frame`; what `keeps` reads is kept.

    Its parents are `node` and `second`.
    """
    kept = "".join(f"{name}, " for name in keeps.saved_names)
    kept = keeps.saved_names[0] if keeps.bare else f"({kept})"
    lines = (  # one by one: a tuple on each side of `=` would be built
        "noted = new(Node)",
        f"noted.rule = {rule}",
        "noted.first = node",
        f"noted.second = {second}",
        "noted.others = ()",
        f"noted.kept = {kept}",
        f"noted.attrs = {attrs}",
        f"noted.shape = {shape}",
        "noted.dtype = DOUBLE",
        "noted.code = frame.f_code",
        "noted.lasti = frame.f_lasti",
        "noted.args = noted.watch = None",
        "made = new(Variable)",
        "made._value = out",
        "made.node = noted",
    )
    return ("\n" + " " * indent).join(lines)


def defined(text: str, functions: str, variable: type[Any], **names: Any) -> list[Any]:
    """The functions that such a text defines; their names are parted by spaces."""
    scope: dict[str, Any] = {
        "__name__": __name__,  # its frames are ours, not the user's
        "DOUBLE": DOUBLE,
        "NO_ATTRS": NO_ATTRS,
        "Node": Node,
        "Variable": variable,
        "caller": sys._getframe,
        "new": object.__new__,
        "state": current.get,
        **names,
    }
    first, *others = functions.split()
    return [written(text, first, scope), *(scope[name] for name in others)]


UFUNC = """
def apply(variable, frame):
    node, x = variable.node, variable._value
    out = ufunc(x)
    {make}
    return made
"""


def ufunc_maker(variable: type[Any], ufunc: np.ufunc, rule: Rule) -> Callable[[Any, Any], Any]:
    """A function that applies a ufunc of one argument to a float64 Variable."""
    text = UFUNC.format(make=making("rule", "None", rule, "node.shape", 4))
    return defined(text, "apply", variable, ufunc=ufunc, rule=rule)[0]


ITEM = """
def item(variable, template, frame):
    node, attrs = variable.node, {{"template": template}}
    out = variable._value[template]
    {make}
    return made
"""


def item_maker(variable: type[Any], rule: Rule) -> Callable[[Any, Any, Any], Any]:
    """A function that reads a part of a float64 Variable, at an index without arrays."""
    text = ITEM.format(make=making("rule", "None", rule, "out.shape", 4, attrs="attrs"))
    return defined(text, "item", variable, rule=rule)[0]
