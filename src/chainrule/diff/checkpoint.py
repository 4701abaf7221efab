"""`cr.checkpoint`: what a function computes on the way is computed again when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from chainrule.core.containers import flatten
from chainrule.core.loop import Body, body_graph
from chainrule.core.masked import concrete
from chainrule.diff.loop_body import applied
from chainrule.record.body import recorded
from chainrule.record.recorder import as_operand
from chainrule.record.state import current
from chainrule.record.trace import becomes_leaf
from chainrule.record.variable import Variable


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, of which a derivative keeps the arguments alone; it is run again in the backward pass.

        import chainrule as cr
        import numpy as np
        layer = cr.checkpoint(lambda w, x: np.tanh(np.sin(x @ w)))
        print(cr.grad(lambda w: np.sum(layer(w, np.ones((1, 2)))))(np.zeros((2, 1))).T)
        # [[1. 1.]]

    That holds for every order and both modes.  What f closes over is kept too, as it was then;
    numbers that f draws itself are constants, the same when it is run again.
    """

    @wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten((args, kwargs))
        state = current.get()
        if not (state.inside or state.tracing) and not any(isinstance(v, Variable) for v in leaves):
            return f(*args, **kwargs)
        given = [i for i, v in enumerate(leaves) if becomes_leaf(v, type(v) is float)]
        inputs = [as_operand(leaves[i], Variable) for i in given]
        built = structure

        def call(*variables: Variable) -> list[Any]:
            nonlocal built
            filled = list(leaves)
            for i, v in zip(given, variables, strict=True):
                filled[i] = v
            again, named = structure.unflatten(filled)
            results, built = flatten(f(*again, **named))
            return results

        made = recorded(call, [np.asarray(concrete(v))[()] for v in inputs])
        every = [*made.sources, *inputs]
        if made.irregular or not any(isinstance(v, Variable) for v in every):
            return f(*args, **kwargs)
        results = len(made.graph.outputs) - len(made.reads)
        outputs = made.graph.outputs
        graph = body_graph(made.graph.leaves, [*outputs[results:], *outputs[:results]])
        found = applied(Body(graph, 1, reads=made.reads), every, keep=False)
        if found is None:
            return f(*args, **kwargs)
        return built.unflatten([v[0] for v in found])

    return checkpointed
