"""Learning: layers, losses, optimisers, training and data, on nested parameters."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from chainrule.errors import UnsupportedError
from chainrule.learn.attention import attention, init_attention
from chainrule.learn.batches import Batches
from chainrule.learn.checkpoints import (
    Checkpoint,
    checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from chainrule.learn.convolution import average_pool, conv, init_conv, max_pool
from chainrule.learn.data import Data, Standardiser, load, split, standardiser
from chainrule.learn.data_files import load_csv, load_idx, load_npy, load_npz
from chainrule.learn.history import History
from chainrule.learn.initialise import glorot, he, lecun, normal, orthogonal, uniform
from chainrule.learn.layers import dropout, embedding, init_embedding, init_linear, linear
from chainrule.learn.losses import (
    binary_cross_entropy,
    cross_entropy,
    hinge,
    huber,
    l1,
    l2,
    mse,
    nll,
)
from chainrule.learn.metrics import (
    accuracy,
    confusion_matrix,
    mae,
    mean_over,
    r_squared,
    top_k,
)
from chainrule.learn.minimise import Minimum, minimise
from chainrule.learn.normalise import batch_norm, init_batch_norm, init_layer_norm, layer_norm
from chainrule.learn.optimisers import (
    Optimiser,
    accumulated,
    adam,
    adamw,
    clipped,
    momentum,
    nesterov,
    rmsprop,
    sgd,
)
from chainrule.learn.recurrent import gru, init_gru, init_lstm, lstm
from chainrule.learn.schedules import constant, cosine, exponential, inverse_time, step_decay
from chainrule.learn.step import make_step
from chainrule.learn.training import Trained, train

__all__ = [
    "Batches",
    "Checkpoint",
    "Data",
    "History",
    "Minimum",
    "NeuralClassifier",
    "NeuralRegressor",
    "Optimiser",
    "SoftmaxRegression",
    "Standardiser",
    "Trained",
    "accumulated",
    "accuracy",
    "adam",
    "adamw",
    "attention",
    "average_pool",
    "batch_norm",
    "binary_cross_entropy",
    "checkpoints",
    "clipped",
    "confusion_matrix",
    "constant",
    "conv",
    "cosine",
    "cross_entropy",
    "dropout",
    "embedding",
    "exponential",
    "glorot",
    "gru",
    "he",
    "hinge",
    "huber",
    "init_attention",
    "init_batch_norm",
    "init_conv",
    "init_embedding",
    "init_gru",
    "init_layer_norm",
    "init_linear",
    "init_lstm",
    "inverse_time",
    "l1",
    "l2",
    "layer_norm",
    "lecun",
    "linear",
    "load",
    "load_checkpoint",
    "load_csv",
    "load_idx",
    "load_npy",
    "load_npz",
    "lstm",
    "mae",
    "make_step",
    "max_pool",
    "mean_over",
    "minimise",
    "momentum",
    "mse",
    "nesterov",
    "nll",
    "normal",
    "orthogonal",
    "r_squared",
    "rmsprop",
    "save_checkpoint",
    "sgd",
    "split",
    "standardiser",
    "step_decay",
    "top_k",
    "train",
    "uniform",
]

ESTIMATORS = {  # scikit-learn is imported when the first of them is asked for
    "NeuralClassifier": "chainrule.learn.estimator_neural",
    "NeuralRegressor": "chainrule.learn.estimator_neural",
    "SoftmaxRegression": "chainrule.learn.estimator_softmax",
}


def __getattr__(name: str) -> Any:
    if name not in ESTIMATORS:
        raise AttributeError(f"module 'chainrule.learn' has no attribute {name!r}")
    try:
        return getattr(import_module(ESTIMATORS[name]), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "sklearn":
            raise
        raise UnsupportedError(
            f"{name} needs scikit-learn: pip install 'chainrule[learn]'"
        ) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *ESTIMATORS})
