// The order of the vertices in each column, so that few wires cross: see crossings.py.

import type { Layers } from "./layers";

const WORK = 40_000; // vertices and wires looked at in all sweeps together
const MOST_SWEEPS = 24;
const SWAPS = 4; // rounds of exchanging neighbours
const CROWDED = 64; // vertices beyond this degree are not exchanged

/** The columns, each from top to bottom. */
export function ordered(layers: Layers): number[][] {
  const columns = layers.columns.map((column) => [...column]);
  const size = layers.layer.length + layers.right.reduce((sum, near) => sum + near.length, 0);
  const sweeps = Math.min(MOST_SWEEPS, Math.floor(WORK / Math.max(size, 1)));
  const place: number[] = new Array(layers.layer.length).fill(0);
  columns.forEach((column) => number(column, place));
  let best = columns.map((column) => [...column]);
  let fewest = crossings(layers, columns);
  for (let sweep = 0; sweep < sweeps && fewest; sweep++) {
    sweepOnce(layers, columns, place, sweep % 2 === 1);
    exchange(layers, columns, place);
    const found = crossings(layers, columns);
    if (found < fewest) [best, fewest] = [columns.map((column) => [...column]), found];
  }
  return best;
}

/** Places between 0 and 1, so that columns of different length can be compared. */
function number(column: number[], place: number[]): void {
  const step = 1 / column.length; // as Python computes it, to the last bit: it decides ties
  column.forEach((v, k) => { place[v] = (k + 0.5) * step; });
}

function sweepOnce(layers: Layers, columns: number[][], place: number[], rightward: boolean): void {
  const [towards, behind] = rightward ? [layers.left, layers.right] : [layers.right, layers.left];
  for (const column of rightward ? columns : [...columns].reverse()) {
    if (column.length < 2) continue;
    const wanted = new Map(column.map((v) => {
      const near = towards[v].length ? towards[v] : behind[v];
      return [v, near.length ? near.reduce((sum, u) => sum + place[u], 0) / near.length : place[v]];
    }));
    column.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
    number(column, place);
  }
}

/** Exchange neighbours in a column as long as that saves crossings. */
function exchange(layers: Layers, columns: number[][], place: number[]): void {
  const { left, right } = layers;
  for (let round = 0; round < SWAPS; round++) {
    let any = false;
    for (const column of columns) {
      for (let k = 0; k + 1 < column.length; k++) {
        const [u, v] = [column[k], column[k + 1]];
        if (saved(left[u], left[v], place) + saved(right[u], right[v], place) <= 0) continue;
        [column[k], column[k + 1]] = [v, u];
        [place[u], place[v]] = [place[v], place[u]];
        any = true;
      }
    }
    if (!any) return;
  }
}

/** How many crossings go away if two neighbours change places, by whom they lead to. */
function saved(above: number[], below: number[], place: number[]): number {
  if (above.length > CROWDED || below.length > CROWDED) return 0;
  let total = 0;
  for (const a of above) for (const b of below) total += Math.sign(place[a] - place[b]);
  return total;
}

/** How many pairs of wires between neighbouring columns cross. */
export function crossings(layers: Layers, columns: number[][]): number {
  const place: number[] = [];
  columns.forEach((column) => column.forEach((v, k) => { place[v] = k; }));
  let total = 0;
  for (const column of columns) {
    const ends: number[] = [];
    for (const v of column) {
      const heads = layers.right[v].map((u) => place[u]).sort((a, b) => a - b);
      for (const head of heads) total += ends.length - after(ends, head);
      for (const head of heads) ends.splice(after(ends, head), 0, head);
    }
  }
  return total;
}

/** Where in a sorted list a number is put in, behind its equals. */
function after(sorted: number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
