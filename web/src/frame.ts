// What the picture shows at the moment the reader is at.

import type { Frame } from "./draw";
import { FLAG, type View } from "./model";
import { brief } from "./numbers";
import type { State } from "./state";
import { sentence, type Known } from "./timeline";

export function frameOf(state: State, part: number): Frame {
  const { view, known } = state;
  const backward = known ? known.phase === "backward" : view.model.stage === "backward";
  const done = known && view.folds ? progress(view, known) : null;
  const single = (v: number) => view.alone[v];
  const frame: Frame = {
    value: (v) => !known || (done ? done.valued[v] === 0 : known.valued[v]),
    adjoint: (v) => (single(v) < 0 ? groupAdjoint(state, v, done) : adjointText(state, single(v))),
    whole: (v) => !known || (done ? done.settled[v] === 0 : known.settled[v] && !known.wrong[v]),
    wrong: (v) => Boolean(known && single(v) >= 0 && known.wrong[single(v)]),
    now: new Set(known && known.node >= 0 ? [shownAs(state, known.node)] : []),
    live: live(state),
    backward,
    part,
    badges: badges(state),
    selected: state.chosen >= 0 ? (view.folds?.items.indexOf(~state.chosen) ?? -1) : shownAs(state, state.selected),
    hovered: shownAs(state, state.hovered),
    chosen: state.chosen,
    bold: bold(state),
    found: found(state),
    shown: 1,
    slide: null,
  };
  return frame;
}

/** The box of the view that stands for a node. */
export function shownAs(state: State, v: number): number {
  return v >= 0 && state.view.group ? state.view.group[v] : v;
}

interface Progress { view: View; valued: Int32Array; settled: Int32Array }
const counted = new WeakMap<Known, Progress>();

/** Per box how many of its nodes have no value yet, and how many have not handed on their adjoint. */
function progress(view: View, known: Known): Progress {
  const last = counted.get(known);
  if (last?.view === view) return last;
  const count = view.alone.length;
  const made = { view, valued: new Int32Array(count), settled: new Int32Array(count) };
  view.group!.forEach((box, v) => {
    if (!known.valued[v]) made.valued[box] += 1;
    if (!known.settled[v] || known.wrong[v]) made.settled[box] += 1;
  });
  counted.set(known, made);
  return made;
}

function groupAdjoint(state: State, v: number, done: Progress | null): string {
  const { nodes, stage } = state.view.model;
  if (stage !== "backward" || (state.known && state.known.phase !== "backward")) return "";
  return done?.settled[v] ? "" : nodes.adjoint[v];
}

function adjointText(state: State, v: number): string {
  const { known } = state;
  const { nodes, stage } = state.nodes.model;
  if (stage !== "backward" || (known && known.phase !== "backward")) return "";
  if (known && !known.settled[v]) return known.sums[v] || (nodes.shape[v] === "" && nodes.dtype[v].startsWith("float") ? "0" : "");
  const text = (known && known.sums[v]) || nodes.adjoint[v];
  if (!nodes.adjoint[v]) return nodes.status[v] === "integer" ? "no gradient" : nodes.status[v];
  const notes = [nodes.status[v] === "structural zero" && "structural", nodes.flags[v] & FLAG.kink && "kink"];
  return [text, ...notes.filter(Boolean)].join(" ");
}

/** An edge between nodes as the wire of the view that it is part of; -1 inside a closed group. */
function wireOf(state: State, e: number): number {
  return state.view.folds ? state.view.folds.edge(e) : e;
}

/** The edges of this step: forward into the node, backward to the parents it adds to. */
function live(state: State): Map<number, string> {
  const { known, nodes: view } = state;
  const found = new Map<number, string>();
  if (!known || known.node < 0 || known.phase === "sort") return found;
  const say = (e: number, text: string) => {
    const wire = wireOf(state, e);
    if (wire >= 0) found.set(wire, state.view.model.edges.count[wire] === 1 ? text : "");
  };
  if (known.phase === "forward") for (const e of view.into[known.node]) say(e, "");
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
    say(e, scalar ? `${name} = ${before ? `${before} + ` : ""}${product}` : before ? `${name} = ${brief(before)} + ${product}` : "");
  }
  return found;
}

const numbered = new WeakMap<Known, { view: View; badges: Frame["badges"] }>();

function badges(state: State): Frame["badges"] {
  const { known, view } = state;
  const found: Frame["badges"] = new Map();
  if (known?.phase !== "sort") return found;
  const before = numbered.get(known);
  if (before?.view === view) return before.badges;
  numbered.set(known, { view, badges: found });
  const put = (v: number, text: string, strong: boolean) => {
    const box = shownAs(state, v);
    if (view.alone[box] >= 0) found.set(box, { text, strong });
  };
  known.waiting.forEach((v, k) => put(v, String(k + 1), true));
  known.placed.forEach((v, k) => put(v, `${k + 1}.`, false));
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
      const wire = e === undefined ? -1 : wireOf(state, e);
      if (wire >= 0) found.set(wire, (found.get(wire) ?? 0) + sizes[k] / all);
    });
  });
  return found;
}

let last: { key: string; found: number[] } = { key: "", found: [] }; // a search is drawn in many frames

/** The nodes that are searched for, or that the line pointed at has made. */
export function hits(state: State): number[] | null {
  const { nodes } = state.nodes.model;
  const word = state.search.trim().toLowerCase();
  if (!word && !state.lines.length) return null;
  const key = `${word} ${state.lines.join()}`;
  if (last.key === key) return last.found;
  const isHit = (label: string, v: number) =>
    word ? `${label} ${nodes.op[v]} ${nodes.call[v]}`.toLowerCase().includes(word) : state.lines.includes(nodes.line[v]);
  last = { key, found: nodes.label.flatMap((label, v) => (isHit(label, v) ? [v] : [])) };
  return last.found;
}

/** The boxes of those nodes, and groups of that name. */
function found(state: State): Set<number> | null {
  const nodes = hits(state);
  if (!nodes) return null;
  const word = state.search.trim().toLowerCase();
  const boxes = new Set(nodes.map((v) => shownAs(state, v)));
  state.view.folds?.items.forEach((item, k) => { if (item < 0 && word && state.view.model.nodes.label[k].toLowerCase().includes(word)) boxes.add(k); });
  return boxes;
}
