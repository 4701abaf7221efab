"""Methods of a core type whose code lives in a room to the right, named by a string."""

from importlib import import_module
from typing import Any


class lazy_method:  # noqa: N801 - reads as a declaration in a class body
    """`forward = lazy_method("chainrule.diff.run", "forward")`: imported when first used.

    Data flows left to right and so do imports, but `graph.explore()` should be found on the graph.
    This descriptor is the one sanctioned way to point right; a test lists every use of it.
    """

    def __init__(self, module: str, attribute: str, *, static: bool = False):
        self.module, self.attribute, self.static = module, attribute, static

    def __set_name__(self, owner: type, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        function = getattr(import_module(self.module), self.attribute)
        setattr(self.owner, self.name, staticmethod(function) if self.static else function)
        return getattr(self.owner if instance is None else instance, self.name)
