"""Learning: layers, losses, optimisers and steps, as plain functions over nested parameters."""

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

__all__ = [
    "Optimiser",
    "accumulated",
    "adam",
    "adamw",
    "binary_cross_entropy",
    "clipped",
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
    "make_step",
    "momentum",
    "mse",
    "nesterov",
    "nll",
    "normal",
    "orthogonal",
    "rmsprop",
    "sgd",
    "step_decay",
    "uniform",
]
