// The ops that only move numbers: reshape, transpose, indexing, joining.  Each is a list of pairs of lanes.

import { common, lanes, masked, sizeOf, strides, walk, zeros, type Nd } from "./nd";

/** Of one argument: lane `into[j]` of the result is its lane `from[j]`. */
export interface Part { into: Int32Array; from: Int32Array }
/** `whole`: every lane is read, if any is; `sum`: what comes to one lane is added up. */
export interface Moves { shape: number[]; parts: (Part | null)[]; whole?: boolean; sum?: boolean }
export type Slice = { slice: (number | null)[] };
export type Index = number | null | Slice | { slot: number } | { ellipsis: boolean };
export type Attrs = Record<string, any>;

export const MOVES: Record<string, (attrs: Attrs, ...args: Nd[]) => Moves> = {
  reshape: ({ shape, order }, x) => reshaped(x, shape, order),
  transpose: ({ axes }, x) => transposed(x, axes),
  broadcast_to: ({ shape }, x) => {
    const wanted = listed(shape);
    return { ...all(wanted, lanes(x.shape, wanted)), whole: true };
  },
  getitem: ({ template }, x) => {
    const { shape, from } = picked(x.shape, template, []);
    return all(shape, from);
  },
  gather: ({ template }, x, ...arrays) => {
    const { shape, from } = picked(x.shape, template, arrays);
    return { shape, parts: [{ into: counting(from.length), from }, ...arrays.map(() => null)] };
  },
  setitem: ({ template }, x, value) => written(x, value, template),
  concatenate: ({ axis }, ...xs) => concatenated(xs, axis),
  stack: ({ axis }, ...xs) => stacked(xs, axis),
};

export function moved({ shape, parts, sum }: Moves, args: Nd[]): Nd {
  const out = zeros(shape);
  parts.forEach((part, k) => part?.into.forEach((to, j) => {
    const value = args[k].data[part.from[j]];
    out.data[to] = sum ? out.data[to] + value : value;
  }));
  return out;
}

/** What comes back to each argument; lanes that were not read are structural zeros. */
export function movedBack({ parts, whole }: Moves, g: Nd, args: Nd[]): (Nd | null)[] {
  return parts.map((part, k) => {
    if (!part) return null;
    const { shape, data } = zeros(args[k].shape);
    const alive = new Uint8Array(data.length);
    part.into.forEach((to, j) => {
      data[part.from[j]] += g.data[to];
      alive[part.from[j]] |= g.alive ? g.alive[to] : 1;
    });
    return whole && !g.alive ? { shape, data } : masked(shape, data, alive);
  });
}

function all(shape: number[], from: Int32Array): Moves {
  return { shape, parts: [{ into: counting(from.length), from }] };
}

function counting(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, k) => k);
}

function listed(shape: number | number[]): number[] {
  return Array.isArray(shape) ? shape : [shape];
}

/** Columns first is rows first of what is transposed. */
function reshaped(x: Nd, wanted: number | number[], order: string): Moves {
  const known = listed(wanted).reduce((size, n) => (n < 0 ? size : size * n), 1);
  const shape = listed(wanted).map((n) => (n < 0 ? x.data.length / known : n));
  if (order !== "F") return all(shape, counting(x.data.length));
  const columns = (sizes: number[]) => walk([...sizes].reverse(), strides(sizes).reverse());
  return { shape, parts: [{ into: columns(shape), from: columns(x.shape) }] };
}

function transposed(x: Nd, axes: number | number[] | null): Moves {
  const count = x.shape.length;
  const order = axes === null ? counting(count).reverse() : listed(axes).map((axis) => (axis + count) % count);
  const steps = strides(x.shape);
  const shape = [...order].map((axis) => x.shape[axis]);
  return all(shape, walk(shape, [...order].map((axis) => steps[axis])));
}

/** As Python's slice.indices: the first, the step and how many. */
function run({ slice: [start, stop, step] }: Slice, size: number): [number, number, number] {
  const by = step ?? 1;
  const bound = (at: number | null, missing: number) => {
    if (at === null) return missing;
    const within = at < 0 ? at + size : at;
    return by > 0 ? Math.min(Math.max(within, 0), size) : Math.min(Math.max(within, -1), size - 1);
  };
  const first = bound(start, by > 0 ? 0 : size - 1);
  const end = bound(stop, by > 0 ? size : -1);
  return [first, by, Math.max(Math.ceil((end - first) / by), 0)];
}

const isSlot = (part: Index): part is { slot: number } => typeof part === "object" && part !== null && "slot" in part;
const isSlice = (part: Index): part is Slice => typeof part === "object" && part !== null && "slice" in part;

/** The lanes that an index reads, and the shape of what is read: NumPy's rules. */
function picked(shape: number[], template: Index[], arrays: Nd[]): { shape: number[]; from: Int32Array } {
  const steps = strides(shape);
  const parts = expanded(template, shape.length);
  const together = common(arrays.map((array) => array.shape));
  const fancy = parts.flatMap((part, k) => (isSlot(part) || (arrays.length && typeof part === "number") ? [k] : []));
  const adjacent = fancy.every((k, i) => i === 0 || k === fancy[i - 1] + 1);
  const before: [number, number][] = []; // size and step of each axis of the result
  const after: [number, number][] = [];
  const offsets = new Int32Array(sizeOf(together));
  let start = 0;
  let axis = 0;
  parts.forEach((part, k) => {
    const side = fancy.length && adjacent && k < fancy[0] ? before : after;
    if (part === null) side.push([1, 0]);
    else if (isSlice(part)) {
      const [first, by, count] = run(part, shape[axis]);
      start += first * steps[axis];
      side.push([count, by * steps[axis++]]);
    } else {
      const size = shape[axis];
      const step = steps[axis++];
      const lane = (at: number) => (at < 0 ? at + size : at) * step;
      if (typeof part === "number") start += lane(part);
      else if (isSlot(part)) {
        const array = arrays[part.slot];
        lanes(array.shape, together).forEach((from, i) => { offsets[i] += lane(array.data[from]); });
      }
    }
  });
  const own = strides(together);
  const still = (axes: [number, number][]) => axes.map(() => 0);
  const sizes = [...before.map(([n]) => n), ...together, ...after.map(([n]) => n)];
  const from = walk(sizes, [...before.map(([, s]) => s), ...together.map(() => 0), ...after.map(([, s]) => s)], start);
  const group = walk(sizes, [...still(before), ...own, ...still(after)]);
  return { shape: sizes, from: from.map((lane, i) => lane + offsets[group[i]]) };
}

/** An index with a part for every axis: an ellipsis stands for whole ones. */
function expanded(template: Index[], count: number): Index[] {
  const isEllipsis = (part: Index) => typeof part === "object" && part !== null && "ellipsis" in part;
  const used = template.filter((part) => part !== null && !isEllipsis(part)).length;
  const rest = Array.from({ length: count - used }, (): Index => ({ slice: [null, null, null] }));
  const at = template.findIndex(isEllipsis);
  return at < 0 ? [...template, ...rest] : [...template.slice(0, at), ...rest, ...template.slice(at + 1)];
}

function written(x: Nd, value: Nd, template: Index[]): Moves {
  const place = picked(x.shape, template, []);
  const taken = new Set(place.from);
  const kept = counting(x.data.length).filter((lane) => !taken.has(lane));
  const extra = Math.max(value.shape.length - place.shape.length, 0); // axes of size one in front
  const from = lanes(value.shape.slice(extra), place.shape);
  return { shape: x.shape, parts: [kept.length || !x.data.length ? { into: kept, from: kept } : null, { into: place.from, from }] };
}

function concatenated(xs: Nd[], axis: number | null): Moves {
  if (axis === null) {
    let start = 0;
    const parts = xs.map((x) => {
      const from = counting(x.data.length);
      start += from.length;
      return { into: from.map((lane) => lane + start - from.length), from };
    });
    return { shape: [start], parts };
  }
  const at = axis < 0 ? axis + xs[0].shape.length : axis;
  const shape = xs[0].shape.map((n, k) => (k === at ? xs.reduce((sum, x) => sum + x.shape[at], 0) : n));
  const steps = strides(shape);
  let start = 0;
  const parts = xs.map((x) => {
    const into = walk(x.shape, steps, start * steps[at]);
    start += x.shape[at];
    return { into, from: counting(x.data.length) };
  });
  return { shape, parts };
}

function stacked(xs: Nd[], axis: number): Moves {
  const at = axis < 0 ? axis + xs[0].shape.length + 1 : axis;
  const shape = [...xs[0].shape.slice(0, at), xs.length, ...xs[0].shape.slice(at)];
  const steps = strides(shape);
  const others = steps.filter((_, k) => k !== at);
  return { shape, parts: xs.map((x, k) => ({ into: walk(x.shape, others, k * steps[at]), from: counting(x.data.length) })) };
}
