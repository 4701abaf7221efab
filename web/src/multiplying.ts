// The products of two arrays that are no matrix product, and the windows of images: lists of lanes that meet.

import type { Fold } from "./folding";
import { masked, sizeOf, strides, walk, zeros, type Nd } from "./nd";
import type { Attrs, Moves } from "./selecting";

/** Lane `out[j]` of the result gets the product of lane `x[j]` of the one and `y[j]` of the other. */
interface Meeting { shape: number[]; out: Int32Array; x: Int32Array; y: Int32Array }

function product(meet: (attrs: Attrs, x: number[], y: number[]) => Meeting): Fold {
  return {
    value: (attrs, x, y) => {
      const { shape, out, x: left, y: right } = meet(attrs, x.shape, y.shape);
      const made = zeros(shape);
      out.forEach((to, j) => { made.data[to] += x.data[left[j]] * y.data[right[j]]; });
      return made;
    },
    pull: (g, _, attrs, x, y) => {
      const { out, x: left, y: right } = meet(attrs, x.shape, y.shape);
      const [toX, toY] = [zeros(x.shape), zeros(y.shape)];
      const read = new Uint8Array(x.data.length).fill(Number(!out.length)); // what no window reads is dead
      out.forEach((to, j) => {
        read[left[j]] = 1;
        if (g.alive && !g.alive[to]) return;
        toX.data[left[j]] += g.data[to] * y.data[right[j]];
        toY.data[right[j]] += g.data[to] * x.data[left[j]];
      });
      return [masked(x.shape, toX.data, read), toY];
    },
  };
}

export const PRODUCTS: Record<string, Fold> = {
  tensordot: product(({ axes }, x, y) => {
    const summed = (which: number, count: number): number[] => {
      if (typeof axes === "number") return Array.from({ length: axes }, (_, k) => (which ? k : count - axes + k));
      return [axes[which]].flat().map((axis: number) => (axis < 0 ? axis + count : axis));
    };
    const [left, right] = [summed(0, x.length), summed(1, y.length)];
    const first = x.map((_, k) => (left.includes(k) ? `s${left.indexOf(k)}` : `x${k}`));
    const second = y.map((_, k) => (right.includes(k) ? `s${right.indexOf(k)}` : `y${k}`));
    return contracted([first, second], [...first, ...second].filter((name) => name[0] !== "s"), [x, y]);
  }),
  einsum_pair: product(({ subscripts }, x, y) => {
    const { terms, out } = spelled(subscripts);
    return contracted(terms, out, [x, y]);
  }),
  conv: product((attrs, x, w) => {
    const windows = windowsOf(x.slice(2), w.slice(2), attrs);
    const [channels, kernels] = [w[1], w[0] / attrs.groups];
    const shape = [x[0], w[0], ...windows.map(({ count }) => count)];
    const meeting: [number, number, number][] = [];
    const [toOut, toX, toW] = [strides(shape), strides(x), strides(w)];
    const space = taps(windows, toOut.slice(2), toX.slice(2), toW.slice(2));
    for (let n = 0; n < x[0]; n++) for (let o = 0; o < w[0]; o++) for (let c = 0; c < channels; c++) {
      const channel = Math.floor(o / kernels) * channels + c;
      const [a, b, d] = [n * toOut[0] + o * toOut[1], n * toX[0] + channel * toX[1], o * toW[0] + c * toW[1]];
      for (const [p, q, r] of space) meeting.push([a + p, b + q, d + r]);
    }
    const column = (k: number) => Int32Array.from(meeting, (lanes) => lanes[k]);
    return { shape, out: column(0), x: column(1), y: column(2) };
  }),
  max_pool: {
    value: (attrs, x) => pooled(x, attrs).top,
    pull: (g, _, attrs, x) => {
      const { into, from, hits, count } = pooled(x, attrs);
      const made = zeros(x.shape);
      const alive = new Uint8Array(x.data.length);
      into.forEach((to, j) => {
        if (!hits[j]) return;
        made.data[from[j]] += g.data[to] / count[to];
        alive[from[j]] = 1;
      });
      return [masked(x.shape, made.data, alive)];
    },
    kinks: (attrs, x) => Uint8Array.from(pooled(x, attrs).count, (count) => Number(count > 1)),
  },
};

/** Sums along axes and over windows: lanes that are added up. */
export const SUMS: Record<string, (attrs: Attrs, x: Nd) => Moves> = {
  einsum_single: ({ subscripts }, x) => {
    const { terms, out } = spelled(subscripts);
    const { shape, out: into, x: from } = contracted([terms[0], []], out, [x.shape, []]);
    return { shape, parts: [{ into, from }], sum: true };
  },
  sum_pool: (attrs, x) => {
    const { shape, into, from } = windowed(x.shape, attrs);
    return { shape, parts: [{ into, from }], sum: true };
  },
};

// -- indices by name --------------------------------------------------------------------------

function spelled(subscripts: string): { terms: string[][]; out: string[] } {
  const [left, out] = subscripts.split("->");
  return { terms: left.split(",").map((term) => [...term]), out: [...out] };
}

/** Every combination of the indices: where it lies in the result and in each operand. */
function contracted(terms: string[][], out: string[], shapes: number[][]): Meeting {
  const sizes = new Map(terms.flatMap((term, k) => term.map((name, axis) => [name, shapes[k][axis]] as const)));
  const names = [...sizes.keys()];
  const shape = out.map((name) => sizes.get(name)!);
  const along = (term: string[], of: number[]) => {
    const steps = strides(of);
    const step = (name: string) => term.reduce((sum, other, axis) => (other === name ? sum + steps[axis] : sum), 0);
    return walk([...sizes.values()], names.map(step));
  };
  return { shape, out: along(out, shape), x: along(terms[0], shapes[0]), y: along(terms[1], shapes[1]) };
}

// -- windows ----------------------------------------------------------------------------------

interface Window { size: number; stride: number; low: number; dilation: number; count: number; length: number }

function windowsOf(lengths: number[], sizes: number[], { stride, padding, dilation = 1 }: Attrs): Window[] {
  const each = (value: any, k: number) => (Array.isArray(value) ? value[k] : value);
  return lengths.map((length, k) => {
    const [size, every, apart] = [sizes[k], each(stride, k), each(dilation, k)];
    const reach = apart * (size - 1);
    const half = Math.floor(reach / 2);
    const given = padding === "valid" ? 0 : each(padding, k);
    const [low, high] = padding === "same" ? [half, reach - half] : Array.isArray(given) ? given : [given, given];
    return { size, stride: every, low, dilation: apart, length, count: Math.floor((length + low + high - reach - 1) / every) + 1 };
  });
}

/** Every place of the windows with every tap that lies on the image: lanes of result, image, kernel. */
function taps(windows: Window[], out: number[], image: number[], kernel: number[]): [number, number, number][] {
  return windows.reduce<[number, number, number][]>((found, { size, stride, low, dilation, count, length }, k) => {
    const more: [number, number, number][] = [];
    for (const [a, b, c] of found) for (let p = 0; p < count; p++) for (let tap = 0; tap < size; tap++) {
      const at = p * stride + tap * dilation - low;
      if (at >= 0 && at < length) more.push([a + p * out[k], b + at * image[k], c + tap * kernel[k]]);
    }
    return more;
  }, [[0, 0, 0]]);
}

/** The lanes of images that the windows of a pool read. */
function windowed(x: number[], attrs: Attrs): { shape: number[]; into: Int32Array; from: Int32Array } {
  const sizes = x.slice(2).map((_, k) => (Array.isArray(attrs.window) ? attrs.window[k] : attrs.window));
  const windows = windowsOf(x.slice(2), sizes, { ...attrs, stride: attrs.stride ?? sizes });
  const shape = [x[0], x[1], ...windows.map(({ count }) => count)];
  const space = taps(windows, strides(shape).slice(2), strides(x).slice(2), sizes.map(() => 0));
  const [room, area] = [sizeOf(shape.slice(2)), sizeOf(x.slice(2))];
  const images = Array.from({ length: x[0] * x[1] }, (_, n) => n);
  const lanes = images.flatMap((n) => space.map(([p, q]) => [n * room + p, n * area + q]));
  return { shape, into: Int32Array.from(lanes, ([to]) => to), from: Int32Array.from(lanes, ([, at]) => at) };
}

/** The largest of each window, which lanes attain it, and how many. */
function pooled(x: Nd, attrs: Attrs): { top: Nd; into: Int32Array; from: Int32Array; hits: Uint8Array; count: Int32Array } {
  const { shape, into, from } = windowed(x.shape, attrs);
  const top: Nd = { shape, data: new Float64Array(sizeOf(shape)).fill(-Infinity) };
  into.forEach((to, j) => { top.data[to] = Math.max(top.data[to], x.data[from[j]]); });
  const count = new Int32Array(top.data.length);
  const hits = Uint8Array.from(into, (to, j) => Number(x.data[from[j]] === top.data[to] || (Number.isNaN(x.data[from[j]]) && Number.isNaN(top.data[to]))));
  into.forEach((to, j) => { count[to] += hits[j]; });
  return { top, into, from, hits, count };
}
