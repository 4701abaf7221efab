// All nodes as a table with headers: to be read without seeing the picture, and to be copied.

import { button, byId, h } from "./dom";
import { frameOf } from "./frame";
import type { Page } from "./main";
import { pretty } from "./numbers";
import type { State } from "./state";

const ROWS = 500; // at the most; a search finds the others
const HEADS = ["", "name", "op", "shape", "value", "adjoint", "sum of", "line"];

/** The row of a node, as it is at this moment. */
export function rowOf(state: State, v: number): string[] {
  const { model, from } = state.nodes;
  const { nodes, edges, lines } = model;
  const { known } = state;
  const valued = !known || known.valued[v];
  const back = model.stage === "backward" && (!known || known.phase === "backward");
  const settled = !known || known.settled[v];
  const adjoint = settled ? (known && known.sums[v]) || nodes.adjoint[v] || nodes.status[v] : known.sums[v];
  const added = from[v].filter((e) => edges.contribution[e] && (!known || known.settled[edges.child[e]]));
  const line = nodes.line[v];
  return [
    String(v + 1), nodes.label[v], nodes.call[v] || "leaf", nodes.shape[v], valued ? nodes.value[v] : "", back ? adjoint : "",
    back ? added.map((e) => `${nodes.label[edges.child[e]]}: ${edges.contribution[e]}`).join(" + ") : "",
    line >= 0 ? `${lines.file[line]}:${lines.number[line]}` : "",
  ];
}

/** Rows as text that a spreadsheet takes in. */
export function asText(rows: string[][]): string {
  return rows.map((row) => row.map((cell) => cell.replace(/\s+/g, " ")).join("\t")).join("\n");
}

export class NodeTable {
  private readonly panel = byId("nodes");

  constructor(private readonly page: Page) {
    byId("show-nodes").addEventListener("click", () => this.toggle());
  }

  toggle(): void {
    const hidden = this.panel.toggleAttribute("hidden");
    byId("show-nodes").setAttribute("aria-pressed", String(!hidden));
    this.show();
  }

  /** The nodes that are listed: those a search found, or all. */
  private listed(): number[] {
    const { state } = this.page;
    const every = state.nodes.model.nodes.label.map((_, v) => v);
    if (!state.search.trim() || state.view.group) return every;
    const found = frameOf(state, 1).found!;
    return every.filter((v) => found.has(v));
  }

  show(): void {
    if (this.panel.hidden) return;
    const { state } = this.page;
    const listed = this.listed();
    const top = this.panel.scrollTop;
    const rows = listed.slice(0, ROWS).map((v) => this.row(v));
    const note = listed.length > ROWS ? `the first ${ROWS} of ${listed.length.toLocaleString("en")} nodes; a search finds the others` : `${listed.length.toLocaleString("en")} nodes, parents before children`;
    const copy = button("copy", "", () => this.copy(listed));
    copy.title = "Copy the table, to be pasted into a spreadsheet";
    const head = h("thead", "", h("tr", "", ...HEADS.map((text, k) => {
      const cell = h("th", "", text || h("span", "unseen", "number"));
      cell.scope = "col";
      cell.className = k > 3 && k < 6 ? "right" : "";
      return cell;
    })));
    this.panel.replaceChildren(h("p", "dim", note, " ", copy), h("table", "", head, h("tbody", "", ...rows)));
    this.panel.scrollTop = top;
    if (state.selected >= 0) this.panel.querySelector("tr.chosen")?.scrollIntoView({ block: "nearest" });
  }

  private row(v: number): HTMLElement {
    const { state } = this.page;
    const [number, name, op, shape, value, adjoint, sum, line] = rowOf(state, v).map(pretty);
    const link = h("span", "link", name);
    link.tabIndex = 0;
    link.setAttribute("role", "button");
    link.setAttribute("aria-pressed", String(v === state.selected));
    link.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.page.select(v);
      (this.panel.querySelector("tr.chosen .link") as HTMLElement | null)?.focus();
    });
    const header = h("th", "", link);
    header.scope = "row";
    const row = h("tr", [v === state.selected && "chosen", state.known?.node === v && "now"].filter(Boolean).join(" "),
      h("td", "dim", number), header, h("td", "", op), h("td", "dim", shape), h("td", "value right", value), h("td", "adjoint right", adjoint), h("td", "", sum), h("td", "dim", line));
    row.addEventListener("click", () => this.page.select(v));
    row.addEventListener("mouseenter", () => this.page.actions.point(v));
    row.addEventListener("mouseleave", () => this.page.actions.point(-1));
    return row;
  }

  /** Onto the clipboard; where that is not allowed the rows are selected, to be copied by hand. */
  private copy(listed: number[]): void {
    const heads = ["number", ...HEADS.slice(1)];
    const text = asText([heads, ...listed.map((v) => rowOf(this.page.state, v))]);
    const select = () => getSelection()?.selectAllChildren(this.panel.querySelector("table")!);
    navigator.clipboard?.writeText(text).then(() => this.page.say(`${listed.length} rows copied`), select);
    if (!navigator.clipboard) select();
  }
}
