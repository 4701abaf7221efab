"""Learning: layers, losses, optimisers and steps, as plain functions over nested parameters."""

from chainrule.learn.batches import Batches
from chainrule.learn.checkpoints import (
    Checkpoint,
    checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from chainrule.learn.data import Data, Standardiser, load, split, standardiser
from chainrule.learn.data_files import load_csv, load_idx, load_npy, load_npz
from chainrule.learn.history import History
from chainrule.learn.initialise import glorot, he, lecun, normal, orthogonal, uniform
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
from chainrule.learn.schedules import constant, cosine, exponential, inverse_time, step_decay
from chainrule.learn.step import make_step
from chainrule.learn.training import Trained, train

__all__ = [
    "Batches",
    "Checkpoint",
    "Data",
    "History",
    "Optimiser",
    "Standardiser",
    "Trained",
    "accumulated",
    "accuracy",
    "adam",
    "adamw",
    "binary_cross_entropy",
    "checkpoints",
    "clipped",
    "confusion_matrix",
    "constant",
    "cosine",
    "cross_entropy",
    "exponential",
    "glorot",
    "he",
    "hinge",
    "huber",
    "inverse_time",
    "l1",
    "l2",
    "lecun",
    "load",
    "load_checkpoint",
    "load_csv",
    "load_idx",
    "load_npy",
    "load_npz",
    "mae",
    "make_step",
    "mean_over",
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
