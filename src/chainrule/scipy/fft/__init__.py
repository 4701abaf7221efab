"""`scipy.fft` on Variables."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.fft.functions import OURS

__getattr__, __dir__ = namespace("scipy.fft", OURS)
