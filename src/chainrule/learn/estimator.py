"""What the scikit-learn estimators share: checked input, labels, fitting by mini-batches."""

from __future__ import annotations

import warnings
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from chainrule import log_softmax, softmax, tree
from chainrule.errors import ArgumentError
from chainrule.learn.estimator_network import (
    ACTIVATIONS,
    OPTIMISERS,
    Examples,
    Network,
    Settings,
    epochs,
    pays,
)
from chainrule.learn.held_out import held_out

LARGEST_BATCH = 200
SEEDS = 2**31


class NetworkEstimator(BaseEstimator):
    """A network with its parameters in `parameters_`, fitted by epochs of mini-batch steps.

    A subclass has these settings as its own, and says what network it is and how targets look.
    """

    hidden_layer_sizes: Any = ()
    activation: str = "identity"
    optimiser_name = "adam"
    classifies = True
    fit_intercept: bool = True
    class_weight: Any = None

    def _keep_settings(self, settings: dict[str, Any]) -> None:
        """Keep the arguments of `__init__`, its locals(), each under its own name.

        scikit-learn reads the names from the signature, so each subclass has to write it out.
        """
        for name, value in settings.items():
            if name != "self":
                setattr(self, name, value)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to the rows of X, from the start, or with `warm_start` from where it stands."""
        again = self.warm_start and hasattr(self, "parameters_")
        for warning in self._fit(self._examples(X, y, sample_weight, first=not again), again):
            warnings.warn(warning, stacklevel=2)
        return self

    def _fit(self, examples: Examples, again: bool) -> list[Warning]:
        """Fit; what is returned is to be said, as that it ended too early."""
        rng = self._generator()
        if not again:
            self._begin(examples, rng)
        judge, examples = self._held_out(examples)
        settings = self._settings(examples, self.max_iter)
        best, lowest, waited = None, np.inf, 0
        run = epochs(self._network(), *self._point(), examples, settings, rng)
        for parameters, state, loss in islice(run, self.max_iter):
            self.parameters_, self._state = parameters, state
            self._count(loss, examples, settings)
            judged = loss if judge is None else self._judged(judge)
            waited = 0 if judged < lowest - self.tol else waited + 1
            if judged < lowest:
                lowest = judged
                best = None if judge is None else tree.map(np.array, parameters)
            if waited >= self.n_iter_no_change:
                break
        self._keep(best)
        said: list[Warning] = []
        if self.early_stopping and judge is None:
            said.append(UserWarning(self._too_few(examples)))
        if waited < self.n_iter_no_change:
            said.append(self._unfinished("the loss still falls after max_iter={} epochs"))
        return said

    def _unfinished(self, what: str) -> Warning:
        cure = "raise max_iter, or tol, or scale the columns of X"
        text = f"{type(self).__name__}: {what.format(self.max_iter)}; {cure}"
        return ConvergenceWarning(text)

    def _too_few(self, examples: Examples) -> str:
        rows, share = len(examples.weights), self.validation_fraction
        return (
            f"{type(self).__name__}(early_stopping=True): of {rows} rows too few are held out by "
            f"validation_fraction={share} to judge by: the loss on all rows decided when to stop; "
            "raise it, or pass more rows"
        )

    def _partial_fit(self, examples: Examples, first: bool) -> Any:
        rng = self._generator()
        if first:
            self._begin(examples, rng)
        settings = self._settings(examples, 1)
        run = epochs(self._network(), *self._point(), examples, settings, rng)
        self.parameters_, self._state, loss = next(run)
        self._count(loss, examples, settings)
        self._keep(None)
        return self

    # -- what a fit is made of ---------------------------------------------------------------------

    def _examples(
        self, X: Any, y: Any, sample_weight: Any, first: bool, classes: Any = None
    ) -> Examples:
        """Everything checked; the targets in numbers, the weights with mean 1."""
        self._check_settings()
        X, y = validate_data(
            self,
            X,
            y,
            reset=first,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            multi_output=not self.classifies,
            y_numeric=not self.classifies,
        )
        weights = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        targets = self._encoded(y, weights, X.dtype, first, classes)
        if self.class_weight is not None:
            labels = self.classes_[targets[:, 0]]
            weights = weights * compute_sample_weight(self.class_weight, labels).astype(X.dtype)
        return Examples(X, targets, weights * X.dtype.type(len(weights) / weights.sum()))

    def _network(self) -> Network:
        sizes = self.hidden_layer_sizes
        hidden = tuple(np.atleast_1d(np.asarray(sizes, int)).tolist())
        return Network(hidden, self.activation, self.classifies, self.fit_intercept)

    def _generator(self) -> np.random.Generator:
        seed = check_random_state(self.random_state).randint(SEEDS - 1)
        return np.random.default_rng(seed)

    def _begin(self, examples: Examples, rng: np.random.Generator) -> None:
        inputs = examples.x.shape[1]
        self.parameters_ = self._network().init(rng, inputs, self._outputs(), examples.x.dtype)
        self._restart()

    def _restart(self) -> None:
        self._state = OPTIMISERS[self.optimiser_name](0.0).init(self.parameters_)
        self.n_iter_, self.t_ = 0, 0
        self.loss_curve_: list[float] = []

    def _point(self) -> tuple[Any, Any]:
        """Copies to start from: a step writes into what it is given."""
        return tree.map(np.array, self.parameters_), tree.map(np.array, self._state)

    def _settings(self, examples: Examples, planned: int) -> Settings:
        rows = examples.x.shape[0]
        size = min(LARGEST_BATCH if self.batch_size == "auto" else self.batch_size, rows)
        steps = self.t_ + planned * -(-rows // size)
        compile = pays(self.compile, steps)
        rate = float(self.learning_rate_init)
        return Settings(self.optimiser_name, rate, self.alpha, size, compile)

    def _count(self, loss: float, examples: Examples, settings: Settings) -> None:
        self.n_iter_ += 1
        self.t_ += -(-len(examples.weights) // settings.size)
        self.loss_curve_.append(loss)
        self.loss_ = loss

    def _keep(self, best: Any) -> None:
        """The parameters in memory of their own, those that were judged best if there are any."""
        self.parameters_ = tree.map(np.array, self.parameters_) if best is None else best
        self._state = tree.map(np.array, self._state)

    def _held_out(self, examples: Examples) -> tuple[Examples | None, Examples]:
        """With `early_stopping`, rows to judge by and the others."""
        if not self.early_stopping:
            return None, examples
        self.validation_curve_: list[float] = []
        seed = check_random_state(self.random_state).randint(SEEDS - 1)
        labels = examples.targets[:, 0]
        strata = labels if self.classifies else np.zeros(len(labels), np.int64)
        return held_out(examples, self.validation_fraction, strata, seed) or (None, examples)

    def _judged(self, judge: Examples) -> float:
        """The loss on the rows held out, without the penalty."""
        weights = judge.weights / judge.weights.sum()
        loss = self._network().loss(self.parameters_, judge.x, judge.targets, weights, 0.0)
        self.validation_curve_.append(float(loss))
        return self.validation_curve_[-1]

    def _outputs_of(self, X: Any) -> np.ndarray:
        return self._network().outputs(self.parameters_, X)

    def _predicted(self, X: Any) -> np.ndarray:
        """The outputs for rows that a user gives."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32))
        return self._outputs_of(X)

    def _check_settings(self) -> None:
        sizes = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        batch = self.batch_size
        rules = {
            "hidden_layer_sizes": sizes.ndim == 1 and all(n >= 1 and n % 1 == 0 for n in sizes),
            "activation": self.activation in ACTIVATIONS,
            "alpha": self.alpha >= 0,
            "batch_size": batch == "auto" or (isinstance(batch, int | np.integer) and batch > 0),
            "learning_rate_init": 0 < self.learning_rate_init < np.inf,
            "max_iter": isinstance(self.max_iter, int | np.integer) and self.max_iter > 0,
            "tol": self.tol >= 0,
            "n_iter_no_change": self.n_iter_no_change >= 1,
            "validation_fraction": 0 < self.validation_fraction < 1,
            "compile": self.compile in (True, False, "auto"),
        }
        for name, holds in rules.items():
            if not holds:
                raise ArgumentError(
                    f"{type(self).__name__}({name}={getattr(self, name)!r}): see its docstring "
                    "for what is possible"
                )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class NetworkClassifier(ClassifierMixin, NetworkEstimator):
    """A network whose outputs are the scores of classes."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """One pass of mini-batch steps over these rows; the first call names all `classes`."""
        first = not hasattr(self, "parameters_")
        if first and classes is None:
            raise ArgumentError("the first call of partial_fit must name all classes=")
        if not (first or classes is None or np.array_equal(self.classes_, unique_labels(classes))):
            raise ArgumentError(f"classes={classes!r} are not those named before: {self.classes_}")
        return self._partial_fit(self._examples(X, y, sample_weight, first, classes), first)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores (rows, classes); of two classes, by how much that of the second is higher."""
        scores = self._predicted(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        scores = self._predicted(X)  # before classes_ is read: it says that nothing was fitted
        return self.classes_[np.argmax(scores, axis=1)]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes, exact also where these vanish."""
        return log_softmax(self._predicted(X), axis=-1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, in the order of `classes_`."""
        return softmax(self._predicted(X), axis=-1)

    def _encoded(
        self, y: Any, weights: np.ndarray, dtype: Any, first: bool, classes: Any = None
    ) -> np.ndarray:
        """The labels as positions in classes_, (rows, 1)."""
        check_classification_targets(y)
        if first:
            self.classes_ = unique_labels(y if classes is None else classes)
        positions = np.searchsorted(self.classes_, y)
        known = self.classes_[np.minimum(positions, len(self.classes_) - 1)] == y
        if not np.all(known):
            raise ArgumentError(
                f"y has the class {y[np.argmin(known)]}, which is not one of {self.classes_}"
            )
        return positions[:, None]

    def _outputs(self) -> int:
        return len(self.classes_)
