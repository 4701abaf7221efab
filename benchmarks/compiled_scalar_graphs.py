"""W1 replayed: value and gradient of a compiled scalar graph, per node, up to a million nodes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import compiled, scalar_graphs
from benchmarks.case import FASTEST, PRIMAL, Case, Table, Target, Work
from benchmarks.harness import Options, time_cases
from benchmarks.peers import Bound

TITLE = "Scalar graphs, compiled (W1): value and gradient replayed, per node"

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LARGEST = 10_000_000  # by `large_scalar_graphs`
JAX_UP_TO = 1_000  # it compiles 7.5 ms per node there, and more per node beyond
TORCH_UP_TO = 10_000
NODE_BYTES = 24  # of a tape: operation, operands and value, written once and read back once


def chain(nodes: int, xp: Any) -> Callable:
    """y ← sin(y) + x, repeated: 2 nodes a step, each of which waits for the one before.

    Not the chain (x + x)/2 of `scalar_graphs`: CasADi builds x itself in its place (0.01 ns per
    node), and its derivative is a constant, so that a compiler replays no gradient at all.
    """
    sin = xp.sin

    def program(x: Any) -> Any:
        y = first = x[0]
        for _ in range(nodes // 2):
            y = sin(y) + first
        return y

    return program


def random_graph(nodes: int, xp: Any) -> Callable:
    """The random graph of `scalar_graphs`, of the elements of a vector."""
    run = scalar_graphs.random_graph(nodes, xp)
    return lambda x: run(*(x[k] for k in range(scalar_graphs.INPUTS)))


SHAPES = {
    "chain": (chain, lambda slot: (np.array([1.0 + slot / 8]),)),
    "random graph": (random_graph, lambda slot: (np.array(scalar_graphs.scalars(slot)),)),
}


def casadi(make: Callable, inputs: int) -> Bound:
    """CasADi's virtual machine: an SX function of value and gradient, called through buffers."""
    import casadi

    x = casadi.SX.sym("x", inputs)
    y = make(casadi)(x)
    f = casadi.Function("f", [x], [y, casadi.gradient(y, x)])
    buffer, evaluate = f.buffer()
    value, gradient = np.zeros(1), np.zeros(inputs)
    buffer.set_res(0, memoryview(value))
    buffer.set_res(1, memoryview(gradient))

    def call(x: memoryview) -> tuple:
        buffer.set_arg(0, x)
        evaluate()
        return value, gradient

    def read(result: tuple) -> list:
        return [result[0][0], result[1]]

    return Bound(lambda leaves: memoryview(leaves[0]), call, read)


def case(shape: str, nodes: int) -> Case:
    """One graph, by those who can compile it in reasonable time."""
    program, inputs = SHAPES[shape]
    width = inputs(0)[0].size

    def make(xp: Any) -> Callable:
        return program(nodes, xp)

    peers = {
        "casadi.SX": lambda: casadi(make, width),
        "torch.eager": lambda: compiled.torch_eager(make),
        "jax.jit": lambda: compiled.jax_gradient(lambda jax: make(jax.numpy)),
    }
    largest = {"casadi.SX": LARGEST, "torch.eager": TORCH_UP_TO, "jax.jit": JAX_UP_TO}
    ways = {variant: way for variant, way in peers.items() if nodes <= largest[variant]}
    ways["chainrule.compile"] = lambda: compiled.chainrule_gradient(make(np))
    if nodes < LARGEST:  # to record it takes minutes
        ways[PRIMAL] = lambda: compiled.chainrule_primal(make(np))
    tape = Work(bytes=2.0 * NODE_BYTES * nodes, footprint=NODE_BYTES * nodes)
    return Case(graph_name(shape, nodes), None, inputs, nodes, ways=ways, limits={"tape": tape})


def graph_name(shape: str, nodes: int) -> str:
    return f"{shape} of {nodes:,}"


CASES = {made.name: made for made in (case(shape, n) for shape in SHAPES for n in SIZES)}
TARGETS = (
    *(Target(graph_name(shape, n), "casadi", 0.7) for shape in SHAPES for n in SIZES),
    *(Target(graph_name(shape, n), "torch", 0.05) for shape in SHAPES for n in SIZES[:2]),
    # Linear cost: t(1e6) ≤ 12 · t(1e5), which per node is 1.2.
    *(
        Target(graph_name(shape, SIZES[3]), "chainrule", 1.2, graph_name(shape, SIZES[2]))
        for shape in SHAPES
    ),
)


def run(options: Options) -> list[Table]:
    """Time every graph; a quick run ends at 1e5 nodes, since peers build 1e6 for a minute."""
    last = [SIZES[2]] if options.quick else list(SIZES[2:])  # compared, so in the same rounds
    groups = [[CASES[graph_name(shape, n)]] for shape in SHAPES for n in SIZES[:2]]
    groups += [[CASES[graph_name(shape, n)] for n in last] for shape in SHAPES]
    cells = time_cases("compiled_scalar_graphs", groups, options, 1.0)
    return [Table("Time per node", "ns per node", cells, TARGETS, FASTEST, ratios=True)]
