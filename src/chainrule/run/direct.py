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

from chainrule.core.containers import Structure

if TYPE_CHECKING:
    from chainrule.run.compiled import Variant

MISS: Any = object()
FLAT = Structure((None,))


def alike(expected: np.ndarray, found: np.ndarray) -> bool:
    """Whether Python code cannot tell one from the other: NaN is NaN, -0.0 is not 0.0."""
    if expected.tobytes() == found.tobytes():
        return True
    if expected.dtype.kind not in "fc":
        return False
    one, other = (np.where(np.isnan(a), np.nan, a).tobytes() for a in (expected, found))
    return one == other


def direct_call(variant: Variant, structures: Sequence[Structure]) -> Callable[..., Any] | None:
    """A function of the tuple of arguments; None where they are not taken apart this way."""
    taken = [_taken_apart(s, f"args[{i}]") for i, s in enumerate(structures)]
    if any(t is None for t in taken):
        return None
    run, graph = variant.run, variant.recording.graph
    assert run.builtin is not None
    leaves = [leaf for t in taken if t is not None for leaf in t[1]]
    if len(graph.leaves) != len(leaves):  # a flag or a size, which belongs to the form
        return None
    checks = [check for t in taken if t is not None for check in t[0]]
    nested = bool(checks)
    scope: dict[str, Any] = {
        "entry": run.builtin.call, "empty": np.empty, "MISS": MISS, "variant": variant,
        "alike": alike,
    }  # fmt: skip
    lines = ["def direct(args):"]
    if nested:
        checks.insert(0, f"len(args) == {len(structures)}")
        lines += [f"    if not ({' and '.join(checks)}):", "        return MISS"]
    outputs = [f"o{i}" for i in range(len(run.shapes))]
    for name, (shape, dtype) in zip(outputs, run.shapes, strict=True):
        scope[f"d_{name}"] = dtype
        lines.append(f"    {name} = empty({shape!r}, d_{name})")
    for i, array in enumerate(variant.live):
        scope[f"live{i}"] = array
    passed = [
        *(leaves if nested else ["*args"]),
        *(f"live{i}" for i in range(len(variant.live))),
        *outputs,
    ]
    call = f"entry({', '.join(passed)})"
    if nested:  # a dict may have other keys
        lines += [
            "    try:",
            f"        fits = {call}",
            "    except KeyError:",
            "        return MISS",
        ]
        call = "fits"
    lines += [f"    if not {call}:", "        return MISS"]
    for i, expected in enumerate(variant.expected):
        guard = outputs[variant.count + i]
        if expected.ndim == 0 and expected.dtype.kind in "iub":
            lines.append(f"    if {guard}.item() != {expected.item()!r}:")
        else:
            scope[f"e_{guard}"] = expected
            lines.append(f"    if not alike(e_{guard}, {guard}):")
        lines.append("        return MISS")
    results = [
        name if shape else f"{name}[()]"
        for name, (shape, _) in zip(outputs[: variant.count], run.shapes, strict=False)
    ]
    assert graph.result is not None
    text = _put_together(graph.result, results)
    if text is None:
        scope["unflatten"] = graph.result.unflatten
        text = f"unflatten([{', '.join(results)}])"
    lines.append(f"    return {text}")
    exec("\n".join(lines), scope)  # noqa: S102 - made of names and shapes of our own
    made: Callable[..., Any] = scope["direct"]
    return made


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
        if entry.cls is dict and len(keys) > 1:  # filled in another order, it is iterated so
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
