"""Newton's method: the Hessian of Rosenbrock's valley, and a handful of steps to its floor."""

import numpy as np

import chainrule as cr


def valley(p):
    x, y = p
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def minimise(f, p, tolerance=1e-10, most=50):
    gradient_of, hessian_of = cr.grad(f), cr.hessian(f)
    for step in range(most):
        gradient = gradient_of(p)
        size = np.linalg.norm(gradient)
        print(f"step {step}   f {f(p):.3e}   |gradient| {size:.1e}   at {p}")
        if size < tolerance:
            return p
        p = p - np.linalg.solve(hessian_of(p), gradient)
    raise RuntimeError(f"no minimum found in {most} steps")


def main():
    found = minimise(valley, np.array([-1.2, 1.0]))
    curvature = np.linalg.eigvalsh(cr.hessian(valley)(found))
    print("curvatures at the minimum", curvature.round(4))
    assert np.allclose(found, [1.0, 1.0])
    assert np.all(curvature > 0)


if __name__ == "__main__":
    main()
