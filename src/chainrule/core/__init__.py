"""The vocabulary: spec, op record, node, graph, topological order, text form, nested containers."""
