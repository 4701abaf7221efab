"""`scipy.ndimage` on Variables."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.ndimage.functions import OURS

__getattr__, __dir__ = namespace("scipy.ndimage", OURS)
