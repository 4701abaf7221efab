// The steps of a large graph, in the words of `graph.steps`, from what the model says: see src/chainrule/view/compact.py.

import { spread, type Adds, type Model, type Piece, type Steps, type Timeline, type View } from "./model";
import { depthFirst } from "./sorting";

export interface Compact { template: unknown; captured: number[]; beside: Record<string, string>; edge: number[]; after: string[] }

const HOLE = "\x1f";
const LISTED = 4; // nodes named in a reason
const MARKED = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;
const REFUSED = "of so many nodes only the sorted order is shown";

/** A timeline whose sentences are made when they are read. */
export function unfolded(view: View, compact: Compact): Timeline {
  const words = new Words(view, compact);
  view.model.nodes.call = view.model.nodes.label.map((_, v) => words.call(v, view.model.nodes.label));
  const refused = { refused: REFUSED };
  const { outputs, nodes } = view.model;
  const parents = view.into.map((edges) => edges.map((e) => view.model.edges.parent[e]));
  const sort = depthFirst(parents, outputs);
  const count = nodes.label.length;
  const node = [...nodes.label.keys(), ...[...nodes.label.keys()].reverse()];
  const steps: Steps = {
    kind: node.map((_, k) => (k < count ? 0 : 1)), node, why: node.map((v, k) => words.why(v, k >= count)),
    wrong: new Array<string>(node.length).fill(""), adds: words.adds(node), lines: [],
  };
  // Lists of hundreds of thousands of lines take seconds to make, and few of them are ever read.
  steps.lines = new Proxy(steps.lines, {
    get: (_, k) => (k === "length" ? node.length : words.lines(Number(k) + 1, node[Number(k)], Number(k) >= count, steps.why[Number(k)], steps.adds[Number(k)])),
  });
  return { sort: { dfs: sort }, orders: { sorted: steps, "data-driven": refused, recursive: refused } };
}

class Words {
  private readonly template: string[];
  private readonly after: Map<number, string>;
  private readonly model: Model;

  constructor(private readonly view: View, private readonly compact: Compact) {
    this.model = view.model;
    this.template = spread(compact.template);
    this.after = new Map(compact.edge.map((e, k) => [e, compact.after[k]]));
  }

  why(v: number, backward: boolean): string {
    const { nodes } = this.model;
    if (!backward) {
      if (!nodes.op[v]) return this.compact.captured.includes(v) ? "captured" : "given";
      return this.view.into[v].length ? "parents" : "constant";
    }
    if (v in this.compact.beside) return "no path";
    return this.view.from[v].length ? "children" : "seed";
  }

  /** Per step what it adds to whom, and the sum after it. */
  adds(node: number[]): (Adds | null)[] {
    const { edges, nodes, outputs } = this.model;
    const left = new Int32Array(nodes.label.length);
    edges.parent.forEach((p, e) => { if (edges.contribution[e]) left[p] += 1; });
    const begun = new Uint8Array(nodes.label.length);
    for (const v of outputs) begun[v] = 1;
    return node.map((v, k) => {
      const adding = k < nodes.label.length ? [] : this.view.into[v].filter((e) => edges.contribution[e]);
      if (!adding.length) return null;
      return {
        parent: adding.map((e) => edges.parent[e]),
        contribution: adding.map((e) => edges.contribution[e]),
        after: adding.map((e) => {
          const p = edges.parent[e];
          const first = !begun[p];
          begun[p] = 1;
          left[p] -= 1;
          return first ? edges.contribution[e] : left[p] ? this.after.get(e)! : nodes.adjoint[p];
        }),
        edge: adding,
      };
    });
  }

  lines(number: number, v: number, backward: boolean, why: string, adds: Adds | null): Piece[][] {
    const said = backward ? this.adjoint(v) : this.evaluation(v);
    return [
      [[`  ${String(number).padStart(4)}   `, "dim"], ...said, ["   ", ""], [this.reason(v, why), "dim"]],
      ...(adds?.parent.map((p, k): Piece[] => [["             ", ""], ...this.addition(v, p, adds, k)]) ?? []),
    ];
  }

  private evaluation(v: number): Piece[] {
    const { nodes, edges } = this.model;
    const parents = this.view.into[v].map((e) => edges.parent[e]);
    const said: Piece[] = [[`${nodes.label[v]} = `, ""]];
    if (nodes.op[v]) {
      said.push([`${this.call(v, nodes.label)} = `, ""]);
      if (parents.length && parents.every((p) => nodes.shape[p] === "")) said.push([`${this.call(v, nodes.value)} = `, ""]);
    }
    return [...said, [nodes.value[v], "value"]];
  }

  /** `add(x, y)`, the arguments named or by their values. */
  call(v: number, texts: string[]): string {
    const args: number[] = [];
    for (const e of this.view.into[v]) for (const slot of this.model.edges.slots[e]) args[slot] = this.model.edges.parent[e];
    const nodes = args.filter((p) => p !== undefined);
    return this.template[v].split(HOLE).reduce((text, rest, k) => text + texts[nodes[k - 1]] + rest);
  }

  private adjoint(v: number): Piece[] {
    const { nodes } = this.model;
    return [[`${barred(nodes.label[v])} = `, ""], [this.compact.beside[v] ?? nodes.adjoint[v], "adjoint"]];
  }

  private addition(child: number, parent: number, adds: Adds, k: number): Piece[] {
    const { nodes, edges } = this.model;
    const [p, c] = [nodes.label[parent], nodes.label[child]];
    const e = adds.edge![k];
    let what = `${barred(p)} += ${barred(c)} · ∂${c}/∂${p} = `;
    if (nodes.shape[parent] === "" && nodes.shape[child] === "") {
      const first = adds.after[k] === adds.contribution[k] && !this.after.has(e) && this.isFirst(parent, e);
      what += `${nodes.adjoint[child]} × ${edges.local[e]}${first ? "" : ` = ${adds.contribution[k]}`}`;
    } else what += adds.contribution[k];
    return [[what, ""], [" → ", "dim"], [adds.after[k], "adjoint"]];
  }

  /** Whether nothing has been added to a parent before this: its last child comes first. */
  private isFirst(parent: number, e: number): boolean {
    const { edges, outputs } = this.model;
    return !outputs.includes(parent) && this.view.from[parent].findLast((other) => edges.contribution[other]) === e;
  }

  private reason(v: number, why: string): string {
    const { edges } = this.model;
    const listed = (nodes: number[]) => {
      const named = nodes.slice(0, LISTED).map((u) => this.model.nodes.label[u]).join(", ");
      return nodes.length > LISTED ? `${named} and ${nodes.length - LISTED} more` : named;
    };
    const children = this.view.from[v].map((e) => edges.child[e]);
    const reasons: Record<string, string> = {
      given: "given", captured: "captured", constant: "a constant", seed: "seed", "no path": "no gradient reaches it",
      parents: `${listed(this.view.into[v].map((e) => edges.parent[e]))} computed`,
      children: `gradient${children.length > 1 ? "s" : ""} of ${listed(children)} computed`,
    };
    return reasons[why];
  }
}

/** The name of an adjoint: x̄; a longer name under a line; what is no name as adjoint(…). */
export function barred(label: string): string {
  if (!MARKED.test(label)) return `adjoint(${label})`;
  return label.length === 1 ? `${label}\u0304`.normalize("NFC") : [...label].map((letter) => `${letter}\u0305`).join("");
}
