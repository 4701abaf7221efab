"""`scipy.linalg` on Variables."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.linalg.functions import OURS

__getattr__, __dir__ = namespace("scipy.linalg", OURS)
