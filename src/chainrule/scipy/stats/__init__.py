"""`scipy.stats` on Variables: distributions by their laws, and statistics of data."""

from chainrule.scipy.dispatch import namespace
from chainrule.scipy.stats import continuous, discrete, multivariate, summary
from chainrule.scipy.stats.distribution import CONTINUOUS, distribution, guarded_distribution

DISTRIBUTIONS = {
    **{name: distribution(name, law, CONTINUOUS) for name, law in continuous.LAWS.items()},
    **{name: distribution(name, law, discrete.DISCRETE) for name, law in discrete.LAWS.items()},
    **multivariate.DISTRIBUTIONS,
}
__getattr__, __dir__ = namespace("scipy.stats", summary.OURS, DISTRIBUTIONS, guarded_distribution)
