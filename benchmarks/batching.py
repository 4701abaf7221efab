"""Batching: many examples, many columns of a Jacobian, many lanes that branch, at once.

Every program is written once over `Library`, the few names by which libraries batch and
differentiate. Where lanes branch, ours is the Python that a user writes; the others have no such
thing, and are given a masked loop or a choice between both branches.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks import bundle, compiled, hand
from benchmarks.case import Case, Table, Target
from benchmarks.first_calls import first_calls
from benchmarks.harness import Options, time_cases
from benchmarks.peers import Bound

TITLE = "Batching: gradients of examples, Jacobians, and lanes that branch, float64"


class Library(NamedTuple):
    """What a program is written in.

    `jacobian(f, argnums, forward)`: the others are told which mode is the faster, ours finds out.
    """

    name: str
    xp: Any
    vmap: Callable
    grad: Callable
    jacobian: Callable
    hessian: Callable
    jvp: Callable
    softmax: Callable


def ours() -> Library:
    import chainrule as cr

    def jacobian(f: Callable, argnums: Any = 0, forward: bool = False) -> Callable:
        return cr.jacobian(f, argnums)

    return Library("chainrule", np, cr.vmap, cr.grad, jacobian, cr.hessian, cr.jvp, cr.softmax)


def in_jax(jax: Any) -> Library:
    def jacobian(f: Callable, argnums: Any = 0, forward: bool = False) -> Callable:
        return (jax.jacfwd if forward else jax.jacrev)(f, argnums)

    softmax = jax.nn.softmax
    return Library(
        "jax", jax.numpy, jax.vmap, jax.grad, jacobian, jax.hessian, jax.jvp, softmax
    )  # fmt: skip


def in_torch(torch: Any) -> Library:
    func = torch.func

    def jacobian(f: Callable, argnums: Any = 0, forward: bool = False) -> Callable:
        return (func.jacfwd if forward else func.jacrev)(f, argnums)

    return Library(
        "torch", torch, func.vmap, func.grad, jacobian, func.hessian, func.jvp, torch.softmax
    )


# -- gradients of examples -------------------------------------------------------------------------


def mlp(to: Library) -> Callable:
    """A network 64-128-10, squares, 256 examples."""

    def loss(W: Any, b: Any, V: Any, c: Any, x: Any, y: Any) -> Any:
        return to.xp.sum((to.xp.tanh(x @ W + b) @ V + c - y) ** 2)

    return to.vmap(to.grad(loss, (0, 1, 2, 3)), (None, None, None, None, 0, 0))


def mlp_inputs(rng: np.random.Generator) -> tuple:
    return (
        0.1 * rng.normal(size=(64, 128)), 0.1 * rng.normal(size=128),
        0.1 * rng.normal(size=(128, 10)), 0.1 * rng.normal(size=10),
        rng.normal(size=(256, 64)), rng.normal(size=(256, 10)),
    )  # fmt: skip


TOKENS, WIDTH, HEADS = 16, 32, 4


def transformer(to: Library) -> Callable:
    """One block on 16 tokens of width 32, 4 heads, 32 examples."""
    xp = to.xp

    def normal(h: Any) -> Any:
        centred = h - xp.mean(h, -1)[:, None]
        return centred / xp.sqrt(xp.mean(centred * centred, -1) + 1e-5)[:, None]

    def loss(A: Any, B: Any, C: Any, D: Any, x: Any, y: Any) -> Any:
        qkv = (normal(x) @ A).reshape(TOKENS, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv[:, 0], qkv[:, 1], qkv[:, 2]
        scores = xp.einsum("thd,shd->hts", q, k) / (WIDTH // HEADS) ** 0.5
        mixed = xp.einsum("hts,shd->thd", to.softmax(scores, -1), v).reshape(TOKENS, WIDTH)
        h = x + mixed @ B
        h = h + xp.tanh(normal(h) @ C) @ D
        return xp.mean((h - y) ** 2)

    return to.vmap(to.grad(loss, (0, 1, 2, 3)), (None, None, None, None, 0, 0))


def transformer_inputs(rng: np.random.Generator) -> tuple:
    def weights(n: int, m: int) -> np.ndarray:
        return rng.normal(size=(n, m)) / np.sqrt(n)

    examples = rng.normal(size=(2, 32, TOKENS, WIDTH))
    return (
        weights(WIDTH, 3 * WIDTH), weights(WIDTH, WIDTH), weights(WIDTH, 4 * WIDTH),
        weights(4 * WIDTH, WIDTH), examples[0], examples[1],
    )  # fmt: skip


# -- Jacobians and Hessians ------------------------------------------------------------------------


def dense(to: Library) -> Callable:
    """1,000 × 1,000: tanh(A x)·x."""
    return to.jacobian(lambda x, A: to.xp.tanh(A @ x) * x)


def stencil(to: Library) -> Callable:
    """1,000 × 1,000, three entries in a row."""
    xp = to.xp

    def system(x: Any) -> Any:
        return x * x * xp.roll(x, 1) - xp.sin(xp.roll(x, -1))

    return to.jacobian(system, 0, True)


def logistic(to: Library) -> Callable:
    """100 parameters, 500 points."""
    xp = to.xp
    return to.hessian(lambda w, X, y: xp.sum(xp.log1p(xp.exp(X @ w)) - y * (X @ w)))


def rosenbrock(to: Library) -> Callable:
    """1,000 variables: a matrix of three diagonals, stored densely."""
    xp = to.xp
    return to.hessian(lambda x: xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


# -- lanes that branch -----------------------------------------------------------------------------

LANES = 10_000


def root(a: Any) -> Any:
    """By Newton: as many iterations as it takes."""
    y = a
    while abs(y * y - a) > 1e-9 * a:
        y = 0.5 * (y + a / y)
    return y


def newton(to: Library) -> Callable:
    """The values; counts of iterations differ."""
    if to.name == "chainrule":
        return to.vmap(root)
    if to.name == "jax":
        import jax

        def masked(a: Any) -> Any:
            return jax.lax.while_loop(
                lambda y: abs(y * y - a) > 1e-9 * a, lambda y: 0.5 * (y + a / y), a
            )

        return to.vmap(masked)

    def all_lanes(a: Any) -> Any:
        y, left = a, abs(a * a - a) > 1e-9 * a
        while left.any():
            y = to.xp.where(left, 0.5 * (y + a / y), y)
            left = abs(y * y - a) > 1e-9 * a
        return y

    return all_lanes


def newton_slope(to: Library) -> Callable:
    """The gradient of each lane: ours in reverse, jax's forward, as it has no reverse."""
    if to.name == "chainrule":
        return to.vmap(to.grad(root))
    roots = newton(to)
    if to.name == "jax":
        return lambda a: to.jvp(roots, (a,), (to.xp.ones_like(a),))[1]
    return to.grad(lambda a: to.xp.sum(roots(a)))


def rare(to: Library) -> Callable:
    """An `if` whose costly branch 2 lanes in 100 take: the others compute it for all."""
    xp = to.xp

    def costly(x: Any) -> Any:
        y = x
        for _ in range(20):
            y = xp.sin(y) + xp.exp(-y * y) * x
        return y

    if to.name == "chainrule":
        return to.vmap(to.grad(lambda x: costly(x) if x > 2.0 else x * x))
    if to.name == "jax":
        import jax

        return to.vmap(to.grad(lambda x: jax.lax.cond(x > 2.0, costly, lambda x: x * x, x)))
    return to.vmap(to.grad(lambda x: xp.where(x > 2.0, costly(x), x * x)))


# -- cases -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A program, and its inputs by a generator."""

    make: Callable[[Library], Callable]
    inputs: Callable[[np.random.Generator], tuple]
    kept: bool = False  # whether the last results are kept, so that new ones need new memory


PROGRAMS = {
    "MLP, B=256": Program(mlp, mlp_inputs),
    "MLP, B=256, kept": Program(mlp, mlp_inputs, kept=True),
    "transformer, B=32": Program(transformer, transformer_inputs),
    "Jacobian 1,000², dense": Program(
        dense, lambda r: (r.normal(size=1000), r.normal(size=(1000, 1000)) / 32)
    ),
    "Jacobian 1,000², stencil": Program(stencil, lambda r: (r.normal(size=1000),)),
    "Hessian 100², logistic": Program(
        logistic,
        lambda r: (
            0.1 * r.normal(size=100), r.normal(size=(500, 100)), 1.0 * (r.random(500) > 0.5),
        ),
    ),
    "Hessian 1,000², Rosenbrock": Program(rosenbrock, lambda r: (r.normal(size=1000),)),
    "HAND, simple": Program(hand.simple, hand.simple_inputs),
    "HAND, complicated": Program(hand.complicated, hand.complicated_inputs),
    "BA, 30,000 observations": Program(bundle.jacobians, partial(bundle.inputs, 30_000)),
    "Newton, 10,000 lanes": Program(newton, lambda r: (10 ** r.uniform(-2, 4, LANES),)),
    "Newton, gradients": Program(newton_slope, lambda r: (10 ** r.uniform(-2, 4, LANES),)),
    "rare branch, 10,000 lanes": Program(rare, lambda r: (r.normal(size=LANES),)),
}  # fmt: skip

KEPT = 4  # results


@cache
def inputs(name: str, slot: int) -> tuple:
    return PROGRAMS[name].inputs(np.random.default_rng(slot))


def bound(name: str, way: Bound) -> Bound:
    if not PROGRAMS[name].kept:
        return way
    results: deque = deque(maxlen=KEPT)

    def call(given: Any) -> Any:
        result = way.call(given)
        results.append(result)
        return result

    return way._replace(call=call)


def interpreted(make: Callable[[Library], Callable]) -> Bound:
    f = make(ours())
    return Bound(lambda given: given, lambda given: f(*given), compiled.leaves)


def case(name: str) -> Case:
    make = PROGRAMS[name].make
    ways = {
        "torch.func": lambda: compiled.torch_function(lambda torch: make(in_torch(torch))),
        "jax.jit": lambda: compiled.jax(lambda jax: make(in_jax(jax))),
        "chainrule.eager": lambda: interpreted(make),
        "chainrule.compile": lambda: compiled.chainrule(lambda cr: make(ours())),
    }
    return Case(
        name,
        None,
        partial(inputs, name),
        ways={variant: partial(_bind, name, way) for variant, way in ways.items()},
        ring=3,
    )


def _bind(name: str, way: Callable[[], Bound]) -> Bound:
    return bound(name, way())


CASES = {name: case(name) for name in PROGRAMS}
TARGETS = tuple(
    Target(name, "jax", 3.0 if name.startswith("Newton") else 1.0) for name in PROGRAMS
)  # fmt: skip


# -- first calls -----------------------------------------------------------------------------------


def first_chainrule(name: str) -> dict[str, float]:
    """Seconds of compiling, and of the whole first call; a small function came before."""
    import chainrule as cr

    compiled.chainrule_gradient(lambda x: np.sum(np.sin(x))).call((np.ones(3),))
    fast = cr.compile(PROGRAMS[name].make(ours()))
    start = perf_counter()
    fast(*inputs(name, 0))
    whole = perf_counter() - start
    seconds = [v.seconds for variants in fast.variants.values() for v in variants]
    parts = [t for one in seconds for what, t in one.items() if what != "recording"]
    return {"compiling": sum(parts), "all": whole}


def first_jax(name: str) -> dict[str, float]:
    """Seconds of compiling, and with tracing."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.block_until_ready(jax.jit(jax.value_and_grad(lambda x: jax.numpy.sum(x * x)))(1.0))
    given = [jax.numpy.asarray(x) for x in inputs(name, 0)]
    f = PROGRAMS[name].make(in_jax(jax))
    start = perf_counter()
    lowered = jax.jit(f).lower(*given)
    middle = perf_counter()
    jax.block_until_ready(lowered.compile()(*given))
    return {"compiling": perf_counter() - middle, "all": perf_counter() - start}


FIRST = {"jax.jit": "first_jax", "chainrule.compile": "first_chainrule"}


def run(options: Options) -> list[Table]:
    """Time every program and its first call."""
    cells = time_cases("batching", [[one] for one in CASES.values()], options, 1e6)
    calls = {
        name: {v: f"{function}({name!r})" for v, function in FIRST.items()}
        for name in PROGRAMS
        if not PROGRAMS[name].kept
    }
    seconds = first_calls("batching", calls, options)
    return [
        Table("Time of a call", "ms", cells, TARGETS, "jax"),
        Table("Compiling alone, once", "ms", seconds["compiling"], (), "jax"),
        Table("The whole first call, once", "ms", seconds["all"], (), "jax"),
    ]
