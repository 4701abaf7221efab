// The scene at another point: values, adjoints, steps and paths computed anew, in the words of Python.

import { evaluate, type Point } from "./evaluate";
import { FLAG, real, type Adds, type Path, type Paths, type Piece, type Scene, type Steps, type View } from "./model";
import { general } from "./numbers";

export interface Changed { view: View; orders: Record<string, Steps>; paths: Record<string, Paths> }

/** Everything that changes with the values of the leaves. */
export function changed(scene: Scene, leaves: Map<number, number>): Changed {
  const base = scene.views.node;
  const given = new Map(base.model.nodes.number.map((value, v) => [v, real(value)] as const));
  const seeds = new Map(base.model.outputs.map((v) => [v, seedOf(scene, v)] as const));
  const point = evaluate(scene.program!, new Map([...given, ...leaves]), seeds);
  const orders: Record<string, Steps> = {};
  const timeline = scene.timeline as { orders: Record<string, Steps | { refused: string }> };
  for (const [order, steps] of Object.entries(timeline.orders)) {
    if ("kind" in steps) orders[order] = stepsAt(scene, steps, point, seeds);
  }
  return { view: viewAt(base, point), orders, paths: pathsAt(scene, point) };
}

/** What the backward pass begins with, as the first step of it says. */
function seedOf(scene: Scene, output: number): number {
  const steps = (scene.timeline as { orders: Record<string, Steps> }).orders.sorted;
  const step = steps.node.findIndex((v, k) => v === output && steps.kind[k] === 1);
  return steps.why[step] === "seed" ? real(scene.views.node.model.nodes.slope[output]) : 1;
}

function viewAt(base: View, point: Point): View {
  const { model } = base;
  const adjoint = point.adjoints.map((g) => (g === null ? "" : general(g)));
  const local = model.edges.parent.map((parent, e) => point.locals.get(`${parent} ${model.edges.child[e]}`) ?? null);
  return {
    ...base,
    model: {
      ...model,
      nodes: {
        ...model.nodes,
        value: point.values.map((value) => general(value)),
        number: point.values,
        adjoint,
        slope: point.adjoints,
        status: model.nodes.status.map((status, v) => (point.adjoints[v] !== null ? "value" : status === "value" ? "structural zero" : status)),
        flags: point.values.map((value, v) => (Number.isFinite(value) ? 0 : FLAG.value) | (Number.isFinite(point.adjoints[v] ?? 0) ? 0 : FLAG.adjoint)),
      },
      edges: {
        ...model.edges,
        local: local.map((slope) => (slope === null ? "" : general(slope))),
        flow: local.map((slope) => slope !== null),
        contribution: local.map((slope, e) => {
          const g = point.adjoints[model.edges.child[e]];
          return slope === null || g === null ? "" : general(g * slope);
        }),
      },
    },
  };
}

/** The same steps with other numbers: each backward step hands on what its node has at that moment. */
function stepsAt(scene: Scene, steps: Steps, point: Point, seeds: Map<number, number>): Steps {
  const sums = new Map(seeds);
  const adds: (Adds | null)[] = [];
  const lines = steps.node.map((v, k) => {
    if (!steps.kind[k]) {
      adds.push(null);
      return [evaluation(scene, steps.lines[k][0], v, point.values)];
    }
    const g = sums.get(v);
    const head = replaced(steps.lines[k][0], general(g ?? NaN));
    const parents = g === undefined ? [] : (steps.adds[k]?.parent ?? []);
    const made: Adds = { parent: [], contribution: [], after: [] };
    const said = parents.flatMap((parent, i): Piece[][] => {
      const local = point.locals.get(`${parent} ${v}`) ?? null;
      if (local === null) return [];
      const before = sums.get(parent);
      const part = g! * local;
      sums.set(parent, (before ?? 0) + part);
      made.parent.push(parent);
      made.contribution.push(general(part));
      made.after.push(general(sums.get(parent)!));
      return [addition(steps.lines[k][i + 1], general(g!), general(local), before === undefined ? "" : general(part), made.after.at(-1)!)];
    });
    adds.push(made.parent.length ? made : null);
    return [head, ...said, ...(steps.wrong[k] ? [steps.lines[k].at(-1)!] : [])];
  });
  return { ...steps, lines, adds };
}

/** "q = add(x, y) = add(-2, 5) = 3": the call is filled in again. */
function evaluation(scene: Scene, line: Piece[], v: number, values: number[]): Piece[] {
  const args = scene.program!.nodes[v].args;
  const made = replaced(line, general(values[v]));
  if (!args) return made;
  const call = scene.views.node.model.nodes.call[v];
  const open = call.indexOf("(");
  const words = call.slice(open + 1, -1).split(", ");
  const filled = made.findIndex(([text], k) => k > 2 && text.startsWith(call.slice(0, open + 1)));
  if (filled < 0 || words.length !== args.length) return made;
  const numbers = args.map((arg, k) => (typeof arg === "object" ? general(values[(arg as { node: number }).node]) : words[k]));
  made[filled] = [`${call.slice(0, open)}(${numbers.join(", ")}) = `, made[filled][1]];
  return made;
}

/** The one number of a line that is a value or an adjoint. */
function replaced(line: Piece[], number: string): Piece[] {
  return line.map(([text, style]) => [["value", "adjoint", "wrong"].includes(style) ? number : text, style]);
}

/** "x̄ += q̄ · ∂q/∂x = -4 × 1 = -4 → -4", with "= -4" from the second on. */
function addition(line: Piece[], g: string, local: string, part: string, after: string): Piece[] {
  return line.map(([text, style]) => {
    if (style === "adjoint" || style === "wrong") return [after, style];
    const what = text.match(/^(.* \+= .*? = )/);
    return what ? [`${what[1]}${g} × ${local}${part ? ` = ${part}` : ""}`, style] : [text, style];
  });
}

/** The same paths with other products, the heaviest first. */
function pathsAt(scene: Scene, point: Point): Record<string, Paths> {
  return Object.fromEntries(Object.entries(scene.paths ?? {}).map(([leaf, found]) => {
    const total = point.adjoints[Number(leaf)] ?? 0;
    const products = found.paths.map((path) => {
      const slopes = path.nodes.slice(1).map((child, k) => point.locals.get(`${path.nodes[k]} ${child}`) ?? 0);
      return { path, slopes, product: slopes.reduce((a, b) => a * b, 1) };
    });
    products.sort((a, b) => Math.abs(b.product) - Math.abs(a.product));
    let covered = 0;
    const paths: Path[] = products.map(({ path, slopes, product }) => {
      covered += product / total;
      return { nodes: path.nodes, factors: slopes.map((slope) => general(slope)), product: general(product), share: product / total, covered };
    });
    const rest = total - products.reduce((sum, { product }) => sum + product, 0);
    const all = BigInt(found.paths.length).toString() === found.count;
    return [leaf, { ...found, paths, total: general(total), rest: all ? "0" : general(rest) }];
  }));
}
