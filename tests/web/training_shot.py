"""The picture of a watched run, as the documentation shows it.

python -m tests.web.training_shot FILE    writes it (needs playwright, chromium and scikit-learn)
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import chainrule as cr
from chainrule import learn
from chainrule.view import live as live_module


def scores(params: Any, x: Any) -> Any:
    hidden = np.tanh(learn.linear(params["hidden"], x))
    return learn.linear(params["output"], hidden)


def loss(params: Any, x: Any, labels: Any) -> Any:
    return learn.cross_entropy(scores(params, x), labels) + 1e-4 * learn.l2(params)


def watched() -> cr.Live:
    """The digits, looked at often enough for a picture."""
    live_module.PAUSE = live_module.LOOKING = 0
    training, test = learn.split(learn.load("digits"))
    scale = learn.standardiser(training.x)
    rng = np.random.default_rng(0)
    params = {"hidden": learn.init_linear(rng, 64, 32), "output": learn.init_linear(rng, 32, 10)}
    live = cr.Live()
    learn.train(
        loss,
        params,
        learn.Batches(scale(training.x), training.y, size=32),
        optimiser=learn.adam(0.003),
        epochs=12,
        validation=(scale(test.x), test.y),
        metrics={"accuracy": lambda params, x, y: learn.accuracy(scores(params, x), y)},
        progress=live,
    )
    return live


def main(file: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, tempfile.TemporaryDirectory() as place:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1100, "height": 620})
        page.goto(watched().save(Path(place) / "training.html").as_uri())
        page.wait_for_timeout(300)
        page.screenshot(path=file)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
