"""`scipy.spatial.distance` on Variables; every distance has the gradient 0 where it is 0."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.spatial.distance.metrics import OURS
from chainrule.scipy.spatial.distance.pairs import PAIRS

__getattr__, __dir__ = namespace("scipy.spatial.distance", {**OURS, **PAIRS})
