"""Modules and functions as a user would write them."""

import numpy as np

import chainrule as cr


def program(text, **names):
    """The namespace of a user's module with this text."""
    scope = {"__name__": "a_users_module", "np": np, "cr": cr, **names}
    exec(text, scope)  # noqa: S102
    return scope


def function(body, **names):
    """`f(x)` that returns this expression, and its namespace."""
    scope = program(f"def f(x):\n    return {body}", **names)
    return scope["f"], scope
