"""All programs of the corpus, in the order of their files."""

from tests.run.programs import (
    arguments,
    control,
    convergence,
    conversions,
    dtypes,
    effects,
    exceptions,
    inside,
    kinds,
    layouts,
    library,
    masks,
    numbers,
    outside,
    scalars,
    sets,
    ties,
    writes,
)
from tests.run.programs.corpus import PROGRAMS

FILES = (
    arguments,
    control,
    conversions,
    convergence,
    dtypes,
    effects,
    exceptions,
    inside,
    kinds,
    layouts,
    library,
    masks,
    numbers,
    outside,
    scalars,
    sets,
    ties,
    writes,
)

__all__ = ["FILES", "PROGRAMS"]
