"""Whose derivative failed: an error inside a rule gets the line of user code that recorded it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from chainrule.core.node import Node
from chainrule.errors import ChainruleError, NeedsHistoryError

P = ParamSpec("P")
R = TypeVar("R")


def names_the_node(walk: Callable[P, R]) -> Callable[P, R]:
    """A walk over nodes whose errors say at which `node` it was; that costs nothing until then."""

    @wraps(walk)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return walk(*args, **kwargs)
        except NeedsHistoryError:
            raise
        except Exception as error:  # whatever a rule raises, it is told where
            mine = error.__traceback__.tb_next if error.__traceback__ else None
            node = mine.tb_frame.f_locals.get("node") if mine else None
            if isinstance(node, Node) and not node.is_leaf and node.line is not None:
                _say_where(error, node.op.name, node.line.shown())
            raise

    return named


def _say_where(error: Exception, op: str, shown: str) -> None:
    if shown in str(error) or any(shown in note for note in getattr(error, "__notes__", ())):
        return
    where = f"in the derivative of {op}, recorded at\n  {shown}"
    if isinstance(error, ChainruleError):
        error.args = (f"{error}\n  {where}", *error.args[1:])
    else:
        error.add_note(where)
