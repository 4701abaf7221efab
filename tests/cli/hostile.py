"""Formulas that nobody means well with, made from a seed: grammar, mutations, known attacks."""

from __future__ import annotations

import random
import string

CANARY = "canary_owl"
ATTACKS = [
    "__import__('os').system('touch canary_owl')", "open('canary_owl', 'w')", "exec('canary_owl')",
    "eval('canary_owl')", "().__class__.__bases__[0].__subclasses__()", "x.__class__.__mro__",
    "x.__reduce__()", "sin.forward.__globals__", "lambda: canary_owl", "[canary_owl for i in x]",
    "{canary_owl: 1 for i in x}", "f'{canary_owl}'", "(canary_owl := x)", "import canary_owl",
    "from os import system", "canary_owl; x", "x if canary_owl else x", "breakpoint()", "help(x)",
    "compile('canary_owl', '', 'eval')", "getattr(x, '__class__')", "globals()['canary_owl']",
    "vars()", "print(x)", "input()", "exit()", "quit()", "type(x)", "object()", "memoryview(x)",
    "9**9**9**9", "2**10**10", "(2**62) * (2**62) * 9**99", "x * 10**10**10", "'a' * 10**9",
    "[0] * 10**9", "x[10**30]", "x[::0]", "repeat(x, 10**12)", "tile(x, (10**4, 10**4))",
    "reshape(x, (10**9, 10**9))", "broadcast_to(x, (10**5, 10**5))", "linspace(0, x, 10**10)",
    "outer(repeat(x, 30000), repeat(x, 30000))", "pad(x, 10**9)", "resize(x, (10**6, 10**6))",
    "range(10**12)", "zeros(10**12)", "arange(x)", "fromfile('canary_owl')", "load('canary_owl')",
    "loadtxt('canary_owl')", "save('canary_owl', x)", "x.tofile('canary_owl')",
    "memmap('canary_owl')", "astype(x, 'O')", "array([x, [x]])", "array(x, dtype='O')",
    "einsum('...' , x)", "x\x00y", "\x00", "\ud800", "x\udfff + 1", "x\u202ey",
    "\x1b]0;canary_owl\x07", "é + ñ", "𝑥 + 1", "x" * 5000, "(" * 5000, "[" * 200, "-" * 4000 + "x",
    "x" + "[0]" * 500, "sin(" * 150, "x **" * 200 + "x", "0x10 + 0b1 + 0o7", "1e400 * x", "1__0",
    "1.2.3", "...", "x[...]", "x[None, ..., None]", "None", "True + False", "not", "and or",
    "x if", "x[:::]", "x[1:2:3:4]", "sin(x=x)", "sin(**x)", "sin(*x)", "sum(x, axis=10**20)",
    "sum(x, axis='a')", "norm(x, ord='canary_owl')", "inv(x)", "svd(x)", "stop_gradient",
    "constant(value=x)", "item(x)", "setitem(x, 0, 1)", "put(x, 0, 1)", "numpy_put(x)", "# x",
    "x # canary_owl", "x\n+ 1", "x; import os", "`id`", "$(id)", "x || id", "x; rm -rf canary_owl",
    "%s%n%x", "{0.__class__}", "<script>canary_owl</script>", "../../etc/passwd", "@x", "x @@ x",
    "x := 1",
]  # fmt: skip
NAMES = ["x", "y", "z", "pi", "e", "inf", "nan", CANARY, "_", "__class__", "os", "None", "True"]
CALLS = [
    "sin", "exp", "log", "sum", "max", "sort", "cumsum", "dot", "where", "clip", "reshape", "norm",
    "det", "inv", "repeat", "tile", "outer", "kron", "transpose", "mean", "var", "softmax", "array",
    "concatenate", "stack", "gamma", "floor", "abs", "power", "argmax", "eigh", "fft", "unique",
    "einsum", "pad", "diff", "interp", "logsumexp", "median", "zeros_like", "full_like", "sni",
    "eval", "open", "__import__", "getattr", CANARY,
]  # fmt: skip
SIGNS = ["+", "-", "*", "/", "**", "@", "//", "%", "<", "==", "&", "|", "and", "or", "<<", ":="]
KEYWORDS = ["axis", "ord", "keepdims", "dtype", "out", "where", CANARY]


def formula(rng: random.Random, depth: int = 4) -> str:
    """One by the grammar, of which most names, numbers and shapes are wrong."""
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return rng.choice([rng.choice(NAMES), number(rng), rng.choice(["x", "y"])])

    def inner() -> str:
        return formula(rng, depth - 1)

    if kind < 0.45:
        return f"{inner()} {rng.choice(SIGNS)} {inner()}"
    if kind < 0.7:
        given = [inner() for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3]))]
        given += [f"{rng.choice(KEYWORDS)}={inner()}"] * (rng.random() < 0.15)
        return f"{rng.choice(CALLS)}({', '.join(given)})"
    if kind < 0.78:
        return f"({rng.choice(['-', '~', 'not ', '+', ''])}{inner()})"
    if kind < 0.86:
        parts = [rng.choice(["", inner(), number(rng)]) for _ in range(rng.randint(1, 3))]
        return f"{inner()}[{rng.choice([':', ', ', '::']).join(parts)}]"
    if kind < 0.92:
        return f"[{', '.join(inner() for _ in range(rng.randint(0, 3)))}]"
    if kind < 0.96:
        return f"({inner()} if {inner()} else {inner()})"
    return f"({rng.choice(['w', 'x', 'sin', CANARY])} := {inner()})"


def number(rng: random.Random) -> str:
    return rng.choice(
        ["0", "1", "2", "-1", "0.5", "1e308", "1e-320", "10**6", "10**9", "10**12", "2**63", "1j",
         "9" * rng.randint(1, 400), f"{rng.uniform(-9, 9)}", "1e999", "00", "'i,i->'", "'ij'"]
    )  # fmt: skip


def mutated(rng: random.Random, text: str) -> str:
    """A few characters of it doubled, dropped, swapped or replaced."""
    letters = list(text) or ["x"]
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(letters))
        what = rng.random()
        if what < 0.3:
            letters[at] = chr(rng.choice([rng.randrange(128), rng.randrange(0x110000)]))
        elif what < 0.5:
            letters.insert(at, rng.choice(string.punctuation))
        elif what < 0.7 and len(letters) > 1:
            del letters[at]
        else:
            end = at + rng.randint(1, 8)
            letters[at:at] = letters[at:end]
    return "".join(letters)


def hostile(count: int, seed: int = 0) -> list[str]:
    """So many formulas, the same for one seed: the first ones are the known attacks."""
    rng = random.Random(seed)
    found = list(ATTACKS)
    while len(found) < count:
        kind = rng.random()
        base = rng.choice(ATTACKS) if kind < 0.25 else formula(rng, rng.randint(1, 5))
        found.append(mutated(rng, base) if kind < 0.5 else base)
    rng.shuffle(found)
    return found[:count]
