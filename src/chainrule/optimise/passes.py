"""The passes in order, as `cr.compile` runs them on what was recorded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from chainrule.core.graph import Graph
from chainrule.core.node import Node
from chainrule.core.verify import verify
from chainrule.optimise.algebra import ALGEBRA
from chainrule.optimise.choices import CHOICES
from chainrule.optimise.fold import FOLD
from chainrule.optimise.layout import LAYOUT
from chainrule.optimise.loops import without_unread
from chainrule.optimise.masked import with_outputs
from chainrule.optimise.pieces import PIECES
from chainrule.optimise.products import PRODUCTS
from chainrule.optimise.reassociate import REASSOCIATE
from chainrule.optimise.rewrite import Constants, Optimised, Rewrite, Sweep
from chainrule.optimise.share import key_of

EXACT: tuple[Rewrite, ...] = (FOLD, *ALGEBRA, *CHOICES, *LAYOUT, *PRODUCTS, *PIECES)
EVERY: tuple[Rewrite, ...] = (*EXACT, *REASSOCIATE)


def optimised(
    graph: Graph, extra: Sequence[Node], constants: Constants, reassociate: bool = False
) -> Optimised:
    """An equivalent graph, whose last outputs are the `extra` nodes; `constants` are leaves.

    All passes go over the graph in one walk: what one makes, the next sees.  With CHAINRULE_VERIFY
    in the environment the result is verified, which may take as long as recording did.
    """
    rewrites = EVERY if reassociate else EXACT
    swept = Sweep(with_outputs(graph, extra), constants, rewrites, key_of).run()
    swept = replace(swept, graph=without_unread(swept.graph))
    if os.environ.get("CHAINRULE_VERIFY"):
        verify(swept.graph)
    return swept
