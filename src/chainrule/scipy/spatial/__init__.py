"""`scipy.spatial` on Variables: its modules `distance` and `transform`."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.spatial import distance, transform

__getattr__, __dir__ = namespace(
    "scipy.spatial", {}, {"distance": distance, "transform": transform}
)
