// The page's own evaluator: both passes over a program, with the statuses that Python gives.

import { kinksByLanes, mapped, pulledByLanes, RULES } from "./elementwise";
import { FOLDS } from "./folding";
import { PRODUCTS, SUMS } from "./multiplying";
import { added, fitted, isDead, number, type Nd } from "./nd";
import type { Instruction } from "./program";
import { MOVES, moved, movedBack } from "./selecting";

export type Adjoint = Nd | null;
export const LANES: typeof MOVES = { ...MOVES, ...SUMS };
export const WHOLE: typeof FOLDS = { ...FOLDS, ...PRODUCTS };

/** The values and adjoints of a program at one point. */
export class Point {
  readonly values: Nd[] = [];
  readonly adjoints: Adjoint[];
  private readonly handed: Map<number, Nd>[] = []; // per node what it adds to its parents
  private readonly active: boolean[] = []; // whether a derivative flows on to a leaf

  constructor(readonly code: Instruction[], leaves: Map<number, Nd>, readonly outputs: number[], seeds: Map<number, Nd>) {
    code.forEach((step, v) => {
      this.values.push(step.op ? this.computed(step) : leaves.get(v)!);
      const flows = step.op ? !isFlat(step.op) && step.args.some(({ node }) => node >= 0 && this.active[node]) : true;
      this.active.push(step.kind === "f" && flows);
    });
    this.adjoints = code.map((_, v) => seeds.get(v) ?? null);
    for (let v = code.length - 1; v >= 0; v--) {
      const g = this.adjoints[v];
      this.handed[v] = g ? this.pulled(v, g) : new Map();
      for (const [parent, part] of this.handed[v]) this.adjoints[parent] = added(this.adjoints[parent], part);
    }
  }

  /** What a node adds to each of its parents: with its own adjoint, or with another that it has by then. */
  given(v: number, g: Adjoint = this.adjoints[v]): Map<number, Nd> {
    const own = this.adjoints[v];
    const same = g === own || (g && own && !g.alive && !own.alive && g.data.every((value, k) => Object.is(value, own.data[k])));
    return same ? this.handed[v] : g ? this.pulled(v, g) : new Map();
  }

  private argsOf(step: Instruction): Nd[] {
    return step.args.map(({ node, constant }) => (node >= 0 ? this.values[node] : constant!));
  }

  private computed(step: Instruction): Nd {
    const { op, attrs } = step;
    const args = this.argsOf(step);
    if (op === "constant") return typeof attrs.value === "object" ? attrs.value : number(Number(attrs.value));
    if (op in RULES) return mapped(RULES[op], [...args, ...settings(step)]);
    return op in LANES ? moved(LANES[op](attrs, ...args), args) : WHOLE[op].value(attrs, ...args);
  }

  /** What a node with this adjoint adds to each of its parents, also to those that lead to no leaf. */
  pulled(v: number, g: Nd): Map<number, Nd> {
    const step = this.code[v];
    const found = new Map<number, Nd>();
    const take = (active: boolean[]) => this.contributions(v, g, active).forEach((part, k) => {
      const parent = step.args[k]?.node;
      if (part && active[k]) found.set(parent, added(found.get(parent) ?? null, fitted(part, this.values[parent].shape)));
    });
    const flows = step.args.map(({ node }) => node >= 0 && this.active[node]);
    if (!step.op || isFlat(step.op)) return found;
    if (flows.some(Boolean)) take(flows);
    step.args.forEach(({ node }, k) => {
      const cut = node >= 0 && !this.active[node] && this.code[node].op && this.code[node].kind === "f";
      if (cut) take(step.args.map((_, other) => other === k));
    });
    return found;
  }

  private contributions(v: number, g: Nd, active: boolean[]): Adjoint[] {
    const step = this.code[v];
    const args = this.argsOf(step);
    if (step.op in RULES) return pulledByLanes(RULES[step.op], g, this.values[v], [...args, ...settings(step)], active);
    if (step.op in LANES) return movedBack(LANES[step.op](step.attrs, ...args), g, args);
    return WHOLE[step.op].pull(g, this.values[v], step.attrs, ...args);
  }

  /** Whether a derivative flows from this child to this parent, and on to a leaf. */
  flows(parent: number, child: number): boolean {
    return this.active[parent] && !isFlat(this.code[child].op);
  }

  /** Whether some lane of the node is at a kink, and the adjoint reaches it. */
  atKink(v: number): boolean {
    const step = this.code[v];
    const g = this.adjoints[v];
    if (!step.op || g === null) return false;
    const args = this.argsOf(step);
    const rule = RULES[step.op];
    const lanes = rule ? kinksByLanes(rule, this.values[v], [...args, ...settings(step)]) : WHOLE[step.op]?.kinks?.(step.attrs, args[0]);
    const alive = rule || step.attrs.keepdims || step.attrs.window ? g.alive : undefined; // without the axes folded it does not match
    return lanes?.some((lane, i) => lane !== 0 && (!alive || alive[i] !== 0)) ?? false;
  }

  /** What each adjoint is, in the words of `Run.status`. */
  statuses(): string[] {
    const cut = new Set<number>();
    const kinky = new Set<number>();
    for (let v = this.code.length - 1; v >= 0; v--) {
      const g = this.adjoints[v];
      const parents = this.code[v].args.map(({ node }) => node).filter((node) => node >= 0);
      if (kinky.has(v) ? g !== null : this.atKink(v)) parents.forEach((parent) => kinky.add(parent));
      const ends = parents.filter((parent) => this.adjoints[parent] === null || this.adjoints[parent]!.alive);
      if (!isDead(g) || cut.has(v)) ends.forEach((parent) => cut.add(parent));
    }
    return this.code.map(({ kind }, v) => {
      const g = this.adjoints[v];
      if (kind !== "f") return "integer";
      if (g === null && !cut.has(v) && !this.outputs.includes(v)) return "no path";
      if (g !== null && kinky.has(v)) return "kink";
      return isDead(g) ? "structural zero" : "value";
    });
  }
}

/** Whether the derivative is zero wherever there is one. */
function isFlat(op: string): boolean {
  return op === "constant" || (op in RULES && !RULES[op].slopes);
}

/** The numbers among the attrs of an op on lanes, as further arguments. */
function settings({ attrs }: Instruction): Nd[] {
  return Object.values(attrs).filter((value) => typeof value === "number").map(number);
}
