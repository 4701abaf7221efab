// The scene at another point: values, adjoints, steps and paths computed anew, in the words of Python.

import { Point } from "./evaluate";
import { FLAG, type Adds, type Edges, type Path, type Paths, type Piece, type Scene, type Steps, type Summary, type View } from "./model";
import { added, isDead, masked, normOf, number, shareOf, zeros, type Nd } from "./nd";
import { general } from "./numbers";
import { constantOf, instructions } from "./program";
import { summaryOf } from "./summary";
import { shown, written } from "./words";

const SMALL = 16; // entries of a Jacobian that is written out

/** The scene at other values of its leaves. */
export class Changed {
  readonly view: View;
  readonly point: Point;
  private readonly seeds: Map<number, Nd>;
  private readonly made = new Map<string, Steps>();
  private readonly found = new Map<number, Paths>();

  constructor(private readonly scene: Scene, leaves: Map<number, Nd>) {
    const { nodes, outputs } = scene.program!;
    const given = Object.entries(scene.point!.leaves).map(([v, value]) => [Number(v), constantOf(value)] as const);
    this.seeds = new Map();
    scene.point!.seeds.forEach((seed, k) => this.seeds.set(outputs[k], added(this.seeds.get(outputs[k]) ?? null, constantOf(seed))));
    this.point = new Point(instructions({ nodes, outputs }), new Map([...given, ...leaves]), outputs, this.seeds);
    this.view = this.viewed();
  }

  private words(v: number, value: Nd): string {
    return shown(value, this.point.code[v].kind);
  }

  private viewed(): View {
    const base = this.scene.views.node;
    const { model } = base;
    const { values, adjoints } = this.point;
    const single = (array: Nd | null) => (array && !array.shape.length ? array.data[0] : null);
    const odd = (array: Nd | null, flag: number) => (array && !array.data.every(Number.isFinite) ? flag : 0);
    return {
      ...base,
      model: {
        ...model,
        nodes: {
          ...model.nodes,
          value: values.map((value, v) => this.words(v, value)),
          number: values.map(single),
          adjoint: adjoints.map((g, v) => (g ? this.words(v, g) : "")),
          slope: adjoints.map(single),
          status: this.point.statuses(),
          flags: values.map((value, v) => odd(value, FLAG.value) | odd(adjoints[v], FLAG.adjoint) | (this.point.atKink(v) ? FLAG.kink : 0)),
        },
        edges: this.flows(model.edges),
        arrays: { value: summaries(values, model.arrays.value), adjoint: summaries(adjoints, model.arrays.adjoint) },
      },
    };
  }

  /** The local derivative of each edge, and what flows along it. */
  private flows(edges: Edges): Edges {
    const parts = edges.parent.map((parent, e) => {
      const child = edges.child[e];
      const g = this.point.adjoints[child];
      return { local: this.local(parent, child), part: this.point.given(child).get(parent) ?? null, reached: g !== null };
    });
    return {
      ...edges,
      local: parts.map(({ local }) => local),
      contribution: parts.map(({ part }, e) => (part ? this.words(edges.parent[e], part) : "")),
      flow: parts.map(({ part, reached }, e) => (reached ? !isDead(part) : edges.flow[e])),
    };
  }

  /** The local derivative in words, where it is few numbers. */
  private local(parent: number, child: number): string {
    const { values, code } = this.point;
    const count = values[child].data.length;
    const size = values[parent].data.length;
    if (code[child].kind !== "f" || size * count > SMALL || (count !== 1 && !this.point.flows(parent, child))) return "";
    const rows: Float64Array[] = [];
    for (let k = 0; k < count; k++) {
      const { shape, data } = zeros(values[child].shape);
      data[k] = 1;
      const part = this.point.pulled(child, masked(shape, data, Uint8Array.from(data))).get(parent);
      if (!part && count === 1) return "";
      rows.push(count === 1 ? part!.data : new Float64Array(size).map((zero, i) => zero + (part?.data[i] ?? 0))); // so that -0 is 0
    }
    if (count * size === 1) return general(rows[0][0]);
    return written(count === 1 ? { shape: values[parent].shape, data: rows[0] } : { shape: [count, size], data: Float64Array.from(rows.flatMap((row) => [...row])) });
  }

  // -- steps ----------------------------------------------------------------------------------

  /** The steps of an order, with the numbers they have here. */
  steps(order: string, was: Steps): Steps {
    if (!this.made.has(order)) this.made.set(order, this.stepsLike(was));
    return this.made.get(order)!;
  }

  /** Each backward step hands on what its node has at that moment. */
  private stepsLike(steps: Steps): Steps {
    const sums = new Map<number, Nd>(this.seeds);
    const adds: (Adds | null)[] = [];
    const lines = steps.node.map((v, k): Piece[][] => {
      if (!steps.kind[k]) {
        adds.push(null);
        return [this.evaluation(steps.lines[k][0], v)];
      }
      const g = sums.get(v) ?? null;
      const head = replaced(steps.lines[k][0], this.words(v, g ?? zeros(this.point.values[v].shape)));
      const made: Adds = { parent: [], contribution: [], after: [] };
      const said = [...this.point.given(v, g)].map(([parent, part], i): Piece[] => {
        const before = sums.get(parent) ?? null;
        const after = added(before, part);
        sums.set(parent, after);
        made.parent.push(parent);
        made.contribution.push(this.words(parent, part));
        made.after.push(this.words(parent, after));
        return addition(steps.lines[k][i + 1], this.product(v, g!, parent, part, before === null), made.after.at(-1)!);
      });
      adds.push(made.parent.length ? made : null);
      return [head, ...said, ...(steps.wrong[k] ? [steps.lines[k].at(-1)!] : [])];
    });
    return { ...steps, lines, adds };
  }

  /** "-4 × 1", with "= -4" from the second on; of arrays the contribution. */
  private product(child: number, g: Nd, parent: number, part: Nd, first: boolean): string {
    const { values } = this.point;
    if (values[child].shape.length || values[parent].shape.length) return this.words(parent, part);
    const local = this.point.pulled(child, number(1)).get(parent)?.data[0] ?? 0;
    return `${general(g.data[0])} × ${general(local)}${first ? "" : ` = ${general(part.data[0])}`}`;
  }

  /** "q = add(x, y) = add(-2, 5) = 3": the call is filled in again. */
  private evaluation(line: Piece[], v: number): Piece[] {
    const made = replaced(line, this.words(v, this.point.values[v]));
    const at = made.findIndex(([text, style]) => style === "" && text.endsWith(" = "));
    const [call, filled, value] = made.slice(at + 1);
    if (value?.[1] !== "value") return made; // there is no call of numbers
    const open = call[0].indexOf("(");
    const words = split(call[0].slice(open + 1, -" = ".length - 1));
    const { args } = this.point.code[v];
    const numbers = words.map((word, k) => (args[k] && args[k].node >= 0 ? this.words(args[k].node, this.point.values[args[k].node]) : word));
    return [...made.slice(0, at + 2), [`${call[0].slice(0, open)}(${numbers.join(", ")}) = `, filled[1]], ...made.slice(at + 3)];
  }

  // -- paths ----------------------------------------------------------------------------------

  /** The same paths with other products, the heaviest first. */
  paths(leaf: number, was: Paths): Paths {
    if (!this.found.has(leaf)) this.found.set(leaf, this.pathsLike(leaf, was));
    return this.found.get(leaf)!;
  }

  private pathsLike(leaf: number, was: Paths): Paths {
    const { values, adjoints } = this.point;
    const total = adjoints[leaf] ?? zeros(values[leaf].shape);
    const walked = was.paths.map((path) => ({ path, ...this.along(path.nodes) })).sort((a, b) => b.weight - a.weight);
    let covered = 0;
    const paths = walked.map(({ path, product, factors }): Path => {
      const share = shareOf(product, total);
      covered += share;
      return { nodes: path.nodes, factors, product: this.words(leaf, product), share, covered };
    });
    const rest = { shape: total.shape, data: total.data.map((value, i) => walked.reduce((left, { product }) => left - product.data[i], value)) };
    const all = String(was.paths.length) === was.count;
    return { ...was, paths, total: this.words(leaf, total), rest: all ? "0" : this.words(leaf, rest) };
  }

  /** What the seed becomes on the way back along one path. */
  private along(nodes: number[]): { product: Nd; factors: string[]; weight: number } {
    const { values } = this.point;
    const scalar = nodes.every((v) => values[v].data.length === 1);
    let g = this.seeds.get(nodes.at(-1)!)!;
    const factors = nodes.slice(1).map((_, k) => {
      const at = nodes.length - 1 - k;
      const [parent, child] = [nodes[at - 1], nodes[at]];
      const above = normOf(g.data);
      const local = scalar ? this.point.pulled(child, { shape: values[child].shape, data: Float64Array.of(1) }).get(parent) : null;
      g = this.point.pulled(child, g).get(parent) ?? zeros(values[parent].shape);
      if (scalar) return general(local?.data[0] ?? 0);
      return above ? `×${general(normOf(g.data) / above, 4)}` : "";
    });
    return { product: g, factors: factors.reverse(), weight: normOf(g.data) };
  }
}

function summaries(arrays: (Nd | null)[], was: Record<string, Summary>): Record<string, Summary> {
  const found: Record<string, Summary> = {};
  arrays.forEach((array, v) => { if (array?.shape.length) found[v] = summaryOf(array, was[v]); });
  return found;
}

/** The one number of a line that is a value or an adjoint. */
function replaced(line: Piece[], number: string): Piece[] {
  return line.map(([text, style]) => [["value", "adjoint", "wrong"].includes(style) ? number : text, style]);
}

/** "x̄ += q̄ · ∂q/∂x = -4 × 1 → -4" with another product and another sum. */
function addition(line: Piece[], product: string, after: string): Piece[] {
  return line.map(([text, style]) => {
    if (style === "adjoint" || style === "wrong") return [after, style];
    const what = text.match(/^(.* \+= .*? = )/);
    return what ? [`${what[1]}${product}`, style] : [text, style];
  });
}

/** The arguments of a call; a comma inside brackets is part of one. */
function split(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let k = 0; k < text.length; k++) {
    if ("([{".includes(text[k])) depth += 1;
    if (")]}".includes(text[k])) depth -= 1;
    if (text[k] === "," && depth === 0) {
      parts.push(text.slice(start, k));
      start = k + 2;
    }
  }
  return [...parts, text.slice(start)];
}
