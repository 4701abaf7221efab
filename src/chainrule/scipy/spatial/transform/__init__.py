"""`scipy.spatial.transform` on Variables: `Rotation`."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.spatial.transform.rotations import Rotation

__getattr__, __dir__ = namespace("scipy.spatial.transform", {}, {"Rotation": Rotation})
