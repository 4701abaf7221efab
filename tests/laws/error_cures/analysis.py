"""What is said of runs, checks, explanations, steps and pictures."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np

import chainrule as cr
from chainrule import learn
from chainrule.view.look import look
from chainrule.view.signs import findings, stuck
from tests.laws.error_cures.entry import entry

X = np.array([1.0, 2.0])


def graph():
    return cr.trace(lambda x, y: np.sum(x**2 * y), X, 3.0)


def run(backward=False, of=None):
    made = (of or graph()).forward(X, 3.0)
    if backward:
        made.backward()
    return made


# ---- checks --------------------------------------------------------------------------------------


def checks(f, *args, **options):
    """1 if the derivatives of f are right; else the check raises."""
    return lambda: cr.check_grads(f, *args, **options).order


RNG = np.random.default_rng(0)
CHECKED = "explain/disagreement.py:"
entry(
    CHECKED + "<module>", "Draw random numbers from a generator made inside",
    checks(lambda x: x * RNG.standard_normal(), 0.5),
    checks(lambda x: x * np.random.default_rng(0).standard_normal(), 0.5),
    right=2,
)  # fmt: skip
entry(
    CHECKED + "<module>", "or pass them in",
    checks(lambda x: x * RNG.standard_normal(), 0.5),
    checks(lambda x, noise: x * noise, 0.5, RNG.standard_normal()),
    right=2,
)  # fmt: skip


def detached(x):
    weight = np.exp(cr.stop_gradient(x).value) if isinstance(x, cr.Variable) else np.exp(x)
    return x * weight


entry(CHECKED + "wrong_whole", "compute it from the Variable itself, not from x.value",
      checks(detached, 0.5), checks(lambda x: x * np.exp(x), 0.5), right=2)  # fmt: skip
entry(
    CHECKED + "wrong_whole",
    "leave it out, or do not expect the whole derivative",
    checks(lambda x: x * cr.stop_gradient(x), 1.5),
    checks(lambda x: x * x, 1.5),
    right=2,
)
entry(
    CHECKED + "wrong_whole", "look at functions whose value depends on something else",
    checks(lambda x: x**2 if isinstance(x, cr.Variable) else x**3, 1.5),
    checks(lambda x: x**2, 1.5),
    right=2,
)  # fmt: skip
entry("explain/check.py:check_grads", ": choose among", checks(np.sin, 0.5, modes=["back"]),
      *(checks(np.sin, 0.5, modes=[m]) for m in ("reverse", "forward")), right=2)  # fmt: skip
SINGULAR = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-7]])


def sum_of_inverse(a):
    return np.sum(np.linalg.inv(a))


entry("explain/check.py:Check.notes", "(cr.conditioning tells where)",
      lambda: str(cr.check_grads(sum_of_inverse, SINGULAR)),
      lambda: str(cr.conditioning(sum_of_inverse, SINGULAR)), right="inv")  # fmt: skip
CONDITIONING = "explain/conditioning.py:"
entry(CONDITIONING + "conditioning", "choose near ≥ 0 and digits > 0",
      lambda: cr.conditioning(np.sin, 0.5, near=-1),
      lambda: cr.conditioning(np.sin, 0.5, near=0, digits=3).digits, right=3)  # fmt: skip
entry(CONDITIONING + "_differentiated", "so give a seed",
      lambda: str(cr.conditioning(np.sin, X)),
      lambda: "give a seed" in str(cr.conditioning(np.sin, X, seed=np.ones(2))),
      right=False)  # fmt: skip

# ---- explanations --------------------------------------------------------------------------------


def total(f, *args, **options):
    return lambda: cr.explain(f, *args, **options).total


entry("explain/explanation.py:_run", "pass the graph to choose others",
      total(run(), X + 1, 3.0), total(graph(), X + 1, 3.0), right=6 * (X + 1))  # fmt: skip
INPUT = "explain/explanation.py:_input"
WHOLE = np.array([1, 2])
entry(
    INPUT,
    "pass it as floating point",
    lambda: cr.explain(cr.trace(lambda n, y: np.sum(n * y), WHOLE, 3.0), WHOLE, 3.0, wrt=0),
    total(lambda n, y: np.sum(n * y), WHOLE.astype(float), 3.0, wrt=0),
    right=[3.0, 3.0],
)
entry(INPUT, "or choose another wrt",
      lambda: cr.explain(cr.trace(lambda n, y: np.sum(n * y), WHOLE, 3.0), WHOLE, 3.0, wrt=0),
      lambda: cr.explain(cr.trace(lambda n, y: np.sum(n * y), WHOLE, 3.0), WHOLE, 3.0, wrt=1).total,
      right=3.0)  # fmt: skip
PAIR = {"w": X, "b": 3.0}
entry("explain/explanation.py:_only", "choose one: wrt=",
      total(lambda p: np.sum(p["w"] ** 2 * p["b"]), PAIR),
      total(lambda p: np.sum(p["w"] ** 2 * p["b"]), PAIR, wrt="p['w']"), right=6 * X)  # fmt: skip
MEASURE = "explain/measure.py:"
entry(
    MEASURE + "measure_of", "pass entry= or along=, not both",
    total(graph(), X, 3.0, entry=0, along=X),
    total(graph(), X, 3.0, entry=0), total(graph(), X, 3.0, along=X),
    right=6 * X,
)  # fmt: skip
entry(
    MEASURE + "_checked_entry", "write whole numbers, as in entry=(1, 3)",
    total(lambda x: np.sum(x**2), np.ones((2, 4)), entry=(1.0, 3.0)),
    lambda: cr.explain(lambda x: np.sum(x**2), np.ones((2, 4)), entry=(1, 3)).total[1, 3],
    right=2.0,
)  # fmt: skip

# ---- runs and steps ------------------------------------------------------------------------------


def first_difference(f, g):
    return lambda: len(cr.diff_runs(f.forward(0.5), g.forward(0.7)).values)


def branch(x):
    return np.sin(x) if x > 0.6 else np.cos(x)


TWO = "explain/compare.py:require_one_graph"
entry(
    TWO, "compare runs of one recorded graph, graph.forward(…)",
    first_difference(cr.trace(branch, 0.5), cr.trace(branch, 0.7)),
    lambda: (lambda g: first_difference(g, g)())(cr.trace(branch, 0.5)),
    right=2,
)  # fmt: skip
entry(
    TWO, "or of functions that take the same branches",
    first_difference(cr.trace(branch, 0.5), cr.trace(branch, 0.7)),
    first_difference(cr.trace(branch, 0.7), cr.trace(branch, 0.8)),
    right=2,
)  # fmt: skip


def doubled(x):
    for _ in range(40):
        x = (x + 1) + (x - 1)
    return x


def adjoint_by_steps(order):
    made = cr.trace(doubled, 1.0)
    return [s.adjoint for s in made.steps(1.0, order=order) if s.kind == "backward"][-1]


entry("explain/steps.py:steps", ": choose one of", lambda: adjoint_by_steps("random"),
      *(lambda order=o: adjoint_by_steps(order) for o in ("sorted", "data-driven")),
      right=2.0**40)  # fmt: skip
entry("explain/steps.py:_visits", "order='sorted' takes", lambda: adjoint_by_steps("recursive"),
      lambda: adjoint_by_steps("sorted"), right=2.0**40)  # fmt: skip


def step_of(rate):
    """What is said of one step of gradient descent at this rate."""

    def loss(params, x):
        return np.sum((x @ params["W"] - 1) ** 2)

    params, optimiser = {"W": np.eye(2)}, learn.sgd(rate)
    gradient = cr.grad(loss)(params, np.eye(2) + 0.5)
    after, _ = optimiser.update(params, gradient, optimiser.init(params))
    seen = look(loss, params, after, (np.eye(2) + 0.5,), 1)[0]
    return " ".join(findings(seen, stuck([seen])))


entry("view/signs.py:findings", "lower the rate", lambda: step_of(1.0),
      lambda: [ord(c) for c in step_of(1e-3)] or [0], right=[0])  # fmt: skip


# ---- pictures ------------------------------------------------------------------------------------


OTHER = "view/svg.py:to_svg"
GRAPH = graph()
entry(OTHER, "pass one that graph.forward(…) gave", lambda: GRAPH.to_svg(run()),
      lambda: GRAPH.to_svg(run(of=GRAPH)).startswith("<svg"), right=True)  # fmt: skip
entry(
    "view/explore.py:explore", "pass one that graph.forward(…) gave",
    lambda at: GRAPH.explore(at / "page.html", run()),
    lambda at: GRAPH.explore(at / "page.html", run(of=GRAPH)).stat().st_size > 1000,
    right=True,
)  # fmt: skip
entry(
    OTHER,
    "paths_to needs a run with adjoints: call run.backward() first",
    lambda: GRAPH.to_svg(run(of=GRAPH), paths_to=0),
    lambda: 'class="heavy"' in GRAPH.to_svg(run(True, GRAPH), paths_to=0),
    right=True,
)
entry(OTHER, "draw them: level='node'",
      lambda: GRAPH.to_svg(run(True, GRAPH), level="function", paths_to=0),
      lambda: 'class="heavy"' in GRAPH.to_svg(run(True, GRAPH), level="node", paths_to=0),
      right=True)  # fmt: skip


def long_sum(x):
    for _ in range(20_001):
        x = np.sin(x)
    return x


@cache
def long_graph():
    return cr.trace(long_sum, 0.5)


def drawn(level):
    return lambda: long_graph().to_svg(level=level).startswith("<svg")


entry("view/svg.py:levelled", "draw functions: level='function'", drawn("node"),
      drawn("function"), right=True)  # fmt: skip
entry("view/svg.py:levelled", "or lines: level='line'", drawn("node"), drawn("line"), right=True)
entry("view/collapse.py:_keys", ": choose one of", drawn("module"),
      *map(drawn, ("line", "function", "file")), right=True)  # fmt: skip
entry("view/theme.py:style", ": choose one of auto, light, dark",
      lambda: GRAPH.to_svg(theme="blue"),
      *(lambda t=t: GRAPH.to_svg(theme=t).startswith("<svg") for t in ("auto", "light", "dark")),
      right=True)  # fmt: skip


def compiled_text(stage):
    fast = cr.compile(lambda x: np.sum(np.sin(x)))
    fast(X)
    return fast.ir(stage)


entry("view/compiled.py:ir_text", ": choose one of", lambda: compiled_text("python"),
      *(lambda s=s: len(compiled_text(s)) > 0 for s in
        ("graph", "loops", "llvm", "assembly")), right=True)  # fmt: skip


def without(module, program):
    """The program where a package is not installed."""

    def fails(patch):
        patch.setitem(sys.modules, module, None)
        return program()

    return fails


def nodes_there():
    return len(GRAPH.to_networkx())


entry("interop/graphs.py:to_networkx", "pip install networkx", without("networkx", nodes_there),
      nodes_there, right=len(GRAPH))  # fmt: skip
