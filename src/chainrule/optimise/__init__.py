"""Graph to equivalent graph: named rewrites, run on what was recorded before it is lowered."""
