"""Networks with hidden layers as scikit-learn estimators: NeuralClassifier, NeuralRegressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from chainrule.errors import ShapeError
from chainrule.learn.data import Standardiser
from chainrule.learn.estimator import NetworkClassifier, NetworkEstimator


class NeuralClassifier(NetworkClassifier):
    """A network that classifies: mean cross-entropy + alpha/2 · Σ weights², by mini-batch Adam.

    - `hidden_layer_sizes`: how many units each hidden layer has, one number or several.
    - `activation`: "relu", "tanh", "logistic" or "identity".
    - `batch_size`: rows of a step; "auto" is 200, or all if there are fewer.
    - It ends after `max_iter` epochs, or when the loss fell by less than `tol` in
      `n_iter_no_change` of them. With `early_stopping` the loss on a `validation_fraction` of the
      rows, held out, decides, and the parameters that had the lowest are kept. Equal rows are held
      out together. Of too few rows none are held out, with a warning; `partial_fit` holds out none.
    - `class_weight`: {class: weight} or "balanced".
    - `compile`: True, False or "auto", which compiles where at least 500 steps are planned.

    Fitted: `parameters_`, `classes_`, `loss_curve_`, `n_iter_` epochs, `t_` steps, and of the rows
    held out `validation_curve_`.
    """

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        alpha: float = 1e-4,
        batch_size: int | str = "auto",
        learning_rate_init: float = 0.001,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_iter_no_change: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        compile: bool | str = "auto",
    ):
        self._keep_settings(locals())


class NeuralRegressor(RegressorMixin, NetworkEstimator):
    """A network that predicts numbers: mean squared error + alpha/2 · Σ weights², by Adam.

    The targets, one column or several, are standardised inside, so that neither their unit nor
    their mean matters; the losses are those of standardised targets.  The settings are those of
    NeuralClassifier.

    Fitted: `parameters_`, `targets_` (the mean and scale of y), `loss_curve_`, `validation_curve_`,
    `n_iter_`, `t_`.
    """

    classifies = False

    def __init__(
        self,
        hidden_layer_sizes: Any = (100,),
        activation: str = "relu",
        *,
        alpha: float = 1e-4,
        batch_size: int | str = "auto",
        learning_rate_init: float = 0.001,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_iter_no_change: int = 10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        warm_start: bool = False,
        random_state: Any = None,
        compile: bool | str = "auto",
    ):
        self._keep_settings(locals())

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """One pass of mini-batch steps over these rows; the first call fixes the scale of y."""
        first = not hasattr(self, "parameters_")
        return self._partial_fit(self._examples(X, y, sample_weight, first), first)

    def predict(self, X: Any) -> np.ndarray:
        """The numbers predicted for each row, in the shape that y had."""
        outputs = self._predicted(X)
        found = self.targets_.undo(outputs).astype(outputs.dtype)
        return found[:, 0] if self._one_column else found

    def _encoded(
        self, y: Any, weights: np.ndarray, dtype: Any, first: bool, classes: Any = None
    ) -> np.ndarray:
        """The targets standardised, (rows, outputs)."""
        columns = np.asarray(y, np.float64).reshape(len(y), -1)
        if first:
            self._one_column = np.ndim(y) == 1
            self.targets_ = _scale_of(columns, weights)
        elif columns.shape[1] != len(self.targets_.mean):
            raise ShapeError(f"y has {columns.shape[1]} columns, not {len(self.targets_.mean)}")
        return self.targets_(columns).astype(dtype)

    def _outputs(self) -> int:
        return len(self.targets_.mean)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _scale_of(columns: np.ndarray, weights: np.ndarray) -> Standardiser:
    """Mean and deviation of the columns, weighted; a constant column is only shifted."""
    mean = np.average(columns, axis=0, weights=weights)
    scale = np.sqrt(np.average(np.square(columns - mean), axis=0, weights=weights))
    return Standardiser(mean, np.where(scale > 1e-12 * np.abs(mean), scale, 1.0))
