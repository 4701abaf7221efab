"""Programs for the gradient checker: those with a mistake and what must be said, and those without.

Each entry is a function, its arguments and, for a sick one, a pattern of the message.
"""

import numpy as np

import chainrule as cr


def custom(forward, backward, jvp=None):
    """A function of the user's own: `backward(g, *inputs)`."""

    def keep(ctx, *inputs):
        ctx.save_for_backward(*inputs)
        return forward(*inputs)

    methods = {"forward": keep, "backward": lambda ctx, g: backward(g, *ctx.saved)}
    if jvp is not None:
        methods["jvp"] = lambda ctx, *ts: jvp(*ts, *ctx.saved)
    made = type("Custom", (cr.Function,), {k: staticmethod(v) for k, v in methods.items()})
    return made.apply


def total(f):
    return lambda *args: np.sum(f(*args))


def scaled(factor, size=1.0):
    """size · sin, with a derivative off by a factor."""
    return custom(lambda x: size * np.sin(x), lambda g, x: g * factor * size * np.cos(x))


RNG = np.random.default_rng(0)
CALLS: list[int] = []
CACHE: dict[str, float] = {}


def random_factor(x):
    return np.sum(x * RNG.standard_normal(np.shape(x)))


def dropout(x):
    return np.sum(np.where(RNG.random(np.shape(x)) < 0.5, x, 0.0) ** 2)


def counted(x):
    CALLS.append(1)
    return np.sum(x) * len(CALLS)


def cached(x):
    """The first value it saw is used for ever, as if it were a constant."""
    return x * CACHE.setdefault("scale", float(getattr(x, "value", x)) * 2.0)


def detached(x):
    weight = np.asarray(x.value if isinstance(x, cr.Variable) else x)
    return np.sum(x * weight)


def one_lane(sign):
    def backward(g, x):
        signs = np.ones(np.shape(x))
        signs[1] = sign
        return g * 2 * x * signs

    return custom(lambda x: x * x, backward)


def partly(x, y):
    """x·y + x², the second term of whose derivative by x is forgotten."""
    return custom(lambda x, y: x * y + x * x, lambda g, x, y: (g * y, g * x))(x, y)


def gaussian(forget):
    """log N(x | 0, s); the derivative by s forgets the normalisation."""
    return custom(
        lambda x, s: -0.5 * (x / s) ** 2 - np.log(s),
        lambda g, x, s: (-g * x / s**2, g * (x**2 / s**3 - (0 if forget else 1) / s)),
    )


RAMP = custom(lambda x: np.where(x > 0, x, 0.0), lambda g, x: g * np.where(x > 0, 1.0, 0.5))
MATMUL = custom(lambda a, b: a @ b, lambda g, a, b: (g @ b, a.T @ g))
CONJUGATE = custom(lambda z: z * z, lambda g, z: g * 2 * z)
RIGHT_SQUARE = custom(lambda z: z * z, lambda g, z: g * 2 * np.conj(z))
NARROW = custom(lambda x: np.sin(np.asarray(x, np.float32)), lambda g, x: 1.01 * g * np.cos(x))
SPREAD = np.array([1e-8, 1.0, 1e8])
MATRIX = np.array([[2.0, 0.3], [0.3, 1.0]])

NOT_FINITE = r"not finite"
AS_A_WHOLE = "wrong as a whole"

SICK = {
    # -- NaN and infinities ------------------------------------------------------------------
    "x log x at 0": (lambda x: np.sum(np.log(x) * x), ([0.0, 1.0],), r"not finite[\s\S]*log"),
    "a norm by hand at 0": (
        lambda x: np.sqrt(np.sum(x**2)),
        (np.zeros(3),),
        r"not finite[\s\S]*sqrt",
    ),
    "0 / 0": (lambda x: np.sum(x / (2 * x)), ([0.0, 1.0],), r"not finite[\s\S]*divide"),
    "sin(x) / x": (total(lambda x: np.sin(x) / x), ([0.0, 1.0],), NOT_FINITE),
    "log of a negative number": (total(np.log), ([-1.0, 1.0],), NOT_FINITE),
    "the edge of arccos": (total(np.arccos), ([1.0, 0.2],), NOT_FINITE),
    "a root at 0": (total(np.sqrt), ([0.0, 4.0],), NOT_FINITE),
    "softmax by hand": (lambda x: (np.exp(x) / np.sum(np.exp(x)))[0], ([1000.0, 0.0],), NOT_FINITE),
    "an infinite loss": (lambda x: np.sum(np.exp(x)) * 1e300, ([400.0, 1.0],), NOT_FINITE),
    "an infinite loss with a finite gradient": (
        lambda x: np.sum(x) + np.inf,
        ([1.0, 2.0],),
        NOT_FINITE,
    ),
    "a NaN in the data": (
        lambda x: np.sum((x - np.array([1.0, np.nan])) ** 2),
        ([1.0, 2.0],),
        NOT_FINITE,
    ),
    "only the gradient is NaN": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0) * np.sqrt(x)),
        ([0.0, 1.0],),
        NOT_FINITE,
    ),
    "a NaN from a rule of one's own": (
        total(custom(lambda x: x * x, lambda g, x: g * 2 * x * x / x)),
        ([0.0, 1.0],),
        r"not finite[\s\S]*Custom",
    ),
    "an infinite second derivative": (
        total(lambda x: x**1.5),
        ([0.0, 1.0],),
        r"order 2[\s\S]*not finite",
    ),
    # -- wrong rules ---------------------------------------------------------------------------
    "a factor": (total(scaled(2.0)), ([0.3, 0.7],), "rule of Custom"),
    "a factor near 1": (total(scaled(1.0001)), ([0.3, 0.7],), "rule of Custom"),
    "a sign": (total(scaled(-1.0)), ([0.3, 0.7],), "rule of Custom"),
    "no derivative at all": (total(scaled(0.0)), ([0.3, 0.7],), "rule of Custom"),
    "tiny results": (total(scaled(2.0, 1e-150)), ([0.3, 0.7],), "rule of Custom"),
    "huge results": (total(scaled(1.01, 1e150)), ([0.3, 0.7],), "rule of Custom"),
    "tiny arguments": (lambda x: np.sum(scaled(1.01)(x)), ([3e-150, 5e-150],), "rule of Custom"),
    "huge arguments": (
        total(custom(lambda x: x / 3, lambda g, x: g / 3.01)),
        ([3e150, 5e150],),
        "rule of Custom",
    ),
    "one lane": (total(one_lane(-1.0)), ([0.3, 0.7, 1.1],), "rule of Custom"),
    "one small lane beside large ones": (
        total(one_lane(-1.0)),
        ([1e8, 1e-8, 1e8],),
        "rule of Custom",
    ),
    "a term is missing": (partly, (0.4, 0.9), "rule of Custom with respect to input 0"),
    "the other input": (
        lambda x: gaussian(True)(x, np.exp(x)),
        (0.4,),
        "rule of Custom with respect to input 1",
    ),
    "a transpose is missing": (
        total(MATMUL),
        (np.arange(4.0).reshape(2, 2), np.array([[1.0, 2.0], [0.5, 3.0]])),
        "rule of Custom",
    ),
    "a conjugate is missing": (
        lambda z: np.abs(CONJUGATE(z)) ** 2,
        (1.0 + 2.0j,),
        "rule of Custom",
    ),
    "a wrong jvp": (
        custom(np.sin, lambda g, x: g * np.cos(x), lambda t, x: t * np.sin(x)),
        (0.3,),
        "forward rule of Custom",
    ),
    "beside a kink": (
        lambda x: np.sum(np.abs(x) + scaled(1.01)(x)),
        ([0.0, 1.0],),
        "rule of Custom",
    ),
    "a wrong side of a kink": (lambda x: np.sum(RAMP(x)), ([-1.0, 1.0],), "rule of Custom"),
    "beside a jump": (lambda x: np.floor(x) + scaled(1.01)(x), (1.0,), "rule of Custom"),
    "float32 inside": (total(NARROW), ([0.3, 0.7],), "rule of Custom"),
    "float32 arguments": (
        total(scaled(1.01)),
        (np.array([0.3, 0.7], np.float32),),
        "rule of Custom",
    ),
    "an ill-conditioned sum": (lambda x: (scaled(1.05)(x) + 1e8) - 1e8, (0.3,), "rule of Custom"),
    # -- what is not recorded ------------------------------------------------------------------
    "random numbers": (random_factor, ([0.3, 0.7],), r"two values[\s\S]*random numbers"),
    "dropout": (dropout, (np.linspace(1, 2, 9),), r"two values[\s\S]*random numbers"),
    "a counter": (counted, ([0.3, 0.7],), r"two values[\s\S]*state"),
    "stop_gradient": (
        lambda x: x * cr.stop_gradient(x),
        (1.5,),
        r"wrong as a whole[\s\S]*stop_gradient",
    ),
    "a detached value": (detached, ([1.0, 2.0],), r"wrong as a whole[\s\S]*x \* weight"),
}


HEALTHY = {
    "sin": (np.sin, (0.3,)),
    "a network": (lambda w, x: np.sum(np.tanh(x @ w) ** 2), (MATRIX, np.array([[0.3, -0.7]]))),
    "tiny results": (lambda x: 1e-150 * np.sum(np.sin(x)), ([0.3, 0.7],)),
    "huge results": (lambda x: 1e150 * np.sum(np.sin(x)), ([0.3, 0.7],)),
    "tiny arguments": (lambda x: np.sum(np.sin(x)), ([3e-150, 5e-150],)),
    "huge arguments": (lambda x: np.sum(x / 3), ([3e150, 5e150],)),
    "tiny arguments, squared": (lambda x: np.sum((1e150 * x) ** 2), ([3e-150, 5e-150],)),
    "huge arguments, squared": (lambda x: np.sum((1e-150 * x) ** 2), ([3e150, 5e150],)),
    "sizes far apart": (lambda x: np.sum(np.log(x)), (SPREAD,)),
    "squares far apart": (lambda x: np.sum(x**2), (SPREAD,)),
    "cancellation": (lambda x: (np.sin(x) + 1e8) - 1e8, (0.3,)),
    "more cancellation": (lambda x: (np.sin(x) + 1e11) - 1e11, (0.3,)),
    "the variance of large numbers": (np.var, (1e7 + np.array([0.3, 0.7, 1.9]),)),
    "1 - cos": (lambda x: (1 - np.cos(x)) / x**2, (1e-4,)),
    "an ill-conditioned system": (
        lambda b: np.sum(np.linalg.solve(np.vander(np.linspace(1, 2, 9)), b)),
        (np.linspace(0, 1, 9),),
    ),
    "a nearly singular inverse": (
        lambda a: np.sum(np.linalg.inv(a)),
        (np.array([[1.0, 1.0], [1.0, 1.0 + 1e-7]]),),
    ),
    "a Hilbert matrix": (
        lambda x: np.linalg.solve(1 / (np.arange(8)[:, None] + np.arange(8) + x), np.ones(8))[0],
        (1.0,),
    ),
    "a steep sigmoid": (lambda x: cr.expit(1e6 * (x - 0.3)), (0.3000003,)),
    "fast": (lambda x: np.sin(1e6 * x), (0.3,)),
    "ripples": (lambda x: x + 1e-12 * np.sin(1e9 * x), (0.3,)),
    "near a pole": (lambda x: 1 / (x - 0.3), (0.3 + 1e-7,)),
    "near the edge of a domain": (np.log, (1e-12,)),
    "a kink": (lambda x: np.sum(np.abs(x)), ([0.0, 1.0],)),
    "near a kink": (lambda x: np.sum(np.abs(x)), ([1e-9, 1.0],)),
    "a tie": (np.max, ([1.0, 1.0, 0.5],)),
    "a jump": (lambda x: x * np.floor(x), (1.0,)),
    "near a jump": (lambda x: x * np.floor(x), (1.0 - 1e-9,)),
    "a branch": (lambda x: x**2 if x > 0.5 else 3 * x, (0.5 + 1e-8,)),
    "a loop until convergence": (lambda x: newton(x), (2.0,)),
    "float32 arguments": (total(np.tanh), (np.array([0.3, 0.7], np.float32),)),
    "float32 inside": (lambda x: np.sum(np.sin(x.astype(np.float32))), (np.array([0.3, 0.7]),)),
    "float16 inside": (lambda x: np.sum(np.sin(x.astype(np.float16))), (np.array([0.3, 0.7]),)),
    "complex": (lambda z: np.abs(RIGHT_SQUARE(z)) ** 2, (1.0 + 2.0j,)),
    "complex results": (lambda z: np.exp(z) * z, (np.array([0.3 + 0.2j, -1.0j]),)),
    "a rule of one's own": (lambda x: gaussian(False)(x, np.exp(x)), (0.4,)),
    "a structural zero": (lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)), ([0.0, 1.0],)),
    "a masked softmax": (
        lambda x: cr.softmax(x + np.array([0.0, -np.inf, 0.0]))[0],
        ([0.3, 0.7, 1.1],),
    ),
    "a lane of log 0": (
        lambda x: cr.log_softmax(x + np.array([0.0, -np.inf, 0.0])),
        ([0.3, 0.7, 1.1],),
    ),
    "xlogy": (lambda x: np.sum(cr.xlogy(np.array([0.0, 1.0]), x)), ([0.0, 1.0],)),
    "a constant": (lambda x: 0 * np.sum(x) + 7.0, ([0.3, 0.7],)),
    "no gradient in one input": (lambda x, y: np.sum(x**2), ([0.3], [0.7])),
    "underflow": (lambda x: np.exp(-(x**2)), (30.0,)),
    "a determinant": (np.linalg.det, (MATRIX,)),
    "eigenvalues": (lambda a: np.linalg.eigvalsh(a + a.T)[0], (MATRIX,)),
    "a flat minimum": (lambda x: np.sum((x - np.array([0.3, 0.7])) ** 4), ([0.3, 0.7],)),
    "a large offset": (lambda x: 1e12 + np.sum(np.sin(x)), ([0.3, 0.7],)),
}


def newton(a):
    x = a
    for _ in range(60):
        step = (x * x - a) / (2 * x)
        x = x - step
        if abs(step) < 1e-14:
            break
    return x
