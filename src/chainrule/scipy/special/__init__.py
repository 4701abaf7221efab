"""`scipy.special` on Variables: its ufuncs are ops, the other functions are written in those."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.special.functions import OURS

__getattr__, __dir__ = namespace("scipy.special", OURS)
