"""The usual call of a compiled function in as few steps as Python allows.

The text of a function is made that takes the arguments apart as they were when it was recorded,
makes the outputs, calls the machine code and puts the result together.  Whatever is not as expected
(another container, another shape, a guard that does not hold) gives MISS, and the call is made the
long way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.core.containers import Structure, flatten
from chainrule.core.loop import Body
from chainrule.core.written import written

if TYPE_CHECKING:
    from chainrule.core.graph import Graph
    from chainrule.run.variant import Variant

MISS: Any = object()
NUMPY = (np.ndarray, np.generic)
WIDE = (np.dtype(np.float64), np.dtype(np.complex128))  # as Python's numbers
DYNAMIC = (*NUMPY, float, complex)  # what is passed to machine code
STATIC = (int, bool, str, bytes, float, type(None))  # what can be written down


def alike(expected: np.ndarray, value: np.ndarray) -> bool:
    """Whether Python code cannot tell one from the other: NaN is NaN, -0.0 is not 0.0."""
    if expected.tobytes() == value.tobytes():
        return True
    if expected.dtype.kind not in "fc":
        return False
    one, other = (np.where(np.isnan(a), np.nan, a).tobytes() for a in (expected, value))
    return one == other


def direct_call(
    variant: Variant, given: Sequence[Any], donated: Sequence[int] = ()
) -> Callable[..., Any] | None:
    """A function of the tuple of arguments; None where they are not taken apart this way.

    `given` are the arguments that were recorded; what is no array in them must be the same again.
    """
    text = _Text(variant)
    for i, arg in enumerate(given):
        if not text.take(arg, i, i in donated):
            return None
    text.tell_floats()
    if len(variant.recording.graph.leaves) != len(text.leaves):
        return None
    return text.function(len(given))


# A call now and then is compared with plain Python: `left` counts those before the next.
TURN = """    global left
    left -= 1
    if left < 0:
        return check(args)
"""


class _Text:
    """The text of one such function in the making, and the objects its names stand for."""

    def __init__(self, variant: Variant):
        assert variant.run.entry is not None
        self.variant = variant
        self.scope: dict[str, Any] = variant.scope
        self.scope |= {
            "entry": variant.run.entry, "empty": np.empty, "MISS": MISS, "alike": alike,
            "__name__": __name__,
            "memory": variant.run,  # code, arena and constants must outlive this function
        }  # fmt: skip
        self.checks: list[str] = []
        self.leaves: list[str] = []
        self.gifts: list[tuple[str, Any]] = []  # donated arrays: expression, (shape, dtype)
        self.numbers: list[tuple[str, Any]] = []  # NumPy's: expression, value
        self.floats: list[str] = []  # Python's
        self.lines: list[str] = []

    def take(self, arg: Any, i: int, donated: bool) -> bool:
        """Note how argument i is taken apart; whether it can be."""
        fixed = self.variant.fixed
        values, structure = flatten(arg)
        taken = _taken_apart(structure, f"args[{i}]")
        if taken is None:
            return False
        self.checks += taken[0]
        for value, at in zip(values, taken[1], strict=True):
            if isinstance(value, DYNAMIC) and not (fixed and type(value) is float):
                self.leaves.append(at)
                if isinstance(value, NUMPY):
                    self.numbers.append((at, value))
                else:
                    self.floats.append(at)
                # A number comes back as NumPy's scalar, which has no memory to give.
                if donated and isinstance(value, np.ndarray) and value.ndim:
                    self.gifts.append((at, (value.shape, value.dtype)))
            elif type(value) in STATIC:
                kind = type(value).__name__
                if kind == "float":
                    self.checks.append(f"type({at}) is float and {at}.hex() == {value.hex()!r}")
                    continue
                same = (
                    "is"
                    if kind == "NoneType"
                    else f"is not None and type({at}) is {kind} and {at} =="
                )
                self.checks.append(f"{at} {same} {value!r}")
            else:
                return False
        return True

    def tell_floats(self) -> None:
        """Beside other types, Python's float is another signature than a float64 of NumPy's."""
        if any(d.kind in "fc" and d not in WIDE for d in _dtypes(self.variant.recording.graph)):
            numbers = [at for at, v in self.numbers if v.dtype in WIDE and not v.ndim]
            self.checks += [f"type({at}) not in (float, complex)" for at in numbers]
            self.checks += [f"type({at}) in (float, complex)" for at in self.floats]

    def function(self, count: int) -> Callable[..., Any]:
        """All put together, for so many arguments."""
        variant = self.variant
        run, graph = variant.run, variant.recording.graph
        if self.checks:
            self.checks.insert(0, f"len(args) == {count}")
            self.miss_unless(" and ".join(self.checks))
        if self.gifts:
            used, given = (
                ", ".join(f"id({at})" for at in some)
                for some in (self.leaves, [at for at, _ in self.gifts])
            )
            self.lines.append(f"used = {{{used}}}")
            self.lines.append(f"once = len({{{given}}}) == {len(self.gifts)}")
        if len(variant.outside):
            self.check_outside(variant)
        outputs = [f"o{i}" for i in range(len(run.shapes))]
        after = [line for i, o in enumerate(outputs) for line in self.make_output(i, o)]
        external = [f"external{i}" for i in range(len(variant.external))]
        self.scope.update(zip(external, variant.external, strict=True))
        passed = [*(self.leaves if self.checks else ["*args"]), *external, *outputs]
        self.miss_unless(f"entry({', '.join(passed)})")
        for expected, guard in zip(variant.expected, outputs[variant.count :], strict=True):
            self.check_guard(expected, guard)
        self.lines += after
        results = [
            name if shape else f"{name}[()]"
            for name, (shape, _) in zip(outputs[: variant.count], run.shapes, strict=False)
        ]
        assert graph.result is not None
        text = _put_together(graph.result, results)
        if text is None:
            self.scope["unflatten"] = graph.result.unflatten
            text = f"unflatten([{', '.join(results)}])"
        body = "\n".join(f"    {line}" for line in [*self.lines, f"return {text}"])
        made: Callable[..., Any] = written(f"def direct(args):\n{TURN}{body}", "direct", self.scope)
        return made

    def check_outside(self, variant: Variant) -> None:
        """What was read outside is bound as it was; a read that raises is a change."""
        self.scope["outside"] = variant.outside
        condition = variant.outside.condition(self.scope) or "outside.as_before()"
        self.lines += ["try:", f"    same = {condition}", "except Exception:", "    same = False"]
        self.miss_unless("same or outside.changed() is None")

    def miss_unless(self, condition: str) -> None:
        self.lines += [f"if not ({condition}):", "    return MISS"]

    def make_output(self, i: int, name: str) -> list[str]:
        """An array for an output: one that was donated, or a new one; and what to do afterwards."""
        shape, dtype = self.variant.run.shapes[i]
        self.scope[f"d_{name}"] = dtype
        new = f"empty({shape!r}, d_{name})"
        gift = next((g for g in self.gifts if g[1] == (shape, dtype)), None)
        if gift is None or i >= self.variant.count:
            self.lines.append(f"{name} = {new}")
            return []
        self.gifts.remove(gift)
        kept = f"gifts_{name}"
        self.scope[kept] = []
        self.lines.append(f"{name} = {kept}.pop() if {kept} else {new}")
        self.lines += [f"if id({name}) in used:", f"    {name} = {new}"]  # it is given again
        # No memory twice: an array that is given twice, or a view.
        return [f"if once and {gift[0]}.base is None:", f"    {kept}.append({gift[0]})"]

    def check_guard(self, expected: np.ndarray, guard: str) -> None:
        if expected.ndim == 0 and expected.dtype.kind in "iub":
            self.miss_unless(f"{guard}.item() == {expected.item()!r}")
        else:
            self.scope[f"e_{guard}"] = expected
            self.miss_unless(f"alike(e_{guard}, {guard})")


def _dtypes(graph: Graph) -> set[np.dtype[Any]]:
    """The types of all values in a graph, and of the constants that these are computed from."""
    scalars = (a for n in graph.nodes for a in n.args or () if isinstance(a, np.generic))
    bodies = [v.graph for n in graph.nodes for v in n.attrs.values() if isinstance(v, Body)]
    inside = (_dtypes(body) for body in bodies)
    return {n.dtype for n in graph.nodes}.union((a.dtype for a in scalars), *inside)


def _keys_as_text(names: Sequence[Any]) -> list[str] | None:
    """Keys of a dict that can be written down."""
    return [repr(n) for n in names] if all(type(n) in (str, int) for n in names) else None


def _taken_apart(structure: Structure, whole: str) -> tuple[list[str], list[str]] | None:
    """Conditions under which an argument has this structure, and its leaves as expressions."""
    checks: list[str] = []
    leaves: list[str] = []
    pending = [whole]
    for entry in structure.entries:
        at = pending.pop()
        if entry is None:
            leaves.append(at)
            continue
        if entry.cls not in (tuple, list, dict):
            return None
        keys = _keys_as_text(entry.names)
        if keys is None:
            return None
        checks.append(f"type({at}) is {entry.cls.__name__} and len({at}) == {len(keys)}")
        if entry.cls is dict and keys:  # filled in another order, it is iterated so
            checks.append(f"[*{at}] == {list(entry.filled)!r}")
        pending += [f"{at}[{key}]" for key in reversed(keys)]
    return checks, leaves


def _put_together(structure: Structure, leaves: Sequence[str]) -> str | None:
    """The expression that builds a result of this structure."""
    left = iter(leaves)
    stack: list[tuple[Any, list[str], int]] = []  # a container, its children so far, how many
    for entry in structure.entries:
        if entry is None:
            done = next(left)
        elif entry.cls in (tuple, list, dict) and _keys_as_text(entry.names) is not None:
            if entry.names:
                stack.append((entry, [], len(entry.names)))
                continue
            done = f"{entry.cls.__name__}()"
        else:
            return None
        while stack:
            container, children, count = stack[-1]
            children.append(done)
            if len(children) < count:
                break
            stack.pop()
            done = _literal(container, children)
        else:
            return done
    return None


def _literal(container: Any, children: list[str]) -> str:
    if container.cls is dict:
        order = container.filled or container.names
        by_key = dict(zip(container.names, children, strict=True))
        return "{" + ", ".join(f"{k!r}: {by_key[k]}" for k in order) + "}"
    inside = ", ".join(children)
    return f"[{inside}]" if container.cls is list else f"({inside},)"
