// The ops that work lane by lane, and their derivatives; each is checked against Python in test/ops.json.

import { common, lanes, masked, same, sizeOf, type Nd } from "./nd";

export interface Rule {
  value: (...x: number[]) => number;
  /** The derivatives by each argument; null is a lane that was not taken. Without: zero everywhere. */
  slopes?: (out: number, ...x: number[]) => (number | null)[];
  /** Where the derivative jumps. */
  kink?: (...x: number[]) => boolean;
  /** Whether a kink is a tie: of one with a constant, the smallest slope there is, none, is taken. */
  tie?: boolean;
}

const unary = (value: (x: number) => number, slope: (x: number, out: number) => number): Rule => ({
  value,
  slopes: (out, x) => [slope(x, out)],
});

/** One of two arguments is taken; a tie is shared. */
const chosen = (value: (x: number, y: number) => number, better: (x: number, y: number) => boolean): Rule => ({
  value,
  slopes: (_, x, y) => (x === y ? [0.5, 0.5] : [better(x, y) ? 1 : null, better(y, x) ? 1 : null]),
  kink: (x, y) => x === y,
  tie: true,
});

const flat = (value: (...x: number[]) => number, kink?: (...x: number[]) => boolean): Rule => ({ value, kink });
const tied = (x: number, y: number) => x === y;
const whole = (x: number) => x === Math.floor(x);
const halfway = (x: number) => Math.abs(x - Math.trunc(x)) === 0.5;
const atZero = (x: number) => x === 0;

export const RULES: Record<string, Rule> = {
  add: { value: (x, y) => x + y, slopes: () => [1, 1] },
  subtract: { value: (x, y) => x - y, slopes: () => [1, -1] },
  multiply: { value: (x, y) => x * y, slopes: (_, x, y) => [y, x] },
  multiply_mask: { value: (x, y) => x * y, slopes: (_, _x, y) => [y ? 1 : null, null] },
  divide: { value: (x, y) => x / y, slopes: (out, _, y) => [1 / y, -out / y] },
  power: { value: raised, slopes: (out, x, y) => [y === 0 ? 0 : y * raised(x, y - 1), x === 0 && y > 0 ? 0 : out * Math.log(x)] },
  maximum: chosen(larger, (x, y) => x > y),
  minimum: chosen(smaller, (x, y) => x < y),
  negative: unary((x) => -x, () => -1),
  positive: unary((x) => x, () => 1),
  identity: unary((x) => x, () => 1),
  copy: unary((x) => x, () => 1),
  astype: unary((x) => x, () => 1),
  stop_gradient: flat((x) => x),
  reciprocal: unary((x) => 1 / x, (_, out) => -out * out),
  square: unary((x) => x * x, (x) => 2 * x),
  square_of_root: unary((x) => Math.sqrt(x) ** 2, () => 1),
  sqrt: unary(Math.sqrt, (_, out) => 0.5 / out),
  cbrt: unary(Math.cbrt, (_, out) => 1 / (3 * out * out)),
  absolute: { value: Math.abs, slopes: (_, x) => [x === 0 ? null : Math.sign(x)], kink: atZero },
  exp: unary(Math.exp, (_, out) => out),
  exp2: unary((x) => 2 ** x, (_, out) => out * Math.LN2),
  expm1: unary(Math.expm1, Math.exp),
  log: unary(Math.log, (x) => 1 / x),
  log2: unary(Math.log2, (x) => 1 / (x * Math.LN2)),
  log10: unary(Math.log10, (x) => 1 / (x * Math.LN10)),
  log1p: unary(Math.log1p, (x) => 1 / (1 + x)),
  sin: unary(Math.sin, Math.cos),
  cos: unary(Math.cos, (x) => -Math.sin(x)),
  tan: unary(Math.tan, (x) => 1 / Math.cos(x) ** 2),
  arcsin: unary(Math.asin, (x) => 1 / (Math.sqrt(1 - x) * Math.sqrt(1 + x))),
  arccos: unary(Math.acos, (x) => -1 / (Math.sqrt(1 - x) * Math.sqrt(1 + x))),
  arctan: unary(Math.atan, (x) => 1 / (1 + x * x)),
  sinh: unary(Math.sinh, Math.cosh),
  cosh: unary(Math.cosh, Math.sinh),
  tanh: unary(Math.tanh, (x) => (1 / Math.cosh(x)) ** 2),
  arcsinh: unary(Math.asinh, (x) => 1 / Math.hypot(1, x)),
  arccosh: unary(Math.acosh, (x) => 1 / (Math.sqrt(x - 1) * Math.sqrt(x + 1))),
  arctanh: unary(Math.atanh, (x) => 1 / (1 - x) / (1 + x)),
  expit: unary(logistic, (x, out) => out * logistic(-x)),
  log_expit: unary((x) => -softplus(-x), (x) => logistic(-x)),
  softplus: unary(softplus, logistic),
  logaddexp: {
    value: (x, y) => (x === y ? x + Math.LN2 : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)))),
    slopes: (_, x, y) => [logistic(x === y ? 0 : x - y), logistic(x === y ? 0 : y - x)],
  },
  leaky_relu: {
    value: (x, slope) => (x > 0 ? x : slope * x),
    slopes: (_, x, slope) => [(x > 0 ? 1 : x === 0 ? Math.min(Math.max(0, Math.min(slope, 1)), Math.max(slope, 1)) : slope) || null],
    kink: (x, slope) => x === 0 && slope !== 1,
  },
  where: { value: (c, x, y) => (c !== 0 ? x : y), slopes: (_, c) => [null, c !== 0 ? 1 : null, c !== 0 ? null : 1] },
  floor: flat(Math.floor, whole),
  ceil: flat(Math.ceil, whole),
  trunc: flat(Math.trunc, (x) => whole(x) && x !== 0),
  rint: flat(nearest, halfway),
  sign: flat((x) => (x === 0 ? 0 : Math.sign(x)), atZero),
  greater: flat((x, y) => Number(x > y), tied),
  greater_equal: flat((x, y) => Number(x >= y), tied),
  less: flat((x, y) => Number(x < y), tied),
  less_equal: flat((x, y) => Number(x <= y), tied),
  equal: flat((x, y) => Number(x === y)),
  not_equal: flat((x, y) => Number(x !== y)),
  logical_and: flat((x, y) => Number(x !== 0 && y !== 0)),
  logical_or: flat((x, y) => Number(x !== 0 || y !== 0)),
  logical_not: flat((x) => Number(x === 0)),
};

/** As processors do it: of 0 and -0, which are equal, the second; NaN if there is one. */
export function larger(x: number, y: number): number {
  return x > y || Number.isNaN(x) ? x : y;
}

export function smaller(x: number, y: number): number {
  return x < y || Number.isNaN(x) ? x : y;
}

function logistic(x: number): number {
  const small = Math.exp(-Math.abs(x));
  return (x >= 0 ? 1 : small) / (1 + small);
}

function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/** As NumPy, which squares for the exponent 2 and takes the root for ½. */
function raised(x: number, y: number): number {
  if (x === 1) return 1; // where JavaScript has NaN for the exponents NaN and ∞
  return y === 2 ? x * x : y === 0.5 ? Math.sqrt(x) : x ** y;
}

/** To the nearest whole number, from the middle to the even one. */
function nearest(x: number): number {
  const down = Math.floor(x);
  const up = down === -1 ? -0 : down + 1;
  const rest = x - down;
  if (rest !== 0.5) return rest < 0.5 ? down : up;
  return down % 2 === 0 ? down : up;
}

/** The arguments of each lane of the result, one lane after the other. */
function eachLane(args: Nd[], shape: number[], visit: (lane: number, x: number[]) => void): void {
  const at = args.map((arg) => (same(arg.shape, shape) ? null : lanes(arg.shape, shape)));
  const count = sizeOf(shape);
  const x = args.map(() => 0);
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < args.length; k++) x[k] = args[k].data[at[k] ? at[k]![i] : i];
    visit(i, x);
  }
}

export function mapped(rule: Rule, args: Nd[]): Nd {
  const shape = common(args.map((arg) => arg.shape));
  const data = new Float64Array(sizeOf(shape));
  eachLane(args, shape, (i, x) => { data[i] = rule.value(...x); });
  return { shape, data };
}

/** What a node with the adjoint `g` adds to each argument that is differentiated. */
export function pulledByLanes(rule: Rule, g: Nd, out: Nd, args: Nd[], active: boolean[]): (Nd | null)[] {
  const count = out.data.length;
  const parts = args.map((_, k) => (rule.slopes && active[k] ? { data: new Float64Array(count), alive: new Uint8Array(count) } : null));
  const shared = active.every(Boolean);
  eachLane(args, out.shape, (i, x) => {
    if (g.alive && !g.alive[i]) return;
    const slopes = rule.slopes?.(out.data[i], ...x);
    if (!slopes || (rule.tie && !shared && rule.kink!(...x))) return;
    parts.forEach((part, k) => {
      const slope = slopes[k];
      if (!part || slope === null) return;
      part.data[i] = g.data[i] * slope;
      part.alive[i] = 1;
    });
  });
  return parts.map((part) => part && masked(out.shape, part.data, part.alive));
}

/** The lanes at a kink. */
export function kinksByLanes(rule: Rule, out: Nd, args: Nd[]): Uint8Array | null {
  if (!rule.kink) return null;
  const found = new Uint8Array(out.data.length);
  eachLane(args, out.shape, (i, x) => { found[i] = Number(rule.kink!(...x)); });
  return found;
}
