"""The estimators pass scikit-learn's own checks, all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from chainrule import learn

# Checks look at behaviour on a few rows, not at whether few epochs were enough.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*too few are held out:UserWarning"),
]
QUICK = {"hidden_layer_sizes": 10, "learning_rate_init": 0.03, "max_iter": 40}


@parametrize_with_checks(
    [
        learn.SoftmaxRegression(),
        learn.SoftmaxRegression(solver="sgd"),
        learn.NeuralClassifier(**QUICK),
        learn.NeuralRegressor(**QUICK),
        learn.NeuralClassifier(**QUICK, early_stopping=True),
        learn.NeuralRegressor(**QUICK, early_stopping=True),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        learn.NeuralClassifier(),
        learn.NeuralRegressor(),
        learn.NeuralRegressor(activation="tanh", hidden_layer_sizes=(20, 20)),
        learn.NeuralClassifier(early_stopping=True),
        learn.NeuralRegressor(early_stopping=True),
        learn.SoftmaxRegression(solver="sgd", early_stopping=True),
    ]
)
def test_scikit_learn_check_as_they_are(estimator, check):
    check(estimator)
