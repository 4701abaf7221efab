"""The heat equation with in-place updates, differentiated with respect to its initial state.

Heat spreads along a rod.  From the temperatures at the end we find those at the beginning, by
descending the gradient of the misfit, which flows back through every `u[1:-1] += …`.
"""

import numpy as np

import chainrule as cr

CELLS, STEPS, NUMBER = 50, 100, 0.25


def spread(u):
    """The state after all time steps; the ends are held at 0."""
    u = u.copy()
    u[0] = u[-1] = 0.0
    for _ in range(STEPS):
        u[1:-1] += NUMBER * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def misfit(u, final):
    return np.sum((spread(u) - final) ** 2)


def matrix():
    """The same as one matrix: what the gradient is checked against."""
    step = np.eye(CELLS)
    inner = np.arange(1, CELLS - 1)
    step[inner, inner] -= 2 * NUMBER
    step[inner, inner + 1] += NUMBER
    step[inner, inner - 1] += NUMBER
    ends = np.eye(CELLS)
    ends[0, 0] = ends[-1, -1] = 0.0
    return np.linalg.matrix_power(step, STEPS) @ ends


def main():
    place = np.linspace(0.0, 1.0, CELLS)
    initial = np.exp(-(((place - 0.4) / 0.15) ** 2))
    final = spread(initial)

    guess = np.zeros(CELLS)
    value, gradient = cr.value_and_grad(misfit)(guess, final)
    by_hand = 2 * matrix().T @ (matrix() @ guess - final)
    off = np.abs(gradient - by_hand).max()
    print(f"misfit of a cold rod {value:.6f}; its gradient is off by {off:.0e}")
    assert np.allclose(gradient, by_hand)

    for step in range(61):
        value, gradient = cr.value_and_grad(misfit)(guess, final)
        guess = guess - 0.5 * gradient
        if step % 20 == 0:
            print(f"step {step:3}   misfit {value:.8f}   hottest at {place[np.argmax(guess)]:.2f}")
    assert value < 1e-3
    assert abs(place[np.argmax(guess)] - 0.4) < 0.02


if __name__ == "__main__":
    main()
