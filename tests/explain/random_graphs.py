"""Random programs small enough to list every path, and the paths listed."""

import numpy as np

import chainrule as cr

UNARY = (np.sin, np.tanh, np.cos, lambda a: a * a, lambda a: 0.5 * a, lambda a: -a)
GATES = (np.maximum, np.minimum, lambda a, b: np.where(a > b, a, b))
BINARY = (np.add, np.multiply, np.subtract, lambda a, b: a / (2.0 + b * b))


def scalar_program(rng, inputs=3, steps=9):
    """A function of `inputs` numbers that combines earlier values at random."""
    plan = [
        (rng.integers(3), rng.integers(6), *rng.integers(0, inputs + k, size=2))
        for k in range(steps)
    ]

    def program(*values):
        values = list(values)
        for kind, which, i, j in plan:
            if kind == 0:
                values.append(UNARY[which](values[i]))
            elif which == 5:
                values.append(GATES[i % len(GATES)](values[i], values[j]))
            else:
                values.append(BINARY[which % 4](values[i], values[j]))
        return values[-1] + 0.1 * values[-2]

    return program


def array_program(rng, steps=7, n=3):
    """A function of a vector and a matrix; vectors in between, matrices and numbers mixed in."""
    plan = [(rng.integers(7), *rng.integers(0, 1 + k, size=2)) for k in range(steps)]

    def program(x, W):
        values = [x]
        for kind, i, j in plan:
            a, b = values[i], values[j]
            made = (
                lambda a, b: W @ a,
                lambda a, b: np.tanh(a) + b,
                lambda a, b: a * b,
                lambda a, b: a * np.sum(b),
                lambda a, b: np.where(a > 0, a, 0.1 * b),
                lambda a, b: np.concatenate([a[1:], b[:1]]),
                lambda a, b: cr.softmax(a) * b,
            )[kind](a, b)
            values.append(made)
        return np.sum(values[-1] * values[-2])

    return program


def edges_of(graph):
    """Per node the parents through which a derivative flows, each once."""
    return {node: tuple(dict.fromkeys(node.parents)) for node in graph.nodes}


def all_paths(graph, wrt):
    """Every directed path from `wrt` to the output, as nodes, input first."""
    parents, found, pending = edges_of(graph), [], [(graph.outputs[0],)]
    while pending:
        path = pending.pop()
        if path[0] is wrt:
            found.append(path)
        else:
            pending += [(parent, *path) for parent in parents[path[0]]]
    return found


def product_along(run, path):
    """seed × local Jacobian × … along one path, as a row."""
    row = np.ones((1, 1))
    for parent, child in zip(path[-2::-1], path[:0:-1], strict=True):
        row = row @ run.local_jacobian(parent, child)
    return row
