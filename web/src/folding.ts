// The ops that fold an array along axes, and the matrix product.

import { larger, smaller } from "./elementwise";
import { common, fitted, lanes, masked, sizeOf, strides, walk, zeros, type Nd } from "./nd";
import type { Attrs } from "./selecting";

export interface Fold {
  value: (attrs: Attrs, ...args: Nd[]) => Nd;
  pull: (g: Nd, out: Nd, attrs: Attrs, ...args: Nd[]) => (Nd | null)[];
  /** The lanes at a kink: one per group of what is folded into one. */
  kinks?: (attrs: Attrs, x: Nd) => Uint8Array;
}

/** The lanes of x in their groups: the group of each, how many there are, the shape of the result. */
interface Groups { of: Int32Array; count: number; shape: number[]; size: number }

function groups(x: Nd, { axis, keepdims }: Attrs): Groups {
  const count = x.shape.length;
  const gone = new Set((axis === null ? x.shape.map((_, k) => k) : Array.isArray(axis) ? axis : [axis]).map((a: number) => (a < 0 ? a + count : a)));
  const kept = x.shape.map((n, k) => (gone.has(k) ? 1 : n));
  const shape = keepdims ? kept : x.shape.filter((_, k) => !gone.has(k));
  const size = x.shape.reduce((all, n, k) => (gone.has(k) ? all * n : all), 1);
  return { of: lanes(kept, x.shape), count: sizeOf(kept), shape, size };
}

function folded(x: Nd, { of, count, shape }: Groups, start: number, fold: (a: number, b: number) => number): Nd {
  const data = new Float64Array(count).fill(start);
  x.data.forEach((value, i) => { data[of[i]] = fold(data[of[i]], value); });
  return { shape, data };
}

const plus = (a: number, b: number) => a + b;

/** What each group has got, times a weight, to each of its lanes; a weight of null is a dead lane. */
function spread(g: Nd, x: Nd, of: Int32Array, weight: (lane: number) => number | null): [Nd] {
  const data = new Float64Array(x.data.length);
  const alive = new Uint8Array(x.data.length);
  for (let i = 0; i < data.length; i++) {
    const w = weight(i);
    if (w === null || (g.alive && !g.alive[of[i]])) continue;
    data[i] = g.data[of[i]] * w;
    alive[i] = 1;
  }
  return [masked(x.shape, data, alive)];
}

/** The largest or the smallest; those that tie share, and one that ties with a constant gets nothing. */
function extremum(better: (a: number, b: number) => number, worst: number): Fold {
  const best = (x: Nd, attrs: Attrs) => folded(x, groups(x, attrs), attrs.initial ?? worst, better);
  const hits = (out: Nd, x: Nd, { of, count }: Groups, initial: number | null) => {
    const found = new Float64Array(count);
    const hit = x.data.map((value, i) => {
      const top = out.data[of[i]];
      const equal = value === top || (Number.isNaN(value) && Number.isNaN(top));
      return Number(equal && !(initial !== null && top === initial));
    });
    hit.forEach((yes, i) => { found[of[i]] += yes; });
    return { hit, found };
  };
  return {
    value: (attrs, x) => best(x, attrs),
    pull: (g, out, attrs, x) => {
      const found = groups(x, attrs);
      const { hit, found: count } = hits(out, x, found, attrs.initial ?? null);
      return spread(g, x, found.of, (i) => (hit[i] ? 1 / count[found.of[i]] : null));
    },
    kinks: (attrs, x) => {
      const found = groups(x, attrs);
      const out = best(x, attrs);
      const equal = new Float64Array(found.count);
      x.data.forEach((value, i) => { equal[found.of[i]] += Number(value === out.data[found.of[i]]); });
      return Uint8Array.from(equal, (count, k) => Number(count > 1 || out.data[k] === attrs.initial));
    },
  };
}

/** x less the largest of its group, and that; 0 in its place where all are −∞. */
function belowPeak(x: Nd, found: Groups): { below: Float64Array; peak: Float64Array; total: Float64Array } {
  const peak = folded(x, found, -Infinity, Math.max).data.map((top) => (top === -Infinity ? 0 : top));
  const below = x.data.map((value, i) => (value === peak[found.of[i]] ? 0 : value - peak[found.of[i]]));
  const total = folded({ shape: x.shape, data: below.map(Math.exp) }, found, 0, plus).data;
  return { below, peak, total };
}

function softmaxOf(x: Nd, attrs: Attrs): Float64Array {
  const found = groups(x, attrs);
  const { below, total } = belowPeak(x, found);
  return below.map((value, i) => Math.exp(value) / (total[found.of[i]] || 1));
}

/** Softmax and its like: a lane matters where any of its group does. */
function byGroups(g: Nd, x: Nd, attrs: Attrs, part: (lane: number, sum: Float64Array, of: Int32Array) => number, summed: (lane: number) => number): [Nd] {
  const found = groups(x, attrs);
  const sum = new Float64Array(found.count);
  const alive = new Uint8Array(found.count);
  g.data.forEach((_, i) => {
    sum[found.of[i]] += summed(i);
    alive[found.of[i]] |= g.alive ? g.alive[i] : 1;
  });
  const data = g.data.map((_, i) => part(i, sum, found.of));
  return [masked(x.shape, data, Uint8Array.from(found.of, (group) => alive[group]))];
}

function products(x: Nd, found: Groups, initial: number): Float64Array {
  const ahead = new Float64Array(found.count).fill(initial);
  const behind = new Float64Array(found.count).fill(1);
  const others = x.data.map((value, i) => {
    const before = ahead[found.of[i]];
    ahead[found.of[i]] *= value;
    return before;
  });
  for (let i = others.length - 1; i >= 0; i--) {
    others[i] *= behind[found.of[i]];
    behind[found.of[i]] *= x.data[i];
  }
  return others;
}

export const FOLDS: Record<string, Fold> = {
  sum: {
    value: (attrs, x) => folded(x, groups(x, attrs), attrs.initial ?? 0, plus),
    pull: (g, _, attrs, x) => spread(g, x, groups(x, attrs).of, () => 1),
  },
  mean: {
    value: (attrs, x) => {
      const found = groups(x, attrs);
      const total = folded(x, found, 0, plus);
      return { shape: total.shape, data: total.data.map((sum) => sum / found.size) };
    },
    pull: (g, _, attrs, x) => {
      const { of, size } = groups(x, attrs);
      return spread(g, x, of, () => 1 / size);
    },
  },
  prod: {
    value: (attrs, x) => folded(x, groups(x, attrs), attrs.initial ?? 1, (a, b) => a * b),
    pull: (g, _, attrs, x) => {
      const found = groups(x, attrs);
      const others = products(x, found, attrs.initial ?? 1);
      return spread(g, x, found.of, (i) => others[i]);
    },
  },
  max: extremum(larger, -Infinity),
  min: extremum(smaller, Infinity),
  logsumexp: {
    value: (attrs, x) => {
      const found = groups(x, attrs);
      const { peak, total } = belowPeak(x, found);
      return { shape: found.shape, data: total.map((sum, k) => Math.log(sum) + peak[k]) };
    },
    pull: (g, _, attrs, x) => {
      const part = softmaxOf(x, attrs);
      return spread(g, x, groups(x, attrs).of, (i) => part[i]);
    },
  },
  softmax: {
    value: (attrs, x) => ({ shape: x.shape, data: softmaxOf(x, attrs) }),
    pull: (g, out, attrs, x) => byGroups(g, x, attrs,
      (i, sum, of) => out.data[i] * (g.data[i] - sum[of[i]]), (i) => g.data[i] * out.data[i]),
  },
  log_softmax: {
    value: (attrs, x) => {
      const found = groups(x, attrs);
      const { below, total } = belowPeak(x, found);
      return { shape: x.shape, data: below.map((value, i) => value - Math.log(total[found.of[i]] || 1)) };
    },
    pull: (g, out, attrs, x) => byGroups(g, x, attrs,
      (i, sum, of) => g.data[i] - Math.exp(out.data[i]) * sum[of[i]], (i) => g.data[i]),
  },
  matmul: {
    value: (_, x, y) => {
      const [a, b] = asMatrices(x, y);
      return reshaped(product(a, b), [...stackOf(a, b), ...x.shape.slice(-2, -1), ...(y.shape.length > 1 ? y.shape.slice(-1) : [])]);
    },
    pull: (g, _, _attrs, x, y) => {
      const [a, b] = asMatrices(x, y);
      const up = reshaped(g, [...stackOf(a, b), a.shape.at(-2)!, b.shape.at(-1)!]);
      const reached = up.alive && { shape: up.shape, data: Float64Array.from(up.alive) };
      const left = reached ? reachable(a, product(reached, turned(ones(b)))) : a;
      const right = reached ? reachable(b, product(turned(ones(a)), reached)) : b;
      return [backTo(product(up, turned(right)), a, x), backTo(product(turned(left), up), b, y)];
    },
  },
};

// -- matrices ---------------------------------------------------------------------------------

function reshaped(x: Nd, shape: number[]): Nd {
  return { ...x, shape };
}

/** Vectors as a row on the left, a column on the right. */
function asMatrices(x: Nd, y: Nd): [Nd, Nd] {
  return [x.shape.length > 1 ? x : reshaped(x, [1, x.shape[0]]), y.shape.length > 1 ? y : reshaped(y, [y.shape[0], 1])];
}

function ones(x: Nd): Nd {
  return { shape: x.shape, data: new Float64Array(x.data.length).fill(1) };
}

/** The operand with zeros where only dead lanes read it: there its 0 · ∞ must not count. */
function reachable(x: Nd, reached: Nd): Nd {
  if (x.data.every(Number.isFinite)) return x;
  const counts = fitted(reached, x.shape).data;
  return { shape: x.shape, data: x.data.map((value, i) => (counts[i] ? value : 0)) };
}

/** A contribution to a matrix, in the shape of the vector or stack it was made of. */
function backTo(c: Nd, matrix: Nd, original: Nd): Nd {
  return reshaped(fitted(c, matrix.shape), original.shape);
}

function stackOf(a: Nd, b: Nd): number[] {
  return common([a.shape.slice(0, -2), b.shape.slice(0, -2)]);
}

function turned(x: Nd): Nd {
  const n = x.shape.length;
  const shape = [...x.shape.slice(0, n - 2), x.shape[n - 1], x.shape[n - 2]];
  const steps = strides(x.shape);
  const from = walk(shape, [...steps.slice(0, n - 2), steps[n - 1], steps[n - 2]]);
  return { shape, data: Float64Array.from(from, (lane) => x.data[lane]) };
}

/** Stacks of matrices, multiplied one by one. */
function product(a: Nd, b: Nd): Nd {
  const stack = stackOf(a, b);
  const [rows, inner] = a.shape.slice(-2);
  const columns = b.shape.at(-1)!;
  const out = zeros([...stack, rows, columns]);
  const first = lanes(a.shape.slice(0, -2), stack);
  const second = lanes(b.shape.slice(0, -2), stack);
  for (let s = 0; s < first.length; s++) {
    const [left, right, to] = [first[s] * rows * inner, second[s] * inner * columns, s * rows * columns];
    for (let i = 0; i < rows; i++) for (let k = 0; k < inner; k++) {
      const factor = a.data[left + i * inner + k];
      for (let j = 0; j < columns; j++) out.data[to + i * columns + j] += factor * b.data[right + k * columns + j];
    }
  }
  return out;
}
