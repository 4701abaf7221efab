// A group in the panel: what flows into it and out of it, the leaves it has, and whether it is open.

import { button, h, type Child } from "./dom";
import { FLAG } from "./model";
import { brief, pretty } from "./numbers";
import type { State } from "./state";
import { chip, type Actions } from "./why";

const MOST = 12; // rows of a table
const WORDS: Record<string, string> = { call: "call", loop: "loop", turn: "one turn of a loop", line: "line of code", part: "part", leaves: "leaves" };

export function groupCard(state: State, group: number, actions: Actions): HTMLElement {
  const { tree } = state.scene;
  const { nodes, lines } = state.nodes.model;
  const { kind, name, line } = tree.groups;
  const members = tree.members(group);
  const flows = flowsOf(state, members);
  const open = tree.open.has(group);
  const toggle = button(open ? "close" : "open", "", () => actions.toggle(group));
  toggle.id = "toggle";
  toggle.title = `${open ? "Close" : "Open"} this group (e)`;
  const facts: Child[] = [
    h("h2", "", name[group]),
    h("p", "dim", `${WORDS[kind[group]]} · ${members.length.toLocaleString("en")} nodes`),
    line[group] >= 0 && h("p", "dim", `${lines.function[line[group]]} ${lines.file[line[group]]}:${lines.number[line[group]]}`.trim()),
    members.some((v) => nodes.flags[v] & (FLAG.value | FLAG.adjoint)) && h("p", "note wrong", "not finite inside"),
    h("p", "", toggle),
  ];
  const leaves = members.filter((v) => !nodes.op[v]);
  return h("section", "", ...facts, table(state, "in", flows.into, actions), table(state, "out", flows.out, actions), table(state, "leaves inside", leaves, actions));
}

/** The nodes outside whose values come in, and those inside whose values are used outside, or are results. */
function flowsOf(state: State, members: number[]): { into: number[]; out: number[] } {
  const { into, from, model } = state.nodes;
  const inside = new Set(members);
  const sources = members.flatMap((v) => into[v].map((e) => model.edges.parent[e])).filter((v) => !inside.has(v));
  const results = members.filter((v) => model.outputs.includes(v) || from[v].some((e) => !inside.has(model.edges.child[e])));
  return { into: [...new Set(sources)], out: results };
}

function table(state: State, title: string, listed: number[], actions: Actions): HTMLElement | null {
  if (!listed.length) return null;
  const { nodes, stage } = state.nodes.model;
  const rows = listed.slice(0, MOST).map((v) => h("tr", "", h("th", "", chip(state, v, actions)), h("td", "dim", nodes.shape[v] || "1"),
    stage !== "structure" && h("td", "value", pretty(brief(nodes.value[v]))),
    stage === "backward" && h("td", "adjoint", pretty(brief(nodes.adjoint[v]) || nodes.status[v]))));
  const head = h("tr", "", h("td"), h("th", "", "shape"), stage !== "structure" && h("th", "", "value"), stage === "backward" && h("th", "", "adjoint"));
  const more = listed.length - MOST;
  return h("div", "", h("h3", "", title), h("div", "scroll", h("table", "leaves flows", h("thead", "", head), h("tbody", "", ...rows))),
    more > 0 && h("p", "dim", `and ${more.toLocaleString("en")} more`));
}
