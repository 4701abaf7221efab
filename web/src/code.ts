// The user's source beside the graph: a line points at its nodes, a node at its line.

import { h } from "./dom";
import type { State } from "./state";

const WORDS = /(#.*$)|("[^"]*"|'[^']*')|\b(def|return|for|in|if|else|elif|while|import|from|as|lambda|and|or|not|None|True|False|with|class)\b|\b(\d+\.?\d*(?:e-?\d+)?)\b/g;

export class Code {
  private rows: HTMLElement[] = []; // by the index of the line in the model

  constructor(private readonly panel: HTMLElement, private readonly state: State, private readonly choose: (lines: number[], hover: boolean) => void) {
    const { lines } = state.scene.views.node.model;
    panel.replaceChildren(h("h2", "", "code"));
    if (state.scene.formula) this.formula();
    const shown = new Set<number>();
    for (const listing of state.scene.source) {
      panel.append(h("h3", "", listing.file));
      listing.text.forEach((text, k) => {
        const number = listing.first + k;
        const at = this.lines(listing.file, number);
        at.forEach((line) => shown.add(line));
        this.row(String(number), text, at);
      });
    }
    let file = "";
    lines.number.forEach((number, at) => {
      if (shown.has(at) || state.scene.formula) return;
      if (lines.file[at] !== file) panel.append(h("h3", "", (file = lines.file[at])));
      const same = this.lines(file, number);
      same.forEach((line) => shown.add(line));
      this.row(String(number), lines.text[at], same);
    });
    if (!panel.querySelector(".line")) panel.append(h("p", "dim", "No line of code is known."));
  }

  /** The lines of the model that are this one; a line can be part of several functions. */
  private lines(file: string, number: number): number[] {
    const { lines } = this.state.scene.views.node.model;
    return lines.number.flatMap((n, at) => (n === number && lines.file[at] === file ? [at] : []));
  }

  /** A formula, and each part of it under the place where it stands. */
  private formula(): void {
    const { lines } = this.state.scene.views.node.model;
    this.panel.append(h("pre", "formula", this.state.scene.formula));
    const order = lines.number.map((_, at) => at).sort((a, b) => lines.text[a].length - lines.text[b].length);
    for (const at of order) this.row("", `${" ".repeat(lines.number[at] - 1)}${lines.text[at]}`, [at]);
  }

  private row(number: string, text: string, at: number[]): void {
    const row = h("div", at.length ? "line linked" : "line", h("span", "number", number), h("code", "", ...coloured(text)));
    if (at.length) {
      at.forEach((line) => { this.rows[line] = row; });
      row.tabIndex = 0;
      row.setAttribute("role", "button");
      row.addEventListener("mouseenter", () => this.choose(at, true));
      row.addEventListener("mouseleave", () => this.choose([], true));
      row.addEventListener("click", () => this.choose(at, false));
      row.addEventListener("keydown", (event) => { if (event.key === "Enter") this.choose(at, false); });
    }
    this.panel.append(row);
  }

  /** Mark the line of the step and that of the selected node. */
  mark(): void {
    const { known, selected, hovered, scene } = this.state;
    const { line } = scene.views.node.model.nodes;
    const now = known && known.node >= 0 && known.phase !== "sort" ? line[known.node] : -1;
    const chosen = [selected, hovered].filter((v) => v >= 0).map((v) => this.rows[line[v]]);
    for (const row of new Set(this.rows)) {
      const here = now >= 0 && row === this.rows[now];
      row?.classList.toggle("now", here);
      row?.classList.toggle("back", here && known?.phase === "backward");
      row?.classList.toggle("chosen", chosen.includes(row));
    }
    if (now >= 0 && this.rows[now]) this.reveal(this.rows[now]);
  }

  /** Scroll the panel to a line; the page stays where it is. */
  private reveal(row: HTMLElement): void {
    const line = row.getBoundingClientRect();
    const { top } = this.panel.getBoundingClientRect();
    const room = line.height; // above it and below
    this.panel.scrollTop += Math.max(line.bottom + room - top - this.panel.clientHeight, 0) - Math.max(top + room - line.top, 0);
  }
}

function coloured(text: string): (Node | string)[] {
  const made: (Node | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(WORDS)) {
    made.push(text.slice(end, match.index), h("span", match[1] ? "comment" : match[2] || match[4] ? "literal" : "word", match[0]));
    end = match.index + match[0].length;
  }
  return [...made, text.slice(end)];
}
