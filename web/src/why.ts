// The panel on the right: the step in words with its numbers, and why a node has the adjoint it has.

import { arrayCard } from "./arrays";
import { besideCard } from "./beside";
import { button, h, pieces, type Child } from "./dom";
import { whatIf } from "./edit";
import { groupCard } from "./groupcard";
import { loopCard } from "./inside";
import { FLAG } from "./model";
import { brief, general, pretty } from "./numbers";
import type { State } from "./state";
import { finals, ORDERS, sentence } from "./timeline";

export interface Actions {
  select: (node: number) => void;
  point: (node: number) => void;
  path: (index: number) => void;
  enter: (entry: number) => void;
  assume: (leaf: number, entry: number, value: number) => void;
  forget: () => void;
  toggle: (group: number) => void;
  open: (loop: number) => void;
}

const LISTED = 80; // nodes of a stack or an order
const GATES: Record<string, string> = {
  distributes: "distributes: hands its adjoint on to every input",
  swaps: "swaps: times the other factor",
  routes: "routes: only to the input it chose",
};
export const SORTING: Record<string, (label: string) => string> = {
  push: (v) => `${v} goes on the stack: what it needs comes first`,
  visited: (v) => `${v} has been here: it is not visited again`,
  backtrack: (v) => `back at ${v}: all it needs is placed`,
  placed: (v) => `${v} is placed`,
  ready: (v) => `${v} waits for nothing: it joins the queue`,
  released: (v) => `one thing less that ${v} waits for`,
};

// -- the step ---------------------------------------------------------------------------------

export function nowCard(state: State, actions: Actions): HTMLElement {
  const { known, track } = state;
  if (!known || !track) return h("section", "", h("p", "dim", untimed(state)));
  if (known.phase === "start") return h("section", "", h("h2", "", "beginning"), h("p", "dim", "Press play, or → for one step."));
  if (state.introducing) return introduction(known.phase === "backward");
  if (state.comparing) return h("section", "", besideCard(state), comparison(state));
  if (known.phase === "sort") return sortCard(state, actions);
  const { said, reason } = sentence(known.lines[0]);
  const additions = known.lines.slice(1).map((line) => {
    const parts = sentence(line).said;
    return h("p", parts[0]?.[0].startsWith("✗") ? "wrong" : "addition", ...pieces(parts));
  });
  const asked = state.order !== "sorted" && comparison(state);
  const title = `step ${track.stepAt(state.moment)} · ${known.phase}`;
  return h("section", known.phase, h("h2", "", title), h("p", "sentence", ...pieces(said)), h("p", "dim", reason), ...additions, asked);
}

function introduction(back: boolean): HTMLElement {
  const text = back ? "Gradients flow back: each node hands its adjoint on, times the local derivative." : "Values flow forward, from the leaves to the result.";
  return h("section", "", h("h2", "", back ? "backward" : "forward"), h("p", `sentence ${back ? "adjoint" : "value"}`, text), h("p", "dim", "→ goes one step at a time, ▶ plays it slowly."));
}

function untimed(state: State): string {
  const { timeline } = state.scene;
  const { stage } = state.scene.views.node.model;
  if (timeline && "refused" in timeline) return `No steps: ${timeline.refused}.`;
  if (state.refused(state.order)) return state.refused(state.order);
  return stage === "structure" ? "The graph alone: a run of it has values." : "Values alone: run.backward() gives the adjoints.";
}

function sortCard(state: State, actions: Actions): HTMLElement {
  const known = state.known!;
  const { label } = state.nodes.model.nodes;
  const chips = (nodes: number[], kind: string) =>
    h("p", "chips", nodes.length > LISTED && h("span", "dim", `${(nodes.length - LISTED).toLocaleString("en")} more, then`),
      ...nodes.slice(-LISTED).map((v) => chip(state, v, actions, kind)), nodes.length === 0 && h("span", "dim", "empty"));
  const kahn = state.order === "data-driven";
  return h("section", "sort", h("h2", "", `sort · ${kahn ? "by counting" : "depth first"}`),
    h("p", "sentence", SORTING[known.kind](label[known.node])),
    h("h3", "", kahn ? "queue" : "stack"), chips(known.waiting, "value"), h("h3", "", "order"), chips(known.placed, ""));
}

export function chip(state: State, v: number, actions: Actions, kind = ""): HTMLElement {
  const made = button(state.nodes.model.nodes.label[v], `chip ${kind}`, () => actions.select(v));
  made.addEventListener("mouseenter", () => actions.point(v));
  made.addEventListener("mouseleave", () => actions.point(-1));
  return made;
}

/** What the three orders come to, beside each other, at the end of one. */
function comparison(state: State): HTMLElement | null {
  if (state.moment !== state.track!.length) return null;
  const orders = Object.keys(ORDERS).filter((order) => state.steps(order));
  const leaves = state.nodes.model.leaves.slice(0, 12);
  const ends = orders.map((order) => finals(state.steps(order)!, leaves));
  if (!leaves.some((v) => ends[0].has(v))) return null;
  const { label } = state.nodes.model.nodes;
  const rows = leaves.map((v) => h("tr", "", h("th", "", label[v]), ...ends.map((end) => {
    const last = end.get(v);
    return h("td", last?.wrong ? "wrong" : "adjoint", last ? `${last.wrong ? "✗ " : ""}${pretty(brief(last.adjoint))}` : "");
  })));
  const head = h("tr", "", h("td"), ...orders.map((order) => h("th", "", order)));
  return h("div", "scroll", h("table", "orders", h("caption", "", "the gradient, by order of steps"), h("thead", "", head), h("tbody", "", ...rows)));
}

// -- the node ---------------------------------------------------------------------------------

export function nodeCard(state: State, actions: Actions): HTMLElement {
  if (state.chosen >= 0) return groupCard(state, state.chosen, actions);
  const v = state.selected;
  if (v < 0) return leavesCard(state, actions);
  const { nodes, arrays, lines } = state.nodes.model;
  const facts: Child[] = [
    h("h2", "", nodes.call[v] ? `${nodes.label[v]} = ${nodes.call[v]}` : nodes.label[v]),
    h("p", "dim", [nodes.op[v] ? "" : "leaf", nodes.dtype[v], nodes.shape[v]].filter(Boolean).join(" · ")),
  ];
  if (nodes.value[v]) facts.push(numberRow("value", nodes.value[v]));
  const edited = !nodes.op[v] && !state.whyNot && arrays.value[v]?.data; // the table of what if
  if (arrays.value[v] && !edited) facts.push(arrayCard("values", "value", arrays.value[v]));
  if (state.nodes.model.stage === "backward") facts.push(numberRow("adjoint", nodes.adjoint[v] || "none"));
  if (arrays.adjoint[v]) facts.push(arrayCard("adjoints", "adjoint", arrays.adjoint[v]));
  if (nodes.status[v] && nodes.status[v] !== "value") facts.push(h("p", "note", nodes.status[v]));
  if (nodes.flags[v] & FLAG.kink) facts.push(h("p", "note wrong", "at a kink: of all slopes the smallest is taken"));
  if (nodes.flags[v] & (FLAG.value | FLAG.adjoint)) facts.push(h("p", "note wrong", "not finite"));
  if (nodes.gate[v]) facts.push(h("p", "dim", `gate ${GATES[nodes.gate[v]]}`));
  if (nodes.line[v] >= 0) facts.push(h("p", "dim", `${lines.file[nodes.line[v]]}:${lines.number[nodes.line[v]]}`));
  const loop = state.scene.loops[v];
  if (loop) facts.push(loopCard(loop, () => actions.open(v)));
  return h("section", "", ...facts, whatIf(state, v, actions), sumOf(state, v, actions), pathList(state, v, actions));
}

function numberRow(which: string, text: string): HTMLElement {
  return h("p", "number-row", h("span", "dim", which), h("strong", which, pretty(text)));
}

/** Before anything is selected: the gradient, leaf by leaf. */
function leavesCard(state: State, actions: Actions): HTMLElement {
  const { nodes, leaves, outputs, stage } = state.nodes.model;
  const { known } = state; // nothing is told before it is computed
  const rows = [...outputs, ...leaves].slice(0, 40).map((v) => {
    const value = !known || known.valued[v] ? pretty(brief(nodes.value[v]) || nodes.shape[v]) : "";
    const adjoint = !known || known.settled[v] || state.moment === state.track?.length ? pretty(brief(nodes.adjoint[v]) || nodes.status[v]) : "";
    const row = h("tr", "pick", h("th", "", chip(state, v, actions)), h("td", "value", value), stage === "backward" && h("td", "adjoint", adjoint));
    row.addEventListener("click", () => actions.select(v));
    row.addEventListener("mouseenter", () => actions.point(v));
    row.addEventListener("mouseleave", () => actions.point(-1));
    return row;
  });
  const head = h("tr", "", h("td"), h("th", "", stage === "structure" ? "shape" : "value"), stage === "backward" && h("th", "", "adjoint"));
  const hint = stage === "backward" ? "Click a leaf: its heaviest paths, and what if it were another number." : "";
  return h("section", "", h("h2", "", "result and leaves"), h("div", "scroll", h("table", "leaves", h("thead", "", head), h("tbody", "", ...rows))), h("p", "dim", hint));
}

/** The adjoint as the sum of what each child adds. */
function sumOf(state: State, v: number, actions: Actions): HTMLElement | null {
  const { model, from } = state.nodes;
  const { nodes, edges } = model;
  const adding = from[v].filter((e) => edges.contribution[e] !== "");
  if (!adding.length) return null;
  const rows = adding.map((e) => {
    const child = edges.child[e];
    const scalar = edges.local[e] && !edges.local[e].startsWith("[");
    const product = scalar && nodes.shape[child] === "" ? `${pretty(nodes.adjoint[child])} × ${pretty(edges.local[e])}` : "";
    return h("tr", "", h("td", "", chip(state, child, actions)), h("td", "dim", product), h("td", "adjoint", pretty(edges.contribution[e])));
  });
  const several = adding.length > 1;
  const foot = several && h("tfoot", "", h("tr", "", h("td", "", "sum"), h("td"), h("td", "adjoint", pretty(nodes.adjoint[v]))));
  return h("div", "", h("h3", "", several ? "used more than once: the parts add up" : "comes from"),
    h("div", "scroll", h("table", "sum", h("thead", "", h("tr", "", h("th", "", "child"), h("th", "", "upstream × local"), h("th", "", "adds"))), h("tbody", "", ...rows), foot)));
}

function pathList(state: State, v: number, actions: Actions): HTMLElement | null {
  const found = state.nodes.model.nodes.op[v] ? undefined : state.paths(v);
  if (!found?.paths.length) return null;
  const { label } = state.nodes.model.nodes;
  const rows = found.paths.map((path, k) => {
    const share = Number(path.share);
    const bar = h("i", share < 0 ? "minus" : "");
    bar.style.width = `${Math.min(Math.abs(share) * 100, 100) || 0}%`;
    const chain = path.nodes.map((node, i) => [h("b", "", label[node]), i < path.factors.length && h("span", "dim", ` ${pretty(path.factors[i])} → `)]).flat();
    const row = button("", "path", () => actions.path(state.path === k ? -1 : k), h("span", "chain", ...chain), h("span", "product", `${pretty(path.product)}   ${Number.isFinite(share) ? `${pretty(general(100 * share, 3))} %` : ""}`), h("span", "bar", bar));
    row.setAttribute("aria-pressed", String(state.path === k));
    return row;
  });
  const count = found.count === "1" ? "one path" : `${found.count} paths, the heaviest first`;
  return h("div", "paths", h("h3", "", count), ...rows, !/(^|norm )0$/.test(found.rest) && h("p", "dim", `the others add ${pretty(found.rest)}`));
}
