// What the picture shows at the moment the reader is at.

import type { Frame } from "./draw";
import { FLAG } from "./model";
import { brief } from "./numbers";
import type { State } from "./state";
import { sentence } from "./timeline";

export function frameOf(state: State, part: number): Frame {
  const { view, known } = state;
  const { nodes } = view.model;
  const groups = view.group ? members(view.group, nodes.label.length) : null;
  const every = (v: number, test: (node: number) => boolean) => (groups ? groups[v].every(test) : test(v));
  const backward = known ? known.phase === "backward" : view.model.stage === "backward";
  const frame: Frame = {
    value: (v) => !known || every(v, (node) => known.valued[node]),
    adjoint: (v) => adjointText(state, v, every),
    whole: (v) => !known || every(v, (node) => known.settled[node] && !known.wrong[node]),
    wrong: (v) => Boolean(known && !groups && known.wrong[v]),
    now: new Set(known && known.node >= 0 ? [view.group ? view.group[known.node] : known.node] : []),
    live: groups ? new Map() : live(state),
    backward,
    part,
    badges: groups ? new Map() : badges(state),
    selected: shownAs(state, state.selected),
    hovered: shownAs(state, state.hovered),
    bold: groups ? new Map() : bold(state),
    found: found(state),
  };
  return frame;
}

/** The node of the view that stands for a node. */
export function shownAs(state: State, v: number): number {
  return v >= 0 && state.view.group ? state.view.group[v] : v;
}

function members(group: number[], count: number): number[][] {
  const found: number[][] = Array.from({ length: count }, () => []);
  group.forEach((g, v) => found[g].push(v));
  return found;
}

function adjointText(state: State, v: number, every: (v: number, test: (node: number) => boolean) => boolean): string {
  const { view, known } = state;
  const { nodes, stage } = view.model;
  if (stage !== "backward" || (known && known.phase !== "backward")) return "";
  const settled = !known || every(v, (node) => known.settled[node]);
  if (view.group) return settled ? nodes.adjoint[v] : "";
  if (!settled) return known.sums[v] || (nodes.shape[v] === "" && nodes.dtype[v].startsWith("float") ? "0" : "");
  const text = (known && known.sums[v]) || nodes.adjoint[v];
  if (!nodes.adjoint[v]) return nodes.status[v] === "integer" ? "no gradient" : nodes.status[v];
  const notes = [nodes.status[v] === "structural zero" && "structural", nodes.flags[v] & FLAG.kink && "kink"];
  return [text, ...notes.filter(Boolean)].join(" ");
}

/** The edges of this step: forward into the node, backward to the parents it adds to. */
function live(state: State): Map<number, string> {
  const { known, nodes: view } = state;
  const found = new Map<number, string>();
  if (!known || known.node < 0) return found;
  if (known.phase === "forward") for (const e of view.into[known.node]) found.set(e, "");
  if (known.phase !== "backward" || !known.adds) return found;
  const { parent, contribution } = known.adds;
  for (const e of view.into[known.node]) {
    const at = parent.indexOf(view.model.edges.parent[e]);
    if (at < 0) continue;
    const before = known.before[parent[at]];
    const local = view.model.edges.local[e];
    const scalar = local && !local.startsWith("[") && view.model.nodes.shape[parent[at]] === "";
    // Of arrays norms are shown, which do not add up: "norm 1 + norm 0.2" says that there are two parts.
    const product = scalar ? `${known.before[known.node]} × ${local}` : brief(contribution[at]);
    const name = sentence(known.lines[at + 1]).said[0][0].split(" += ")[0];
    found.set(e, scalar ? `${name} = ${before ? `${before} + ` : ""}${product}` : before ? `${name} = ${brief(before)} + ${product}` : "");
  }
  return found;
}

function badges(state: State): Frame["badges"] {
  const { known } = state;
  const found: Frame["badges"] = new Map();
  if (known?.phase !== "sort") return found;
  known.waiting.forEach((v, k) => found.set(v, { text: String(k + 1), strong: true }));
  known.placed.forEach((v, k) => found.set(v, { text: `${k + 1}.`, strong: false }));
  return found;
}

/** The edges of the selected leaf's heaviest paths, or of the one that is pointed at. */
function bold(state: State): Map<number, number> {
  const found = new Map<number, number>();
  const { selected, nodes: view } = state;
  const listed = selected >= 0 && !view.model.nodes.op[selected] ? state.paths(selected) : undefined;
  const sizes = listed?.paths.map((path) => Math.abs(Number(path.share)) || 0) ?? [];
  const all = sizes.reduce((sum, size) => sum + size, 0) || 1; // more than 1 where paths cancel
  listed?.paths.forEach((path, k) => {
    if (state.path >= 0 && state.path !== k) return;
    path.nodes.slice(1).forEach((child, i) => {
      const e = view.into[child].find((edge) => view.model.edges.parent[edge] === path.nodes[i]);
      if (e !== undefined) found.set(e, (found.get(e) ?? 0) + sizes[k] / all);
    });
  });
  return found;
}

/** The nodes that are searched for, or that the line pointed at has made. */
function found(state: State): Set<number> | null {
  const { nodes } = state.view.model;
  const word = state.search.trim().toLowerCase();
  if (!word && !state.lines.length) return null;
  const hits = new Set<number>();
  nodes.label.forEach((label, v) => {
    const text = `${label} ${nodes.op[v]} ${nodes.call[v]}`.toLowerCase();
    if (word ? text.includes(word) : state.lines.includes(nodes.line[v])) hits.add(v);
  });
  return hits;
}
