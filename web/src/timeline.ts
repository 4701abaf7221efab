// What is known at a moment: the sort, then every value, then every adjoint, one event after another.

import type { Adds, Piece, Scene, Sort, Steps } from "./model";

export type Phase = "sort" | "forward" | "backward";
export const PHASES: Phase[] = ["sort", "forward", "backward"];
export const ORDERS: Record<string, string> = {
  sorted: "sorted order",
  "data-driven": "data-driven order",
  recursive: "recursive (wrong)",
};
const METHOD: Record<string, string> = { sorted: "dfs", "data-driven": "kahn" }; // a recursion does not sort

/** All that has happened up to a moment. */
export interface Known {
  phase: Phase | "start";
  node: number; // whose event it is; -1 at the start
  kind: string; // of the event of a sort
  valued: boolean[];
  sums: string[]; // the adjoint so far
  settled: boolean[]; // whether it has been handed on
  wrong: boolean[]; // whether it holds what a wrong step has added
  adds: Adds | null;
  before: string[]; // the sums before what this event adds
  lines: Piece[][];
  waiting: number[]; // the stack or the queue of the sort
  placed: number[]; // the order found so far
}

export class Track {
  readonly sort: Sort;
  private last: { moment: number; known: Known } | null = null;

  constructor(scene: Scene, readonly order: string, private readonly count: number, readonly steps: Steps, sorted = true) {
    const timeline = scene.timeline as { sort: Record<string, Sort> };
    this.sort = (sorted && timeline.sort[METHOD[order]]) || { kind: [], node: [] };
  }

  get length(): number {
    return this.sort.kind.length + this.steps.kind.length;
  }

  /** Where a phase begins: the moment before its first event. */
  start(phase: Phase): number {
    const sorted = this.sort.kind.length;
    if (phase === "sort") return 0;
    return phase === "forward" ? sorted : sorted + this.steps.kind.indexOf(1);
  }

  /** The moment of a step as `graph.steps` counts them, from 1. */
  ofStep(step: number): number {
    return Math.min(Math.max(this.sort.kind.length + step, 0), this.length);
  }

  stepAt(moment: number): number {
    return moment - this.sort.kind.length;
  }

  /** What is known at a moment; the one before is used up, so that a step on in a large graph is short. */
  at(moment: number): Known {
    const begun = this.last && this.last.moment < moment ? this.last : { moment: 0, known: this.beginning() };
    const known: Known = { ...begun.known, adds: null, before: [], lines: [] };
    const sorted = this.sort.kind.length;
    for (let k = begun.moment; k < moment; k++) {
      if (k < sorted) this.sorting(known, k);
      else this.stepping(known, k - sorted, k === moment - 1);
    }
    this.last = { moment, known };
    return known;
  }

  private beginning(): Known {
    const blank = <T>(value: T): T[] => new Array<T>(this.count).fill(value);
    return {
      phase: "start", node: -1, kind: "", valued: blank(false), sums: blank(""), settled: blank(false),
      wrong: blank(false), adds: null, before: [], lines: [], waiting: [], placed: [],
    };
  }

  private sorting(known: Known, k: number): void {
    const kind = this.sort.kind[k];
    const node = this.sort.node[k];
    Object.assign(known, { phase: "sort", kind, node });
    if (kind === "push" || kind === "ready") known.waiting.push(node);
    if (kind !== "placed") return;
    if (known.waiting.at(-1) === node) known.waiting.pop();
    else known.waiting.splice(known.waiting.indexOf(node), 1);
    known.placed.push(node);
  }

  private stepping(known: Known, k: number, last: boolean): void {
    const { kind, node, adds, wrong, lines } = this.steps;
    const v = node[k];
    known.node = v;
    known.phase = kind[k] ? "backward" : "forward";
    known.adds = last ? adds[k] : null;
    if (last) known.lines = lines[k];
    if (!kind[k]) {
      known.valued[v] = true;
      return;
    }
    if (!known.sums[v]) known.sums[v] = firstNumber(lines[k]);
    if (last) known.before = [...known.sums];
    known.settled[v] = true;
    known.wrong[v] ||= wrong[k] === "inherited";
    adds[k]?.parent.forEach((parent, i) => {
      known.sums[parent] = adds[k]!.after[i];
      known.wrong[parent] ||= wrong[k] !== "";
    });
  }
}

/** The adjoint that the head of a backward step names: that of the output is its seed. */
function firstNumber(lines: Piece[][]): string {
  return lines[0].find(([, style]) => style === "adjoint" || style === "wrong")?.[0] ?? "";
}

/** The words of a step without the spaces that align them in a terminal: what happens, and why now. */
export function sentence(line: Piece[]): { said: Piece[]; reason: string } {
  const pieces = line.filter(([text]) => text.trim() !== "");
  if (pieces.length && /^\s*\d+\s*$/.test(pieces[0][0]) && pieces[0][1] === "dim") pieces.shift();
  const last = pieces[pieces.length - 1];
  const reason = last && last[1] === "dim" && last[0] !== " → " ? pieces.pop()![0] : "";
  return { said: pieces, reason };
}

/** The final adjoints of these leaves in an order. */
export function finals(steps: Steps, leaves: number[]): Map<number, { adjoint: string; wrong: boolean }> {
  const found = new Map<number, { adjoint: string; wrong: boolean }>();
  const wanted = new Set(leaves);
  steps.node.forEach((node, k) => {
    if (steps.kind[k] && wanted.has(node)) found.set(node, { adjoint: firstNumber(steps.lines[k]), wrong: steps.wrong[k] !== "" });
  });
  return found;
}
