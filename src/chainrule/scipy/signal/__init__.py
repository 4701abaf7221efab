"""`scipy.signal` on Variables."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.signal.functions import OURS

__getattr__, __dir__ = namespace("scipy.signal", OURS)
