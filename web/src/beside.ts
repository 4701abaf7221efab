// The orders side by side: one picture each, all at the same step, with what waits and what it has cost.

import { button, byId, h, pieces } from "./dom";
import type { Badge, Picture } from "./draw";
import { frameOf } from "./frame";
import type { Page } from "./main";
import type { Refused, Steps } from "./model";
import { pointer } from "./pointer";
import type { State } from "./state";
import type { Colours } from "./theme";
import { ORDERS, sentence } from "./timeline";

const LISTED = 6; // nodes named of those that wait
const NARROW = 700; // pixels, below which the pictures stand below each other
const WORDS = 340; // pixels that the words of a pane take on its left
const LINES = 74; // or on its top
const AROUND = 56; // pixels left free around a picture
const LEAST = 120; // pixels of height on a telephone
const WAITING: Record<string, string> = { sorted: "list", "data-driven": "queue", recursive: "stack" };

const ROUNDLY = new Intl.NumberFormat("en", { notation: "compact", compactDisplay: "long", maximumSignificantDigits: 2 });

/** What an order has done by now, and what it has before it. */
export interface Progress {
  done: number; // edges gone along backward, so far
  total: string; // and in all
  waiting: number[]; // the next first
  missing: Map<number, number>; // by node: children whose gradients have not come yet
  visits: Map<number, number>; // by node
  over: boolean;
}

export function progress(state: State): Progress {
  const { steps } = state.track!;
  const forward = steps.kind.indexOf(1);
  const at = Math.max(state.moment, forward); // backward steps begin here
  const handed = (k: number) => steps.adds[k]?.parent.length ?? 0;
  const past = Array.from({ length: at - forward }, (_, k) => forward + k);
  const visits = new Map<number, number>();
  past.forEach((k) => visits.set(steps.node[k], (visits.get(steps.node[k]) ?? 0) + 1));
  const refused = (state.scene.timeline as { orders: Record<string, Steps | Refused> }).orders[state.order] as Refused;
  const all = steps.node.reduce((sum, _, k) => sum + handed(k), 0);
  const missing = missingOf(state, visits);
  return {
    done: past.reduce((sum, k) => sum + handed(k), 0),
    total: refused.visits ?? String(all),
    waiting: state.order === "recursive" ? stackOf(steps, forward, at) : listOf(state, steps, at, missing),
    missing,
    visits,
    over: at === steps.kind.length && !refused.visits,
  };
}

function missingOf(state: State, visits: Map<number, number>): Map<number, number> {
  const { from, model } = state.nodes;
  return new Map(model.nodes.label.map((_, v) => [v, from[v].filter((e) => !visits.has(model.edges.child[e])).length]));
}

/** The nodes still to come; in a data-driven order those of them that wait for nobody. */
function listOf(state: State, steps: Steps, at: number, missing: Map<number, number>): number[] {
  const left = steps.node.slice(at);
  const end = left.findIndex((v) => state.order === "data-driven" && missing.get(v)! > 0);
  return end < 0 ? left : left.slice(0, end);
}

/** The calls of a recursion that have not been made yet, the next first. */
function stackOf(steps: Steps, forward: number, at: number): number[] {
  const calls: number[] = [];
  for (let k = forward; k < at; k++) {
    calls.pop();
    calls.push(...[...(steps.adds[k]?.parent ?? [])].reverse());
  }
  return at === forward ? steps.node.slice(forward, forward + 1) : calls.reverse();
}

/** 1073741823 as 1,073,741,823; from 10^18 on they were not counted. */
export function grouped(digits: string): string {
  return digits.length > 18 ? "more than 10^18" : digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

interface Pane { order: string; canvas: HTMLCanvasElement; drawing: HTMLElement; words: HTMLElement; state: State; now: Progress }

/** The pictures beside each other. */
export class Beside {
  private panes: Pane[] = [];
  private readonly box = byId("beside");

  constructor(private readonly page: Page) {}

  get shown(): boolean {
    return this.panes.length > 0;
  }

  /** Make the panes, or take them away, as the state says. */
  toggle(): void {
    const { state } = this.page;
    this.panes = state.comparing ? state.orders.map((order) => this.pane(order)) : [];
    this.box.replaceChildren(...this.panes.map(({ drawing, words }) => h("div", "pane", words, drawing)));
    this.box.hidden = !this.shown;
    byId("stage").classList.toggle("comparing", this.shown);
    this.page.canvas.hidden = byId("legend").hidden = byId("save").hidden = this.shown;
  }

  private pane(order: string): Pane {
    const canvas = h("canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    pointer(this.page, canvas);
    const state = this.page.state.inOrder(order);
    return { order, canvas, drawing: h("div", "drawing", canvas), words: h("div", "words"), state, now: progress(state) };
  }

  /** Panes below each other, or where the graph is larger then beside each other; the room of a picture. */
  resize(width: number, height: number): { width: number; height: number } {
    const { place } = this.page.state.view;
    const count = this.panes.length;
    const narrow = width < NARROW;
    const scale = (wide: number, high: number) => Math.min((wide - AROUND) / place.width, (high - AROUND) / place.height);
    const below = narrow || scale(width - WORDS, height / count) >= scale(width / count, height - LINES);
    this.box.className = narrow ? "" : below ? "below" : "columns";
    this.box.style.gridAutoRows = below && !narrow ? `${Math.floor((height - count + 1) / count)}px` : ""; // a part of one would blur
    for (const { drawing } of this.panes) drawing.style.height = narrow ? `${Math.max(((width - AROUND) / place.width) * place.height + AROUND, LEAST)}px` : "";
    const box = this.panes[0].drawing.getBoundingClientRect();
    for (const { canvas } of this.panes) {
      canvas.width = Math.round(box.width * devicePixelRatio);
      canvas.height = Math.round(box.height * devicePixelRatio);
    }
    return box;
  }

  /** The words of each pane at this step. */
  update(): void {
    for (const pane of this.panes) {
      pane.state = this.page.state.inOrder(pane.order);
      pane.now = progress(pane.state);
      pane.words.replaceChildren(...this.words(pane));
      pane.canvas.setAttribute("aria-label", `Graph in ${ORDERS[pane.order]}: ${pane.now.done} of ${pane.now.total} edges`);
    }
  }

  private words({ order, state, now }: Pane): HTMLElement[] {
    const { label } = state.nodes.model.nodes;
    const least = Math.min(...this.panes.map((pane) => Number(pane.now.total)));
    const times = Number(now.total) / least;
    const more = times > 1 && h("span", "wrong", `${ROUNDLY.format(times)} times as many`);
    const count = h("span", "dim", `${grouped(String(now.done))} of ${grouped(now.total)} edges${now.over ? " · done" : ""}`);
    const title = h("h2", order === "recursive" ? "wrong" : "", ORDERS[order]);
    const chips = now.waiting.slice(0, LISTED).map((v) => button(label[v], "chip", () => this.page.select(v)));
    const rest = now.waiting.length > LISTED && h("span", "dim", `+ ${(now.waiting.length - LISTED).toLocaleString("en")}`);
    const list = h("p", "chips", h("span", "dim", WAITING[order]), ...chips, rest, !now.waiting.length && h("span", "dim", "empty"));
    return [h("div", "heading", title, count, more), list, stepLine(state)];
  }

  draw(picture: Picture, part: number, ratio: number, palette: Colours): void {
    for (const { canvas, state, now } of this.panes) {
      const own = this.page.state.moment <= state.track!.length;
      const frame = { ...frameOf(state, own ? part : 1), badges: badges(state, now) };
      if (!own) Object.assign(frame, { live: new Map(), now: new Set() }); // it has come to its end
      picture.draw(canvas.getContext("2d")!, this.page.camera, ratio, palette, frame);
    }
  }
}

/** What the step of an order says, on one line; what is wrong in red. */
function stepLine(state: State): HTMLElement {
  const { known } = state;
  if (!known?.lines.length) return h("p", "said dim", "");
  const wrong = known.lines.slice(1).map((line) => sentence(line).said).find((said) => said[0]?.[0].startsWith("✗"));
  return h("p", "said", ...pieces(sentence(known.lines[0]).said), ...(wrong ? [" ", ...pieces(wrong)] : []));
}

/** In a recursion how often a node was visited; data-driven, how many children it waits for. */
function badges(state: State, { visits, missing, waiting }: Progress): Map<number, Badge> {
  const found = new Map<number, Badge>();
  if (state.known?.phase !== "backward") return found;
  if (state.order === "recursive") visits.forEach((count, v) => { if (count > 1) found.set(v, { text: `${count}×`, strong: true, tone: "wrong" }); });
  if (state.order === "data-driven") {
    missing.forEach((count, v) => { if (count && !visits.has(v)) found.set(v, { text: `waits for ${count}`, strong: false, tone: "adjoint" }); });
    waiting.forEach((v, k) => found.set(v, { text: String(k + 1), strong: true, tone: "adjoint" }));
  }
  if (state.order === "sorted") waiting.forEach((v, k) => found.set(v, { text: `${k + 1}.`, strong: false, tone: "adjoint" }));
  return found;
}

/** The step of each order in words. */
export function besideCard(state: State): HTMLElement {
  const cards = state.orders.map((order) => {
    const own = state.inOrder(order);
    const lines = (own.known?.lines ?? []).map((line) => h("p", sentence(line).said[0]?.[0].startsWith("✗") ? "wrong" : "", ...pieces(sentence(line).said)));
    return [h("h3", "", ORDERS[order]), ...(lines.length ? lines : [h("p", "dim", "not begun")])];
  });
  return h("div", "", h("h2", "", `step ${state.moment} · side by side`), ...cards.flat());
}
