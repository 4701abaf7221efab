"""`scipy.interpolate` on Variables."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.interpolate.grids import RegularGridInterpolator
from chainrule.scipy.interpolate.lines import interp1d
from chainrule.scipy.interpolate.splines import CubicHermiteSpline, CubicSpline, PchipInterpolator

OBJECTS = {
    f.__name__: f
    for f in (
        CubicHermiteSpline, CubicSpline, PchipInterpolator, RegularGridInterpolator, interp1d,
    )
}  # fmt: skip
__getattr__, __dir__ = namespace("scipy.interpolate", {}, OBJECTS)
