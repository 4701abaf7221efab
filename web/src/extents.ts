// The rectangles that wires and boxes lie in, as plain numbers, so that what is out of sight costs little.

import type { Camera } from "./camera";
import type { View } from "./model";
import type { Point } from "./wires";

/** Left, top, right, bottom of one thing after another. */
export type Extents = Float32Array;

export function sees(camera: Camera, extents: Extents, k: number): boolean {
  const at = 4 * k;
  return extents[at + 2] >= camera.x && extents[at] <= camera.x + camera.width / camera.scale
    && extents[at + 3] >= camera.y && extents[at + 1] <= camera.y + camera.height / camera.scale;
}

/** Four numbers of thing k; a list of them for each would take ten times as long to make. */
export function put(numbers: Float32Array, k: number, a: number, b: number, c: number, d: number): void {
  numbers[4 * k] = a;
  numbers[4 * k + 1] = b;
  numbers[4 * k + 2] = c;
  numbers[4 * k + 3] = d;
}

export function boxExtents({ place: { x, y, wide, above, below } }: View): Extents {
  const found = new Float32Array(4 * x.length);
  for (let v = 0; v < x.length; v++) put(found, v, x[v] - 10, y[v] - above[v] - 12, x[v] + wide[v] + 12, y[v] + below[v] + 12);
  return found;
}

/** Of wires that run through columns: along a trunk the highest and lowest place so far are known. */
export function wireExtents({ place, model }: View): Extents {
  const { parent, child } = model.edges;
  const low = Float32Array.from(place.places);
  const high = Float32Array.from(place.places);
  const begins = new Set(place.first);
  for (let k = 1; k < low.length; k++) {
    if (begins.has(k)) continue;
    low[k] = Math.min(low[k], low[k - 1]);
    high[k] = Math.max(high[k], high[k - 1]);
  }
  const found = new Float32Array(4 * parent.length);
  for (let e = 0; e < parent.length; e++) {
    const tail = parent[e];
    const head = child[e];
    const from = place.y[tail];
    const to = place.y[head] + place.entry[e];
    const last = place.first[tail] + place.layer[head] - place.layer[tail] - 2;
    const trunk = place.first[tail] >= 0 && last >= place.first[tail];
    const top = Math.min(from, to, trunk ? low[last] : from);
    const bottom = Math.max(from, to, trunk ? high[last] : from);
    put(found, e, place.x[tail] + place.wide[tail] - 4, top - 14, place.x[head] + place.lead[head] + 4, bottom + 14);
  }
  return found;
}

export function routeExtents(routes: Point[][]): Extents {
  const found = new Float32Array(4 * routes.length);
  routes.forEach((route, k) => {
    const heights = route.map(([, y]) => y);
    put(found, k, route[0][0] - 4, Math.min(...heights) - 14, route.at(-1)![0] + 4, Math.max(...heights) + 14);
  });
  return found;
}
