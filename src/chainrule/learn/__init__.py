"""Learning: layers, losses, optimisers and steps, as plain functions over nested parameters."""

from chainrule.learn.attention import attention, init_attention
from chainrule.learn.convolution import average_pool, conv, init_conv, max_pool
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

__all__ = [
    "Minimum",
    "Optimiser",
    "accumulated",
    "adam",
    "adamw",
    "attention",
    "average_pool",
    "batch_norm",
    "binary_cross_entropy",
    "clipped",
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
    "lstm",
    "make_step",
    "max_pool",
    "minimise",
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
