"""Entries of linear algebra, on well-conditioned matrices; and of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import chainrule as cr
from tests.agree.builder import Builder, RejectError
from tests.agree.entry import Const, Drawn, distinct, entry, far_from, spellings

# -- matrices to work on ---------------------------------------------------------------------------


def stack(b: Builder) -> tuple[int, ...]:
    return (b.integer(1, 3),) if b.chance(0.3) else ()


def square(b: Builder, n: int | None = None, lead: tuple[int, ...] | None = None) -> int:
    """A matrix (or a stack of them) with entries below 1/2 beside a diagonal of ±1.6."""
    n = b.integer(1, 4) if n is None else n
    lead = stack(b) if lead is None else lead
    small = b.within(b.shaped((*lead, n, n)), -0.5, 0.5)
    signs = b.rng.choice([-1.6, 1.6], n)
    return b.step("add", small, Const(np.diag(signs)))


def symmetric(b: Builder, n: int | None = None, shift: float = 0.8) -> int:
    """A symmetric positive definite matrix, made as A Aᵀ + shift."""
    n = b.integer(1, 4) if n is None else n
    a = b.within(b.shaped((*stack(b), n, n)), -1.5, 1.5)
    product = b.step("matmul", a, b.step("swapaxes", a, axis1=-1, axis2=-2))
    return b.step("add", product, Const(shift * np.eye(n)))


def tall(b: Builder, wide_too: bool = True) -> int:
    """A matrix of full rank, of any proportions."""
    m, n = b.integer(1, 4), b.integer(1, 4)
    m, n = (m, n) if wide_too else (max(m, n), min(m, n))
    small = b.within(b.shaped((m, n)), -0.8, 0.8)
    return b.step("add", small, Const(1.2 * np.eye(m, n)))


def conditioned(a: Any, *_: Any, **__: Any) -> bool:
    return bool(np.all(np.linalg.cond(a) < 20))


def values_apart(a: Any, **_: Any) -> bool:
    """Whether singular values stay away from each other and from zero."""
    s = np.linalg.svd(a, compute_uv=False)
    return bool(np.all(s > 0.15) and np.all(np.abs(np.diff(s, axis=-1)) > 0.08))


def eigenvalues_apart(a: Any, **_: Any) -> bool:
    w = np.linalg.eigvals(a)
    gaps = np.abs(w[..., :, None] - w[..., None, :]) + np.eye(w.shape[-1])
    return bool(np.all(gaps > 0.1))


# -- systems ---------------------------------------------------------------------------------------


def _one(make: Any) -> Any:
    return lambda b: ((make(b),), {})


def one_matrix(name: str, make: Any, torch: Any, jax: Any, ok: Any = conditioned) -> None:
    entry(name, "linalg", _one(make), torch=torch, jax=jax, ok=ok)


one_matrix("inv", square, "linalg.inv", "numpy.linalg.inv")
one_matrix("det", square, "linalg.det", "numpy.linalg.det")
one_matrix(
    "slogdet",
    square,
    lambda t, a: tuple(t.linalg.slogdet(a)),
    lambda j, a: tuple(j.numpy.linalg.slogdet(a)),
)
one_matrix("pinv", tall, "linalg.pinv", "numpy.linalg.pinv")
entry(
    "cholesky",
    "linalg",
    lambda b: ((symmetric(b),), {"upper": b.chance(0.3)}),
    torch=lambda t, a, upper: t.linalg.cholesky(a, upper=upper),
    jax=lambda j, a, upper: j.numpy.linalg.cholesky(a, upper=upper),
)
# NumPy reads the lower triangle alone, whatever stands in the other.
entry(
    "cholesky_of_a_triangle",
    "linalg",
    lambda b: ((b.step("add", b.within(b.shaped((3, 3)), -0.5, 0.5), Const(1.6 * np.eye(3))),), {}),
    ways=(np.linalg.cholesky, cr.cholesky),
    ok=lambda a: bool(np.all(np.linalg.eigvalsh(a) > 0.3)),
)


def _system(b: Builder) -> Drawn:
    a = square(b)
    *lead, n, _ = b.values[a].shape
    shape = (n,) if not lead and b.chance(0.5) else (*lead, n, b.integer(1, 3))
    return (a, b.shaped(shape)), {}


entry("solve", "linalg", _system, torch="linalg.solve", jax="numpy.linalg.solve", ok=conditioned)


def _triangular(b: Builder) -> Drawn:
    a = square(b, lead=())
    n = b.values[a].shape[-1]
    shape = (n,) if b.chance(0.4) else (n, b.integer(1, 3))
    attrs = {"lower": b.chance(0.5), "trans": b.integer(0, 1), "unit_diagonal": b.chance(0.3)}
    return (a, b.shaped(shape)), attrs


def _torch_triangular(t: Any, a: Any, y: Any, lower: bool, trans: int, unit_diagonal: bool) -> Any:
    columns = y[:, None] if y.ndim == 1 else y
    if trans:
        a, lower = a.mT, not lower
    out = t.linalg.solve_triangular(a, columns, upper=not lower, unitriangular=unit_diagonal)
    return out[:, 0] if y.ndim == 1 else out


entry(
    "solve_triangular",
    "linalg",
    _triangular,
    torch=_torch_triangular,
    jax=lambda j, a, y, **attrs: j.scipy.linalg.solve_triangular(a, y, **attrs),
)


def _cho_solve(b: Builder) -> Drawn:
    lower = b.chance(0.5)
    c = b.step("cholesky", symmetric(b, shift=1.0), upper=not lower)
    if b.values[c].ndim > 2:
        raise RejectError("a stack")
    return (c, b.shaped((b.values[c].shape[-1], b.integer(1, 3)))), {"lower": lower}


entry(
    "cho_solve",
    "linalg",
    _cho_solve,
    ways=(lambda c, y, lower: cr.cho_solve((c, lower), y),),
    torch=lambda t, c, y, lower: t.cholesky_solve(y, c, upper=not lower),
    jax=lambda j, c, y, lower: j.scipy.linalg.cho_solve((c, lower), y),
    ok=conditioned,
)


def _least_squares(b: Builder) -> Drawn:
    a = tall(b, wide_too=False)
    m = b.values[a].shape[0]
    return (a, b.shaped((m, b.integer(1, 2)))), {}


entry(
    "lstsq",
    "linalg",
    _least_squares,
    ways=(lambda a, y: np.linalg.lstsq(a, y)[0], lambda a, y: cr.lstsq(a, y)[0]),
    torch=lambda t, a, y: t.linalg.pinv(a) @ y,
    jax=lambda j, a, y: j.numpy.linalg.lstsq(a, y)[0],
    ok=conditioned,
)
entry(
    "tensorinv",
    "linalg",
    lambda b: ((b.step("reshape", square(b, 4, ()), shape=(2, 2, 2, 2)),), {}),
    torch="linalg.tensorinv",
    jax="numpy.linalg.tensorinv",
    ok=lambda a: conditioned(np.reshape(a, (4, 4))),
)
entry(
    "tensorsolve",
    "linalg",
    lambda b: ((b.step("reshape", square(b, 4, ()), shape=(2, 2, 4)), b.shaped((2, 2))), {}),
    torch="linalg.tensorsolve",
    jax="numpy.linalg.tensorsolve",
    ok=lambda a, y: conditioned(np.reshape(a, (4, 4))),
)


def _sylvester(b: Builder) -> Drawn:
    a, c = symmetric(b, shift=0.5), symmetric(b, shift=0.5)
    if b.values[a].ndim > 2 or b.values[c].ndim > 2:
        raise RejectError("a stack")
    return (a, c, b.shaped((b.values[a].shape[0], b.values[c].shape[0]))), {}


def _kronecker_solve(m: Any, linalg: Any, a: Any, c: Any, q: Any) -> Any:
    """AX + XC = Q as one system for the elements of X."""
    size = q.shape[0] * q.shape[1]
    left = a[:, None, :, None] * m.eye(len(c))[None, :, None, :]
    right = m.eye(len(a))[:, None, :, None] * c.mT[None, :, None, :]
    return linalg.solve((left + right).reshape(size, size), q.reshape(-1)).reshape(q.shape)


entry(
    "solve_sylvester",
    "linalg",
    _sylvester,
    torch=lambda t, a, c, q: _kronecker_solve(t, t.linalg, a, c, q),
    jax=lambda j, a, c, q: _kronecker_solve(j.numpy, j.numpy.linalg, a, c, q),
)


# -- spectra ---------------------------------------------------------------------------------------

entry(
    "eigvalsh",
    "linalg",
    _one(symmetric),
    torch="linalg.eigvalsh",
    jax="numpy.linalg.eigvalsh",
    ok=eigenvalues_apart,
)
entry(
    "eigh",
    "linalg",
    _one(symmetric),
    ways=(
        lambda a: _of_spectrum(np.sin, *np.linalg.eigh(a)),
        lambda a: _of_spectrum(np.sin, *cr.eigh(a)),
    ),
    torch=lambda t, a: _of_spectrum(t.sin, *t.linalg.eigh(a)),
    jax=lambda j, a: _of_spectrum(j.numpy.sin, *j.numpy.linalg.eigh(a)),
    ok=eigenvalues_apart,
)


def _of_spectrum(f: Any, w: Any, v: Any) -> Any:
    """V f(W) Vᵀ, which no choice of signs changes."""
    return (v * f(w)[..., None, :]) @ v.mT


entry(
    "eigenvectors_squared",
    "linalg",
    _one(symmetric),
    ways=(lambda a: np.linalg.eigh(a)[1] ** 2, lambda a: np.square(np.linalg.eigh(a).eigenvectors)),
    torch=lambda t, a: t.linalg.eigh(a)[1] ** 2,
    jax=lambda j, a: j.numpy.linalg.eigh(a)[1] ** 2,
    ok=eigenvalues_apart,
)
entry(
    "eigvals",
    "linalg",
    _one(square),
    ways=(
        lambda a: np.real(np.sum(np.linalg.eigvals(a) ** 3, axis=-1)),
        lambda a: np.real(np.sum(np.linalg.eig(a)[0] ** 3, axis=-1)),
    ),
    torch=lambda t, a: t.real(t.sum(t.linalg.eigvals(a) ** 3, -1)),
    jax=lambda j, a: j.numpy.real(j.numpy.sum(j.numpy.linalg.eigvals(a) ** 3, axis=-1)),
    ok=eigenvalues_apart,
)
one_matrix(
    "svdvals",
    tall,
    "linalg.svdvals",
    lambda j, a: j.numpy.linalg.svd(a, compute_uv=False),
    values_apart,
)
entry(
    "svd",
    "linalg",
    _one(tall),
    ways=(
        lambda a: _of_factors(np.tanh, *np.linalg.svd(a, full_matrices=False)),
        lambda a: _of_factors(np.tanh, *cr.svd(a, full_matrices=False)),
    ),
    torch=lambda t, a: _of_factors(t.tanh, *t.linalg.svd(a, full_matrices=False)),
    jax=lambda j, a: _of_factors(j.numpy.tanh, *j.numpy.linalg.svd(a, full_matrices=False)),
    ok=values_apart,
)


def _of_factors(f: Any, u: Any, s: Any, v: Any) -> Any:
    return (u * f(s)[..., None, :]) @ v


entry(
    "qr",
    "linalg",
    lambda b: ((tall(b, wide_too=False),), {}),
    ways=(
        lambda a: [x**2 for x in np.linalg.qr(a)],
        lambda a: [np.square(x) for x in cr.qr(a)],
    ),
    torch=lambda t, a: [x**2 for x in t.linalg.qr(a)],
    jax=lambda j, a: [x**2 for x in j.numpy.linalg.qr(a)],
    ok=conditioned,
)
entry(
    "matrix_power",
    "linalg",
    lambda b: ((square(b),), {"n": b.integer(-2, 3)}),
    torch=lambda t, a, n: t.linalg.matrix_power(a, n),
    jax=lambda j, a, n: j.numpy.linalg.matrix_power(a, n),
    ok=conditioned,
)
entry(
    "expm",
    "linalg",
    lambda b: ((square(b, lead=()),), {}),
    torch="linalg.matrix_exp",
    jax="scipy.linalg.expm",
)


def _one_symmetric(b: Builder) -> Drawn:
    a = symmetric(b, shift=1.0)
    if b.values[a].ndim > 2:
        raise RejectError("a stack")
    return (a,), {}


entry("logm", "linalg", _one_symmetric, torch=lambda t, a: _of_spectrum(t.log, *t.linalg.eigh(a)),
      jax=lambda j, a: _of_spectrum(j.numpy.log, *j.numpy.linalg.eigh(a)), ok=eigenvalues_apart)  # fmt: skip
entry("sqrtm", "linalg", _one_symmetric, torch=lambda t, a: _of_spectrum(t.sqrt, *t.linalg.eigh(a)),
      jax=lambda j, a: _of_spectrum(j.numpy.sqrt, *j.numpy.linalg.eigh(a)), ok=eigenvalues_apart)  # fmt: skip


# -- norms -----------------------------------------------------------------------------------------


def _vector_norm(b: Builder) -> Drawn:
    x = b.ranked(1, 3)
    return (x,), {
        "ord": b.choice([1, 2, 3, 2.5, np.inf, -np.inf]),
        "axis": b.axis(b.values[x].ndim),
        "keepdims": b.chance(0.3),
    }


def _vectors_ok(x: Any, ord: Any, axis: int, keepdims: bool) -> bool:
    return (
        far_from(x, 0.0)
        and distinct(np.abs(x), axis)
        and bool(np.all(np.linalg.norm(x, axis=axis) > 0.1))
    )


entry(
    "vector_norm",
    "linalg",
    _vector_norm,
    torch=lambda t, x, ord, axis, keepdims: t.linalg.vector_norm(
        x, ord, dim=axis, keepdim=keepdims
    ),
    jax="numpy.linalg.vector_norm",
    ok=_vectors_ok,
)
entry(
    "norm",
    "linalg",
    _vector_norm,
    torch=lambda t, x, ord, axis, keepdims: t.linalg.norm(x, ord, dim=axis, keepdim=keepdims),
    jax="numpy.linalg.norm",
    ok=_vectors_ok,
)
entry(
    "matrix_norm",
    "linalg",
    lambda b: ((tall(b),), {"ord": b.choice(["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])}),
    ways=(cr.matrix_norm, np.linalg.matrix_norm, lambda a, ord: np.linalg.norm(a, ord=ord)),
    torch=lambda t, a, ord: t.linalg.matrix_norm(a, ord),
    jax="numpy.linalg.matrix_norm",
    ok=lambda a, ord: (
        values_apart(a)
        and far_from(a, 0.0)
        and distinct(np.sum(np.abs(a), -1))
        and distinct(np.sum(np.abs(a), -2))
    ),
)
entry(
    "norm_of_all",
    "linalg",
    lambda b: ((b.ranked(1, 3),), {}),
    ways=(lambda x: np.linalg.norm(x), lambda x: cr.norm(x), lambda x: np.sqrt(np.sum(x**2))),
    torch="linalg.norm",
    jax="numpy.linalg.norm",
    ok=lambda x: bool(np.linalg.norm(x) > 0.1),
)
entry(
    "cond",
    "linalg",
    lambda b: ((square(b),), {"p": b.choice([2, "fro"])}),
    torch=lambda t, a, p: (
        t.linalg.norm(a, p, (-2, -1)) * t.linalg.norm(t.linalg.inv(a), p, (-2, -1))
    ),
    jax=lambda j, a, p: j.numpy.linalg.cond(a, p),
    ok=lambda a, p: values_apart(a),
)


# -- complex numbers: made of two real arrays, seen through real and imaginary parts ----------------


def complex_value(b: Builder, low: int = 0, high: int = 4, test: Any = None) -> int:
    """A complex value; if there is none, one made of real ones."""

    def passes(v: Any) -> bool:
        return low <= v.ndim <= high and v.size > 0 and (test is None or test(v))

    if b.chance(0.8) and b.live(lambda v: v.dtype.kind == "c" and passes(v)):
        return b.pick(passes, kind="c")
    x = b.ranked(low, high, test=test)
    return b.step("complex", x, b.shaped(b.values[x].shape))


entry(
    "complex",
    "complex",
    lambda b: (b.pair(constants=False), {}),
    ways=(
        lambda x, y: x + 1j * y,
        lambda x, y: 1j * y + x,
        lambda x, y: np.add(x, np.multiply(y, 1j)),
    ),
    torch=lambda t, x, y: x + 1j * y,
    jax=lambda j, x, y: x + 1j * y,
)


def complex_unary(name: str, torch: str, ok: Any = None) -> None:
    entry(
        f"complex_{name}",
        "complex",
        lambda b: ((complex_value(b),), {}),
        ways=spellings(name),
        torch=torch,
        jax=f"numpy.{name}",
        ok=ok,
    )


def _off_the_cut(z: Any) -> bool:
    """Away from zero and from the negative axis."""
    return bool(np.all(np.abs(z) > 0.1) and np.all((np.real(z) > 0) | (np.abs(np.imag(z)) > 0.02)))


for _name, _torch in (("exp", "exp"), ("sin", "sin"), ("cos", "cos"), ("tanh", "tanh"), ("square", "square"),
                      ("conjugate", "conj"), ("negative", "neg"), ("sinh", "sinh"), ("cosh", "cosh")):  # fmt: skip
    complex_unary(
        _name,
        _torch,
        (lambda z: bool(np.all(np.abs(np.cosh(z)) > 0.3))) if _name == "tanh" else None,
    )
for _name, _torch in (("log", "log"), ("sqrt", "sqrt"), ("reciprocal", "reciprocal")):
    complex_unary(_name, _torch, _off_the_cut)


def to_real(name: str, ways: tuple[Any, ...], torch: Any, jax: Any, ok: Any = None) -> None:
    entry(
        name, "complex", lambda b: ((complex_value(b),), {}), ways=ways, torch=torch, jax=jax, ok=ok
    )


to_real("real", (np.real, cr.real, lambda z: z.real), "real", "numpy.real")
to_real("imag", (np.imag, cr.imag, lambda z: z.imag), "imag", "numpy.imag")
to_real("modulus", (np.abs, abs, cr.absolute), "abs", "numpy.abs", _off_the_cut)
to_real("angle", (np.angle, cr.angle), "angle", "numpy.angle", _off_the_cut)


def complex_binary(name: str, torch: str, ok: Any = None) -> None:
    def draw(b: Builder) -> Drawn:
        z = complex_value(b)
        w = b.partner(z, kind="fc")
        return ((z, w) if b.chance(0.5) else (w, z)), {}

    entry(
        f"complex_{name}",
        "complex",
        draw,
        ways=spellings(name),
        torch=torch,
        jax=f"numpy.{name}",
        ok=ok,
    )


complex_binary("add", "add")
complex_binary("subtract", "sub")
complex_binary("multiply", "mul")
complex_binary("divide", "div", lambda z, w: bool(np.all(np.abs(w) > 0.3)))
entry(
    "complex_power",
    "complex",
    lambda b: ((complex_value(b), Const(b.choice([2, 3, 0.5, -1.5]))), {}),
    ways=(lambda z, n: z**n, np.power, cr.power),
    torch=lambda t, z, n: z**n,
    jax=lambda j, z, n: z**n,
    ok=lambda z, n: _off_the_cut(z),
)


def _complex_matrices(b: Builder) -> Drawn:
    z = complex_value(b, 2, 3)
    return (z, b.shaped((b.values[z].shape[-1], b.integer(1, 3)))), {}


entry("complex_matmul", "complex", _complex_matrices, ways=(np.matmul, lambda x, y: x @ y),
      torch=lambda t, x, y: x @ y.to(x.dtype), jax="numpy.matmul")  # fmt: skip
entry(
    "complex_sum",
    "complex",
    lambda b: (lambda z: ((z,), {"axis": b.axis(b.values[z].ndim)}))(complex_value(b, 1, 4)),
    ways=(
        lambda z, axis: np.sum(z, axis),
        lambda z, axis: z.sum(axis),
        lambda z, axis: np.mean(z, axis) * z.shape[axis],
    ),
    torch=lambda t, z, axis: z.sum(axis),
    jax=lambda j, z, axis: z.sum(axis),
)
entry(
    "complex_getitem",
    "complex",
    lambda b: ((complex_value(b, 1, 4),), {}),
    ways=(lambda z: z[::-1][..., :1] * z[0],),
    torch=lambda t, z: z.flip(0)[..., :1] * z[0],
    jax=lambda j, z: z[::-1][..., :1] * z[0],
)
entry(
    "complex_fft",
    "complex",
    lambda b: (lambda z: ((z,), {"axis": b.axis(b.values[z].ndim)}))(complex_value(b, 1, 3)),
    ways=(lambda z, axis: np.fft.fft(z, axis=axis), lambda z, axis: cr.fft(z, axis=axis)),
    torch=lambda t, z, axis: t.fft.fft(z, dim=axis),
    jax=lambda j, z, axis: j.numpy.fft.fft(z, axis=axis),
)
entry(
    "complex_ifft",
    "complex",
    lambda b: (lambda z: ((z,), {"axis": b.axis(b.values[z].ndim)}))(complex_value(b, 1, 3)),
    ways=(lambda z, axis: np.fft.ifft(z, axis=axis), lambda z, axis: cr.ifft(z, axis=axis)),
    torch=lambda t, z, axis: t.fft.ifft(z, dim=axis),
    jax=lambda j, z, axis: j.numpy.fft.ifft(z, axis=axis),
)
entry(
    "complex_inv",
    "complex",
    lambda b: ((b.step("complex", square(b, 3, ()), b.within(b.shaped((3, 3)), -0.4, 0.4)),), {}),
    ways=(np.linalg.inv, cr.inv),
    torch="linalg.inv",
    jax="numpy.linalg.inv",
    ok=conditioned,
)
entry(
    "complex_eigvalsh",
    "complex",
    lambda b: (lambda z: ((z,), {}))(
        b.step("complex", b.within(b.shaped((3, 3)), -1, 1), b.within(b.shaped((3, 3)), -1, 1))
    ),
    ways=(lambda z: np.linalg.eigvalsh(z @ np.conj(z).mT + np.eye(3)),),
    torch=lambda t, z: t.linalg.eigvalsh(z @ z.mH + t.eye(3)),
    jax=lambda j, z: j.numpy.linalg.eigvalsh(z @ j.numpy.conj(z).mT + j.numpy.eye(3)),
    ok=lambda z: eigenvalues_apart(z @ np.conj(z).mT + np.eye(3)),
)
