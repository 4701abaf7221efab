// The page's own evaluator: the ops on single numbers it knows, their derivatives, and both passes.
// Each op is checked against Python on the points of test/ops.json.

import type { Program } from "./model";

interface Rule {
  value: (...x: number[]) => number;
  /** The derivatives by each argument; null is a lane that was not taken: no gradient flows. */
  slopes: (out: number, ...x: number[]) => (number | null)[];
}

const unary = (value: (x: number) => number, slope: (x: number, out: number) => number): Rule => ({
  value,
  slopes: (out, x) => [slope(x, out)],
});

/** One of two arguments is taken; a tie is shared. */
const chosen = (value: (x: number, y: number) => number): Rule => ({
  value,
  slopes: (out, x, y) => (x === y ? [0.5, 0.5] : x === out ? [1, null] : y === out ? [null, 1] : [NaN, NaN]),
});

export const RULES: Record<string, Rule> = {
  add: { value: (x, y) => x + y, slopes: () => [1, 1] },
  subtract: { value: (x, y) => x - y, slopes: () => [1, -1] },
  multiply: { value: (x, y) => x * y, slopes: (_, x, y) => [y, x] },
  divide: { value: (x, y) => x / y, slopes: (out, _, y) => [1 / y, -out / y] },
  power: {
    value: (x, y) => x ** y,
    slopes: (out, x, y) => [y === 0 ? 0 : y * x ** (y - 1), x === 0 && y > 0 ? 0 : out * Math.log(x)],
  },
  maximum: chosen(Math.max),
  minimum: chosen(Math.min),
  negative: unary((x) => -x, () => -1),
  positive: unary((x) => x, () => 1),
  reciprocal: unary((x) => 1 / x, (_, out) => -out * out),
  square: unary((x) => x * x, (x) => 2 * x),
  sqrt: unary(Math.sqrt, (_, out) => 0.5 / out),
  cbrt: unary(Math.cbrt, (_, out) => 1 / (3 * out * out)),
  absolute: unary(Math.abs, Math.sign),
  exp: unary(Math.exp, (_, out) => out),
  exp2: unary((x) => 2 ** x, (_, out) => out * Math.LN2),
  expm1: unary(Math.expm1, (_, out) => out + 1),
  log: unary(Math.log, (x) => 1 / x),
  log2: unary(Math.log2, (x) => 1 / (x * Math.LN2)),
  log10: unary(Math.log10, (x) => 1 / (x * Math.LN10)),
  log1p: unary(Math.log1p, (x) => 1 / (1 + x)),
  sin: unary(Math.sin, Math.cos),
  cos: unary(Math.cos, (x) => -Math.sin(x)),
  tan: unary(Math.tan, (_, out) => 1 + out * out),
  arcsin: unary(Math.asin, (x) => 1 / Math.sqrt(1 - x * x)),
  arccos: unary(Math.acos, (x) => -1 / Math.sqrt(1 - x * x)),
  arctan: unary(Math.atan, (x) => 1 / (1 + x * x)),
  sinh: unary(Math.sinh, Math.cosh),
  cosh: unary(Math.cosh, Math.sinh),
  tanh: unary(Math.tanh, (_, out) => 1 - out * out),
  arcsinh: unary(Math.asinh, (x) => 1 / Math.sqrt(1 + x * x)),
  arccosh: unary(Math.acosh, (x) => 1 / Math.sqrt(x * x - 1)),
  arctanh: unary(Math.atanh, (x) => 1 / (1 - x * x)),
  expit: unary(logistic, (_, out) => out * (1 - out)),
  softplus: unary((x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))), logistic),
};

function logistic(x: number): number {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}

const isNode = (arg: unknown): arg is { node: number } => typeof arg === "object" && arg !== null && "node" in arg;

/** Why a program cannot be evaluated here; "" where it can. */
export function refusal(program: Program | null): string {
  if (!program) return "this graph is not written out in the page";
  for (const node of program.nodes) {
    if (node.shape.length || node.dtype !== "<f8") return "it works on arrays; the page computes with single numbers";
    if (node.op === undefined) continue;
    const known = node.op in RULES && Object.keys(node.attrs ?? {}).length === 0;
    if (!known || !node.args!.every((arg) => isNode(arg) || typeof arg === "number")) return `the page does not compute ${node.op}`;
  }
  return "";
}

export interface Point {
  values: number[];
  adjoints: (number | null)[];
  /** By "parent child": the derivative along the edge; null where no gradient flows. */
  locals: Map<string, number | null>;
}

/** Both passes at these values of the leaves; nodes that depend on no leaf have no derivative. */
export function evaluate(program: Program, leaves: Map<number, number>, seeds: Map<number, number>): Point {
  const values: number[] = [];
  const locals = new Map<string, number | null>();
  program.nodes.forEach((node, v) => {
    if (node.op === undefined) {
      values.push(leaves.get(v) ?? NaN);
      return;
    }
    const args = node.args!.map((arg) => (isNode(arg) ? values[arg.node] : (arg as number)));
    values.push(RULES[node.op].value(...args));
    slopesOf(node.op, values[v], args, node.args!).forEach((slope, k) => {
      const arg = node.args![k];
      if (!isNode(arg)) return;
      const key = `${arg.node} ${v}`;
      const before = locals.get(key) ?? null;
      locals.set(key, slope === null ? before : (before ?? 0) + slope);
    });
  });
  return { values, locals, adjoints: adjointsOf(program, locals, seeds) };
}

/** Of a tie with a constant, the smallest slope there is: none. */
function slopesOf(op: string, out: number, args: number[], given: unknown[]): (number | null)[] {
  const slopes = RULES[op].slopes(out, ...args);
  const tied = (op === "maximum" || op === "minimum") && args[0] === args[1];
  return tied && !given.every(isNode) ? slopes.map(() => 0) : slopes;
}

function adjointsOf(program: Program, locals: Map<string, number | null>, seeds: Map<number, number>): (number | null)[] {
  const adjoints: (number | null)[] = program.nodes.map((_, v) => seeds.get(v) ?? null);
  for (let v = program.nodes.length - 1; v >= 0; v--) {
    const g = adjoints[v];
    if (g === null) continue;
    for (const parent of parentsOf(program, v)) {
      const local = locals.get(`${parent} ${v}`) ?? null;
      if (local !== null) adjoints[parent] = (adjoints[parent] ?? 0) + g * local;
    }
  }
  return adjoints;
}

export function parentsOf(program: Program, v: number): number[] {
  return [...new Set((program.nodes[v].args ?? []).filter(isNode).map((arg) => arg.node))];
}
