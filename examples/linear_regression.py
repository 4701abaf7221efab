"""Linear regression by gradient descent: plain NumPy, and one call of cr.value_and_grad."""

import numpy as np

import chainrule as cr


def loss(parameters, x, y):
    prediction = x @ parameters["weights"] + parameters["bias"]
    return np.mean((prediction - y) ** 2)


def fit(x, y, rate=0.1, steps=300):
    parameters = {"weights": np.zeros(x.shape[1]), "bias": 0.0}
    step_of = cr.value_and_grad(loss)
    for step in range(steps):
        value, gradient = step_of(parameters, x, y)
        parameters = {name: parameters[name] - rate * gradient[name] for name in parameters}
        if step % 50 == 0:
            print(f"step {step:3}   loss {value:.6f}")
    return parameters


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = x @ np.array([1.5, -2.0, 0.5]) + 0.7 + 0.1 * rng.normal(size=200)
    found = fit(x, y)
    exact = np.linalg.lstsq(np.column_stack([x, np.ones(200)]), y)[0]
    print("gradient descent", found["weights"].round(6), round(float(found["bias"]), 6))
    print("least squares   ", exact[:3].round(6), exact[3].round(6))
    assert np.allclose([*found["weights"], found["bias"]], exact, atol=1e-6)


if __name__ == "__main__":
    main()
