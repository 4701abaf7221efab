// An array in a few numbers, as src/chainrule/view/summary.py makes them.

import type { Summary } from "./model";
import { normOf, type Nd } from "./nd";

const FULL = 64; // entries up to which an array is given in full
const BINS = 24;

/** The summary of an array in the place of another, whose coarse picture has as many blocks. */
export function summaryOf({ shape, data }: Nd, was: Summary | undefined): Summary {
  if (data.length <= FULL) return { shape, data: [...data] };
  const finite = data.filter(Number.isFinite);
  const mean = finite.reduce((sum, value) => sum + value, 0) / finite.length;
  const count = (test: (value: number) => boolean) => data.reduce((sum, value) => sum + Number(test(value)), 0);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  return {
    shape, low, high, mean,
    std: Math.sqrt(finite.reduce((sum, value) => sum + (value - mean) ** 2, 0) / finite.length),
    norm: normOf(data),
    zeros: count((value) => value === 0),
    nan: count(Number.isNaN),
    inf: count((value) => Math.abs(value) === Infinity),
    histogram: histogram(finite, low, high),
    heat: was?.heat && heat(data, shape.at(-1)!, was.heat.rows, was.heat.columns),
  };
}

function histogram(finite: Float64Array, low: number, high: number): number[] {
  if (!finite.length) return [];
  if (!(low < high)) return [finite.length];
  const counts: number[] = new Array(BINS).fill(0);
  for (const value of finite) counts[Math.min(Math.floor(((value - low) / (high - low)) * BINS), BINS - 1)] += 1;
  return counts;
}

/** The means of blocks, 0 … 255 around 128; null where one is not finite. */
function heat(data: Float64Array, wide: number, rows: number, columns: number): Summary["heat"] {
  const high = data.length / wide;
  const sums = new Float64Array(rows * columns);
  const counts = new Float64Array(rows * columns);
  const block = (at: number, of: number, blocks: number) => Math.floor(((at + 1) * blocks - 1) / of);
  data.forEach((value, i) => {
    const cell = block(Math.floor(i / wide), high, rows) * columns + block(i % wide, wide, columns);
    sums[cell] += value;
    counts[cell] += 1;
  });
  const means = sums.map((sum, k) => sum / counts[k]);
  const largest = means.reduce((top, value) => (Number.isFinite(value) ? Math.max(top, Math.abs(value)) : top), 0) || 1;
  return { rows, columns, data: [...means].map((value) => (Number.isFinite(value) ? Math.round(128 + (127 * value) / largest) : null)) };
}

