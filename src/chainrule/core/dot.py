"""A graph in Graphviz's language, for those who have it."""

from __future__ import annotations

from chainrule.core.graph import Graph
from chainrule.core.text import leaf_name, node_text, spec_text


def to_dot(graph: Graph) -> str:
    """DOT text: leaves as boxes, ops as ellipses, outputs with a double border."""

    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    outputs = set(graph.outputs)
    rows = [f"digraph {quoted(graph.name)} {{", "  rankdir=LR;"]
    for i, node in enumerate(graph.nodes):
        label = leaf_name(graph, node) if node.is_leaf else node.op.name
        shape = "box" if node.is_leaf else "ellipse"
        border = ", peripheries=2" if node in outputs else ""
        where = f"\n{node.line}" if node.line and not node.is_leaf else ""
        tip = quoted(f"%{i} = {node_text(graph, node)}")
        text = quoted(f"{label}\n{spec_text(node)}{where}")
        rows.append(f"  n{i} [label={text}, shape={shape}{border}, tooltip={tip}];")
    rows += [f"  n{graph.index[p]} -> n{graph.index[c]};" for p, c in graph.edges]
    return "\n".join([*rows, "}"]) + "\n"
