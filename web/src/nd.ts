// Arrays as the page computes with them: a shape, and the numbers row by row.

export interface Nd {
  shape: number[];
  data: Float64Array;
  /** Of an adjoint, the lanes that some path leads through; the others are structural zeros. */
  alive?: Uint8Array; // without it all are alive
}

export function sizeOf(shape: number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

export function zeros(shape: number[]): Nd {
  return { shape, data: new Float64Array(sizeOf(shape)) };
}

export function number(value: number): Nd {
  return { shape: [], data: Float64Array.of(value) };
}

export function same(a: number[], b: number[]): boolean {
  return a.length === b.length && a.every((n, k) => n === b[k]);
}

/** The lanes in a row: how far one step along each axis goes. */
export function strides(shape: number[]): number[] {
  let stride = 1;
  return shape.map((_, k) => {
    const axis = shape.length - 1 - k;
    const here = stride;
    stride *= shape[axis];
    return here;
  }).reverse();
}

/** The shape in which arrays of these shapes meet, by NumPy's rule. */
export function common(shapes: number[][]): number[] {
  const length = Math.max(0, ...shapes.map((shape) => shape.length));
  return Array.from({ length }, (_, k) => {
    const sizes = shapes.map((shape) => shape[shape.length - length + k] ?? 1);
    return sizes.find((n) => n !== 1) ?? 1;
  });
}

/** The lanes met on a walk over `shape` row by row, where a step along axis k goes `steps[k]` on. */
export function walk(shape: number[], steps: number[], start = 0): Int32Array {
  const found = new Int32Array(sizeOf(shape));
  const at = shape.map(() => 0);
  let lane = start;
  for (let i = 0; i < found.length; i++) {
    found[i] = lane;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      lane += steps[axis];
      at[axis] += 1;
      if (at[axis] < shape[axis]) break;
      lane -= steps[axis] * shape[axis];
      at[axis] = 0;
    }
  }
  return found;
}

/** For each lane of `shape` the lane it has in an array of shape `from` that is broadcast to it. */
export function lanes(from: number[], shape: number[]): Int32Array {
  const extra = shape.length - from.length;
  const steps = strides(from);
  return walk(shape, shape.map((_, k) => (k < extra || from[k - extra] === 1 ? 0 : steps[k - extra])));
}

/** The array with its dead lanes set to zero, whatever was computed there. */
export function masked(shape: number[], data: Float64Array, alive: Uint8Array): Nd {
  if (alive.every(Boolean)) return { shape, data };
  return { shape, data: data.map((value, i) => (alive[i] ? value : 0)), alive };
}

export function isDead(g: Nd | null): boolean {
  return g === null || (g.alive !== undefined && !g.alive.some(Boolean));
}

/** Two contributions together: a lane is alive that is so in one of them. */
export function added(a: Nd | null, b: Nd): Nd {
  if (a === null) return b;
  const data = a.data.map((value, i) => value + b.data[i]);
  const { alive } = a;
  return alive && b.alive ? { shape: a.shape, data, alive: alive.map((lane, i) => lane | b.alive![i]) } : { shape: a.shape, data };
}

/** A contribution in the parent's own shape: summed over the axes along which it was broadcast. */
export function fitted(c: Nd, shape: number[]): Nd {
  if (same(c.shape, shape)) return c;
  const made = zeros(shape);
  const to = lanes(shape, c.shape);
  const alive = c.alive && new Uint8Array(made.data.length);
  for (let i = 0; i < to.length; i++) {
    made.data[to[i]] += c.data[i];
    if (alive) alive[to[i]] |= c.alive![i];
  }
  return { ...made, alive };
}

/** The Euclidean norm, without overflow on the way. */
export function normOf(data: Float64Array): number {
  let largest = 0;
  for (const value of data) {
    const size = Math.abs(value);
    if (size > largest || Number.isNaN(size)) largest = size;
    if (Number.isNaN(size)) break;
  }
  if (!(largest > 0 && largest < Infinity)) return largest;
  let sum = 0;
  for (const value of data) sum += (value / largest) ** 2;
  return largest * Math.sqrt(sum);
}

/** ⟨a, b⟩ / ⟨a, a⟩: which part of `a` the array `b` is, along it. */
export function shareOf(b: Nd, a: Nd): number {
  const size = normOf(a.data);
  if (!(size > 0 && size < Infinity)) return NaN;
  return a.data.reduce((sum, value, i) => sum + (value / size) * (b.data[i] / size), 0);
}
