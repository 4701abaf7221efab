"""The scikit-learn estimators (`estimator_*.py`): what they find, and how they are used."""

import copy
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import chainrule as cr
from chainrule import learn
from chainrule.learn import estimator_network

WINE, DIABETES = learn.load("wine"), learn.load("diabetes")
X = learn.standardiser(WINE.x)(WINE.x)
NAMES = np.array(["low", "middle", "high"])  # sorted, these are in another order
Y = NAMES[WINE.y]
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(X))
QUICK = {"hidden_layer_sizes": 8, "learning_rate_init": 0.03, "max_iter": 30, "random_state": 0}
SGD = {"solver": "sgd", "learning_rate_init": 0.1, "max_iter": 30, "random_state": 0}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
each_classifier = pytest.mark.parametrize(
    "model",
    [
        learn.SoftmaxRegression(learning_rate_init=0.1, random_state=0),
        learn.SoftmaxRegression(**SGD),
        learn.NeuralClassifier(**QUICK),
    ],
    ids=["lbfgs", "sgd", "network"],
)
each_form = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])


def mean_loss(coef, intercept, x, y, weights, alpha):
    scores = x @ coef.T + intercept
    return learn.cross_entropy(scores, y, weights.astype(float)) + alpha / 2 * learn.l2(coef)


@pytest.mark.parametrize("intercept", [True, False])
@each_form
@pytest.mark.parametrize("x", [X, WINE.x], ids=["standardised", "raw"])
def test_softmax_regression_ends_where_the_gradient_is_zero(x, form, intercept):
    model = learn.SoftmaxRegression(0.01, tol=1e-9, fit_intercept=intercept, max_iter=20_000)
    model.fit(form(x), Y, sample_weight=WEIGHTS)
    labels = np.searchsorted(model.classes_, Y)
    found = model.coef_, model.intercept_
    gradients = cr.grad(mean_loss, argnums=(0, 1))(*found, x, labels, WEIGHTS, 0.01)
    assert np.max(np.abs(gradients[0]) / np.std(x, axis=0)) < 1e-6
    assert np.max(np.abs(gradients[1])) < 1e-6 or not intercept
    assert model.loss_ == pytest.approx(mean_loss(*found, x, labels, WEIGHTS, 0.01), rel=1e-9)
    assert len(model.loss_curve_) == model.n_iter_
    assert model.loss_curve_ == sorted(model.loss_curve_, reverse=True)


def test_softmax_regression_is_logistic_regression():
    ours = learn.SoftmaxRegression(0.01, tol=1e-9).fit(X, Y)
    theirs = LogisticRegression(C=1 / (0.01 * len(X)), tol=1e-9, max_iter=10_000).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)


@pytest.mark.parametrize("settings", [{}, SGD], ids=["lbfgs", "sgd"])
def test_compiled_or_not_it_is_the_same_fit(settings):
    pytest.importorskip("llvmlite")
    first, second = (
        learn.SoftmaxRegression(compile=compile, **settings).fit(X, Y) for compile in (True, False)
    )
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-5, atol=1e-8)


@each_classifier
@each_form
def test_float32_stays_float32(model, form):
    narrow = clone(model).fit(form(X.astype(np.float32)), Y)
    assert {leaf.dtype for layer in narrow.parameters_ for leaf in layer.values()} == {
        np.dtype(np.float32)
    }
    assert narrow.predict_proba(form(X.astype(np.float32))).dtype == np.float32
    assert narrow.score(X.astype(np.float32), Y) > 0.97


@each_classifier
def test_sparse_rows_give_the_same_fit(model):
    dense, thin = clone(model).fit(X, Y), clone(model).fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(
        dense.predict_proba(X), thin.predict_proba(sparse.csr_array(X)), atol=1e-6
    )


def test_sparse_rows_are_never_dense_as_a_whole(monkeypatch):
    dense = []
    original = sparse.csr_matrix.toarray

    def noted(self, *args, **kwargs):
        dense.append(self.shape)
        return original(self, *args, **kwargs)

    wide = sparse.random_array((500, 3000), density=0.002, rng=0, format="csr")
    y = np.arange(500) % 3
    monkeypatch.setattr(sparse.csr_array, "toarray", noted)
    monkeypatch.setattr(sparse.csc_array, "toarray", noted)
    for settings in ({}, {"solver": "sgd", "batch_size": 50, "max_iter": 2}):
        learn.SoftmaxRegression(**settings).fit(wide, y).predict(wide)
    assert (50, 3000) in dense  # a batch
    assert max(rows * columns for rows, columns in dense) <= 50 * 3000


@each_classifier
def test_probabilities(model):
    fitted = clone(model).fit(X, Y)
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.log(p), fitted.predict_log_proba(X), atol=1e-9)
    np.testing.assert_array_equal(fitted.classes_[p.argmax(axis=1)], fitted.predict(X))
    assert np.isfinite(fitted.predict_log_proba(1e4 * X)).all()


@each_classifier
def test_a_class_can_count_more(model):
    rare = clone(model).set_params(class_weight={"low": 1e-4, "middle": 1, "high": 1}).fit(X, Y)
    assert np.mean(rare.predict(X) == "low") < np.mean(Y == "low")
    balanced = clone(model).set_params(class_weight="balanced").fit(X, Y)
    assert balanced.score(X, Y) > 0.97


@each_classifier
def test_partial_fit_learns_from_one_batch_after_another(model):
    learner = clone(model)
    for n in range(60):
        rows = np.arange(n % 2, len(X), 2)
        learner.partial_fit(X[rows], Y[rows], classes=NAMES)
    assert learner.n_iter_ == 60
    assert learner.score(X, Y) > 0.97
    with pytest.raises(cr.ArgumentError, match="not those named before"):
        learner.partial_fit(X, Y, classes=["low", "high"])
    with pytest.raises(cr.ArgumentError, match="the class huge"):
        learner.partial_fit(X[:1], ["huge"])
    with pytest.raises(cr.ArgumentError, match="must name all classes"):
        clone(model).partial_fit(X, Y)


@each_classifier
def test_a_seed_decides_everything(model):
    first, second = (clone(model).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.parameters_[0]["weights"], second.parameters_[0]["weights"])
    again = copy.deepcopy(first)
    np.testing.assert_array_equal(again.predict_proba(X), first.predict_proba(X))
    assert again.partial_fit(X, Y).n_iter_ > 0


@each_classifier
def test_a_warm_start_goes_on(model):
    warm = clone(model).set_params(warm_start=True).fit(X, Y)
    before = warm.loss_
    warm.fit(X, Y)
    assert warm.loss_ <= before + 1e-6
    assert warm.n_iter_ <= 2 or len(warm.loss_curve_) == warm.n_iter_ > 30


def test_early_stopping_keeps_the_best():
    model = learn.NeuralClassifier(
        **QUICK | {"max_iter": 300}, early_stopping=True, validation_fraction=0.3
    ).fit(X, Y)
    assert model.n_iter_ < 300
    curve = model.validation_curve_
    best = int(np.argmin(curve))
    assert len(curve) == model.n_iter_ > best + 1
    assert model.score(X, Y) > 0.95
    again = clone(model).set_params(max_iter=best + 1).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(cr.ArgumentError, match="early_stopping needs"):
        learn.SoftmaxRegression(early_stopping=True).fit(X, Y)


@each_form
@pytest.mark.parametrize("model", [learn.NeuralClassifier, learn.NeuralRegressor])
def test_what_is_held_out_does_not_depend_on_the_order_or_on_repetition(model, form):
    settings = QUICK | {"early_stopping": True, "validation_fraction": 0.3}
    targets = Y if model is learn.NeuralClassifier else X[:, 0] ** 2
    rng = np.random.default_rng(1)
    rows, weights = rng.permutation(len(X))[:60], rng.integers(0, 3, 60)
    weighted = model(**settings).fit(form(X[rows]), targets[rows], sample_weight=weights)
    repeated = rng.permutation(np.repeat(rows, weights))
    again = model(**settings).fit(X[repeated], targets[repeated])
    assert weighted.n_iter_ == again.n_iter_
    np.testing.assert_allclose(weighted.validation_curve_, again.validation_curve_, rtol=1e-6)


@pytest.mark.parametrize("model", [learn.NeuralClassifier, learn.NeuralRegressor])
def test_of_too_few_rows_none_are_held_out_and_that_is_said(model):
    few = np.arange(0, len(X), 20)
    stopping = model(**QUICK, early_stopping=True)
    with pytest.warns(UserWarning, match="of 9 rows too few are held out") as caught:
        stopping.fit(X[few], WINE.y[few])
    assert caught[0].filename == __file__
    plain = model(**QUICK).fit(X[few], WINE.y[few])
    np.testing.assert_array_equal(stopping.predict(X), plain.predict(X))
    assert stopping.validation_curve_ == []


def test_a_limit_that_is_reached_is_said():
    for model in (learn.SoftmaxRegression(max_iter=2), learn.NeuralClassifier(**QUICK)):
        with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
            model.fit(X, Y)
        assert caught[0].filename == __file__


@each_classifier
def test_in_a_pipeline_and_a_grid_search(model):
    pipeline = make_pipeline(StandardScaler().set_output(transform="default"), clone(model))
    assert cross_val_score(pipeline, WINE.x, Y, cv=3).mean() > 0.93
    step = pipeline.steps[-1][0]
    search = GridSearchCV(pipeline, {f"{step}__alpha": [1e-4, 100.0]}, cv=3).fit(WINE.x, Y)
    assert search.best_params_ == {f"{step}__alpha": 1e-4}


def test_names_of_columns_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=WINE.columns)
    model = learn.SoftmaxRegression().fit(frame, Y)
    assert list(model.feature_names_in_) == list(WINE.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])


@pytest.mark.parametrize("outputs", [1, 2])
def test_regression_does_not_depend_on_the_unit_of_y(outputs):
    x = learn.standardiser(DIABETES.x)(DIABETES.x)
    y = DIABETES.y if outputs == 1 else np.column_stack([DIABETES.y, x[:, 0] * x[:, 1]])
    model = learn.NeuralRegressor(**QUICK | {"max_iter": 60})
    plain, scaled = clone(model).fit(x, y), clone(model).fit(x, 1e6 * y + 3.0)
    assert plain.predict(x).shape == y.shape
    assert plain.score(x, y) > 0.5
    np.testing.assert_allclose(1e6 * plain.predict(x) + 3.0, scaled.predict(x), rtol=1e-5)
    learner = clone(model)
    for _ in range(60):
        learner.partial_fit(x, y)
    assert learner.score(x, y) > 0.5
    with pytest.raises(cr.ShapeError, match="columns"):
        learner.partial_fit(x, np.ones((len(x), 3)))


def test_steps_are_compiled_once_for_equal_networks_and_forms(monkeypatch):
    pytest.importorskip("llvmlite")
    made = []

    def noted(*args, **kwargs):
        made.append(make_step(*args, **kwargs))
        return made[-1]

    make_step = estimator_network.make_step
    monkeypatch.setattr(estimator_network, "make_step", noted)
    estimator_network.step_of.cache_clear()
    for alpha in (1e-4, 1e-3):
        learn.NeuralClassifier(**QUICK, alpha=alpha, compile=True).fit(X, Y)
    assert [step.report().count("branch") for step in made] == [1]
    learn.NeuralClassifier(**QUICK, compile=True).fit(X[:, :2], Y)
    assert [step.report().count("branch") for step in made] == [1, 1]
    estimator_network.step_of.cache_clear()  # of what was noted here


def test_the_gradient_of_the_network_is_right():
    rng = np.random.default_rng(0)
    for classifies in (True, False):
        network = estimator_network.Network((3, 2), "tanh", classifies)
        parameters = network.init(rng, 4, 3, np.float64)
        targets = rng.integers(3, size=(5, 1)) if classifies else rng.normal(size=(5, 3))
        batch = rng.normal(size=(5, 4)), targets, rng.uniform(size=5), 0.1
        cr.check_grads(lambda p, b=batch, n=network: n.loss(p, *b), parameters, order=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", -1.0),
        ("batch_size", 0),
        ("learning_rate_init", 0.0),
        ("max_iter", 0),
        ("tol", -1.0),
        ("n_iter_no_change", 0),
        ("validation_fraction", 1.0),
        ("compile", "maybe"),
        ("activation", "sine"),
        ("hidden_layer_sizes", (3, 0)),
    ],
)
def test_wrong_settings_are_named(name, value):
    with pytest.raises(cr.ArgumentError, match=f"{name}="):
        learn.NeuralClassifier().set_params(**{name: value}).fit(X, Y)


def test_other_errors_are_clear():
    with pytest.raises(cr.ArgumentError, match="solver='newton'"):
        learn.SoftmaxRegression(solver="newton").fit(X, Y)
    with pytest.raises(ValueError, match="at least one non-zero"):
        learn.SoftmaxRegression().fit(X, Y, sample_weight=np.zeros(len(X)))
    with pytest.raises(NotFittedError):
        learn.NeuralClassifier().predict(X)
    with pytest.raises(cr.NonFiniteLoss, match="learning_rate_init=1e"):
        learn.SoftmaxRegression(solver="sgd", learning_rate_init=1e300).fit(WINE.x, Y)


@pytest.mark.parametrize("name", ["SoftmaxRegression", "NeuralClassifier", "NeuralRegressor"])
def test_without_scikit_learn_the_extra_is_named(name):
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import chainrule as cr\n"
        "cr.learn.linear\n"
        f"try: cr.learn.{name}\n"
        "except cr.UnsupportedError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == f"{name} needs scikit-learn: pip install 'chainrule[learn]'\n"


def test_scikit_learn_is_imported_on_first_use():
    code = "import sys; from chainrule import learn; print('sklearn' in sys.modules)\n"
    code += "learn.SoftmaxRegression; print('sklearn' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
