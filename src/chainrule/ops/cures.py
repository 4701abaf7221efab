"""Cures of a NaN or an infinity that ops of several families share."""

from chainrule.core.cure import Cure

EXP_OVERFLOW = Cure(
    "an exponential that overflows",
    "the exponential of more than 709 is beyond the largest double",
    "stay with its logarithm as long as you can, or bound the argument: np.exp(np.minimum(x, 700))",
    lambda c: c.overflows,
)
PRODUCT_OVERFLOW = Cure(
    "a product that overflows",
    "the product is beyond the largest number",
    "add logarithms: np.sum(np.log(np.abs(x)))",
    lambda c: c.overflows and not c.grows,
)
DOMAIN_EDGE = Cure(
    "the edge of a domain",
    "the function is infinite at 1 and -1, and has no value beyond",
    "np.clip(x, -1 + 1e-12, 1 - 1e-12) first",
    lambda c: abs(c.x) >= 1,
)
PROBABILITY_EDGE = Cure(
    "a probability of 0 or 1",
    "the function is infinite at 0 and 1, and has no value beyond",
    "np.clip(p, 1e-12, 1 - 1e-12) first, or keep the logit and never the probability",
    lambda c: not 0 < c.x < 1,
)
