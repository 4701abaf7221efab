"""The view of a training run in a browser: a widget that moves, a page, and frames in notebooks."""

import base64
import json

import numpy as np
import pytest

import chainrule as cr
from chainrule import learn
from chainrule.diff.run import recorded_run
from chainrule.view import live as live_module
from chainrule.view.explore import page_of
from chainrule.view.notebook import Embedded
from chainrule.view.training import script
from tests.view.gallery import ran
from tests.web.test_access import AXE, RUN

RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 5))
Y = (X @ RNG.normal(size=(5, 3))).argmax(axis=1)

# A notebook's front end, as far as a widget sees it.
NOTEBOOK = """<!doctype html><html lang="en">
<head><meta charset="utf-8"><title>notebook</title></head>
<body><main><h1>A notebook</h1><div id="cell"></div></main>
<script type="module">
class Model {
  constructor(state) { this.state = state; this.heard = {}; }
  get(name) { return this.state[name]; }
  set(name, value) {
    this.state[name] = value;
    for (const f of this.heard[`change:${name}`] ?? []) f();
  }
  on(event, f) { (this.heard[event] ??= []).push(f); }
  off(event, f) { this.heard[event] = this.heard[event].filter((g) => g !== f); }
  save_changes() { throw new Error("a view that writes"); }
}
const { default: widget } = await import("data:text/javascript;base64,MODULE");
window.model = new Model({ data: {}, picture: "" });
window.clean = widget.render({ model, el: document.getElementById("cell") });
</script></body></html>"""


def train(live, activation=np.tanh, epochs=4, bias=None, rate=0.02, name="loss"):
    rng = np.random.default_rng(1)
    start = {"hidden": learn.init_linear(rng, 5, 8), "output": learn.init_linear(rng, 8, 3)}
    if bias is not None:
        start["hidden"]["bias"] = bias

    def scores(params, x):
        return learn.linear(params["output"], activation(learn.linear(params["hidden"], x)))

    def loss(params, x, labels):
        return learn.cross_entropy(scores(params, x), labels)

    loss.__name__ = name
    return learn.train(
        loss,
        start,
        learn.Batches(X[:64], Y[:64], size=16),
        optimiser=learn.adam(rate),
        epochs=epochs,
        validation=(X[64:], Y[64:]),
        metrics={"accuracy": lambda p, x, y: learn.accuracy(scores(p, x), y)},
        compile=False,
        progress=live,
    )


@pytest.fixture
def watched(monkeypatch):
    """A run of which every step was looked at; and what a notebook would have been sent."""

    def watching(**options):
        monkeypatch.setattr(live_module, "PAUSE", 0.0)
        monkeypatch.setattr(live_module, "LOOKING", 0)
        monkeypatch.setattr(live_module, "DRAWING", 0)
        live, sent = cr.Live(), []
        step = live.step

        def listening(rows, loss, parameters):
            step(rows, loss, parameters)
            live._draw()
            sent.append({"data": json.loads(json.dumps(live.to_data())), "picture": live._picture})

        live.step = listening
        train(live, **options)
        return live, sent

    return watching


@pytest.fixture
def notebook(opened, tmp_path):
    path = tmp_path / "notebook.html"
    module = base64.b64encode(script().encode()).decode()
    path.write_text(NOTEBOOK.replace("MODULE", module), encoding="utf-8")
    return opened(path)


def send(page, message):
    page.page.evaluate(
        "({ data, picture }) => { model.set('picture', picture); model.set('data', data); }",
        message,
    )
    page.settle()


def text(page, selector):
    return page.text(f"#cell {selector}").replace("−", "-")


# ---- the widget ---------------------------------------------------------------------------------


def test_curves_move_as_messages_come(notebook, watched):
    _, sent = watched()
    lines = []
    for message in (sent[2], sent[6], sent[15]):
        send(notebook, message)
        assert f"step {message['data']['step']}" in text(notebook, "header")
        lines.append(notebook.page.locator("#cell .line.training").get_attribute("d"))
    assert len(set(lines)) == 3
    assert [line.count("L") for line in lines] == [2, 6, 15]
    assert (
        text(notebook, ".number:first-child strong")
        == f"{sent[15]['data']['loss']['mean'][-1]:.4g}"
    )
    validation = notebook.page.locator("#cell .line.validation").get_attribute("d")
    assert validation.count("L") == 2, "three epochs have ended before the last step of the fourth"
    assert "training validation" in text(notebook, "figure:first-child figcaption")


def test_what_is_said_of_layers_and_signs(notebook, watched):
    _, sent = watched()
    data = sent[-1]["data"]
    send(notebook, sent[-1])
    rows = notebook.page.locator("#cell .layers tbody tr")
    assert rows.count() == 2
    first = " ".join(rows.first.inner_text().split()).replace("−", "-")
    layer = data["layers"][0]
    assert first == f"hidden 48 {layer['gradient'][-1]:.3g} {layer['update'][-1]:.3g}"
    tiles = notebook.page.locator("#cell .tile")
    assert tiles.count() == 3
    for k, sign in enumerate(data["signs"]):
        assert sign["verdict"] in tiles.nth(k).inner_text()
    assert "tanh test_training.py:" in text(notebook, ".activations")


def test_trouble_is_said_in_words(notebook, watched):
    bias = np.array([-1e3] * 6 + [0.0] * 2)
    _, sent = watched(activation=lambda z: np.maximum(z, 0.0), bias=bias, rate=3.0)
    send(notebook, sent[0])
    said = text(notebook, ".findings")
    assert "6 of 8 units of maximum (test_training.py:" in said
    assert "lower the rate" in said
    assert "✗ too large" in text(notebook, ".tile:nth-child(1)")
    assert "✗ most dead" in text(notebook, ".tile:nth-child(3)")
    spoken = notebook.page.locator("#cell [role=status]").text_content()
    assert "units of maximum" in spoken


def test_the_graph_is_shown_as_the_notebook_is_light_or_dark(notebook, watched):
    _, sent = watched()
    send(notebook, sent[-1])
    picture = notebook.page.locator("#cell img")
    assert picture.evaluate("(img) => img.decode().then(() => img.naturalWidth)") > 300
    assert "step 16" in picture.get_attribute("alt")
    host = notebook.page.locator("#cell > div")
    assert host.get_attribute("data-theme") == "light"
    notebook.page.evaluate("document.body.style.background = 'rgb(17, 17, 17)'")
    send(notebook, sent[-1])
    assert host.get_attribute("data-theme") == "dark"
    assert "%40media%20all" in picture.get_attribute("src")


def test_a_view_that_is_closed_hears_no_more(notebook, watched):
    _, sent = watched()
    send(notebook, sent[2])
    notebook.page.evaluate("clean()")
    send(notebook, sent[6])
    assert "step 3" in text(notebook, "header")


def test_before_training_there_is_nothing(notebook):
    assert text(notebook, "") == ""
    send(notebook, {"data": cr.Live().to_data(), "picture": ""})
    assert "has not begun" in text(notebook, "header")


# ---- the page -----------------------------------------------------------------------------------


def test_the_page_of_a_finished_run(opened, watched, tmp_path):
    live, _ = watched()
    page = opened(live.save(tmp_path / "training.html"))
    data = live.to_data()
    assert page.text("h1") == "loss"
    assert "finished" in page.text("header")
    assert f"{data['measured']['columns']['accuracy'][-1]:.4g}" in page.text(".numbers")
    assert page.page.locator("figure").count() == 2


@pytest.mark.parametrize("width", [320, 600, 1280])
def test_it_fits(opened, watched, tmp_path, width):
    live, _ = watched()
    page = opened(live.save(tmp_path / "training.html"), width=width)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_loss_that_is_not_finite(opened, tmp_path):
    def risky(params, x):
        return np.mean(np.log(x @ params))

    live = cr.Live()
    batches = [(np.ones((2, 2)),), (np.zeros((2, 2)),)]
    with np.errstate(all="ignore"), pytest.raises(cr.NonFiniteLoss):
        learn.train(risky, np.ones(2), batches, optimiser=learn.sgd(0.1), epochs=1, progress=live)
    page = opened(live.save(tmp_path / "training.html"))
    assert "failed" in page.text("header")
    assert "the loss is -inf at step 2" in page.text(".findings")
    assert "log gives -inf" in page.text(".report")


def test_a_hostile_name_is_text(opened, watched, tmp_path):
    name = "</script><img src=x onerror=alert(1)>"
    live, _ = watched(name=name)
    page = opened(live.save(tmp_path / "training.html"))
    assert page.text("h1") == name
    assert page.page.locator("img").count() == 1, "that of the graph"


@pytest.mark.skipif(not AXE.exists(), reason="needs `npm install` in web/")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("host", ["page", "widget"])
def test_no_rule_of_axe_is_broken(opened, notebook, watched, tmp_path, host, scheme):
    bias = np.array([-1e3] * 6 + [0.0] * 2)
    live, sent = watched(activation=lambda z: np.maximum(z, 0.0), bias=bias, rate=3.0)
    page = notebook
    if host == "page":
        page = opened(live.save(tmp_path / "training.html"))
    page.page.emulate_media(color_scheme=scheme)
    if host == "widget":
        page.page.evaluate("document.documentElement.style.colorScheme = 'light dark'")
        send(page, sent[-1])
    page.settle()
    page.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert page.page.evaluate(RUN) == []


# ---- frames in notebooks ------------------------------------------------------------------------


def cell(path, shown, body=""):
    """A notebook made into HTML, with one output."""
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>n</title></head>'
    path.write_text(f"{head}<body {body}>{shown._repr_html_()}</body></html>", encoding="utf-8")
    return path


def test_the_explorer_in_a_cell(opened, tmp_path):
    shown = Embedded("explorer", page_of(ran("product")))
    page = opened(cell(tmp_path / "notebook.html", shown))
    frame = page.page.frame_locator("iframe")
    # It may have begun to play: how much motion is wanted comes to a frame a little later.
    frame.locator("#step", has_text="step 10 of 10").wait_for()
    frame.locator("#back").click()
    assert frame.locator("#step").inner_text() == "step 9 of 10"
    frame.locator("#graph").press("ArrowLeft")
    assert frame.locator("#step").inner_text() == "step 8 of 10"
    assert page.page.locator("iframe").bounding_box()["height"] == 640
    assert page.page.frames[1].evaluate("self.origin") == "null", "nothing outside is its own"


def test_training_in_a_cell_of_a_saved_notebook(opened, watched, tmp_path):
    live, _ = watched()
    page = opened(cell(tmp_path / "notebook.html", live))
    assert "finished" in page.page.frame_locator("iframe").locator("header").inner_text()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('data-jp-theme-light="false"', True),
        ('class="vscode-dark"', True),
        ('data-jp-theme-light="true"', False),
        ("", False),
    ],
)
def test_a_frame_is_dark_where_the_notebook_is(opened, tmp_path, body, expected):
    shown = Embedded("explorer", page_of(ran("product")))
    page = opened(cell(tmp_path / "notebook.html", shown, body))
    page.page.emulate_media(color_scheme="null")  # as the system is, which is light
    dark = page.page.frames[1].evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert dark is expected


def test_hostile_names_stay_in_the_frame(opened, tmp_path):
    name = '"></iframe><script>document.title = "out"</script>'
    run = recorded_run(lambda p: np.sin(p[name]), {name: 2.0}).backward()
    page = opened(cell(tmp_path / "notebook.html", Embedded(name, page_of(run))))
    assert page.page.title() == "n"
    assert page.page.locator("iframe").count() == 1
    assert page.page.locator("body").inner_text().strip() == ""
