"""Writes reference/learn.md, the functions of chainrule.learn; a test holds the page against this.

python docs/make_learn.py
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any

from chainrule import learn

PAGE = Path(__file__).parent / "reference" / "learn.md"
FIRST = (
    *("layers", "convolution", "recurrent", "attention", "normalise", "initialise", "losses"),
    *("optimisers", "schedules", "step", "minimise", "training", "batches", "metrics", "history"),
    *("checkpoints", "data", "data_files"),
)
INTRODUCTION = """# Learning

`cr.learn` is layers, losses, optimisers and training, written on the public names alone. Everything
is a plain function of arrays. Parameters are nested dicts, lists and tuples of floating arrays:
there are no layer objects and no hidden state. A layer `f` is a pair, `init_f(rng, …)` that draws
parameters and `f(params, x)` that applies them. Types are kept: float32 parameters stay float32,
and so do their gradients and updates.

<!-- needs llvmlite -->
```python
import numpy as np
import chainrule as cr
from chainrule import learn


def loss(params, x, labels):
    hidden = np.tanh(learn.linear(params["hidden"], x))
    scores = learn.linear(params["output"], hidden)
    return learn.cross_entropy(scores, labels) + 1e-4 * learn.l2(params)


rng = np.random.default_rng(0)
x = rng.normal(size=(300, 2))
labels = (x[:, 0] * x[:, 1] > 0).astype(int)
params = {"hidden": learn.init_linear(rng, 2, 16), "output": learn.init_linear(rng, 16, 2)}

optimiser = learn.adam(learn.cosine(0.03, steps=301))
step, state = learn.make_step(loss, optimiser), optimiser.init(params)
for n in range(301):
    params, state, value = step(params, state, x, labels)
    if n % 100 == 0:
        print(f"{n:4}  {value:.4f}")
```

```text
```

Dropout and other noise take a key, which is an argument like any other: [random
numbers](api.md#random-numbers). This page is written by `docs/make_learn.py`.
"""


def page() -> str:
    """The whole page, with the output that the example has had."""
    by_file: dict[str, list[Any]] = {}
    for name in learn.__all__:
        value = getattr(learn, name)
        by_file.setdefault(value.__module__.rpartition(".")[2], []).append(value)
    order = [*(f for f in FIRST if f in by_file), *sorted(by_file.keys() - set(FIRST))]
    parts = [introduction()]
    for file in order:
        opening = (sys.modules[f"chainrule.learn.{file}"].__doc__ or "").split("\n\n")[0]
        parts.append(f"## {file.replace('_', ' ').capitalize()}\n\n{' '.join(opening.split())}\n")
        parts.append("| name | meaning |\n|---|---|")
        parts += [f"| `{signature(value)}` | {meaning(value)} |" for value in by_file[file]]
        parts.append("")
    return "\n".join(parts)


def introduction() -> str:
    """The text above; what its example prints is written by `python -m tests.docs.pages`."""
    if not PAGE.exists():
        return INTRODUCTION
    shown = PAGE.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    return INTRODUCTION.replace("```text\n```", f"```text\n{shown}```")


def signature(value: Any) -> str:
    """The call, with its defaults and without its types."""
    parameters = inspect.signature(value).parameters.values()
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    texts: list[str] = []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and "*" not in (text[:1] for text in texts):
            texts.append("*")
        default = "" if p.default is p.empty else f"={shown(p.default)}"
        texts.append(f"{marks.get(p.kind, '')}{p.name}{default}")
    return f"{value.__name__}({', '.join(texts)})"


def shown(default: Any) -> str:
    return default.__name__ if callable(default) else repr(default)


def meaning(value: Any) -> str:
    """The first paragraph of a docstring."""
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return text.replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
