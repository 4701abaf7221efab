// Where boxes of any size stand, sources left and results right: layout.py, for what is opened in the page.

import { ordered } from "./crossings";
import { layersOf } from "./layers";
import type { Place } from "./model";
import { heightsOf } from "./straighten";

const GAP = 30; // between columns, at the least
const STEEP = 0.12; // of the height a wire climbs is added to the gap
const WIDEST = 80; // that is added
const APART = 12; // between the boxes in a column
const WIRE = 5; // half the height that a wire passing through a column has for itself
const PORT = 7; // between wires that end at one box
const LEVEL = 0.5; // what does not climb more is drawn level

/** The size of a box, whose wire leaves it `above` under its top; `entries` fixes where edges end, by their tail. */
export interface Size { wide: number; above: number; below: number; leaf?: boolean; entries?: Map<number, number> }
export type Spread = Omit<Place, "lead" | "gate" | "wide" | "above" | "below">;

/** Place boxes that are numbered in order; the first `ports` of them are where wires come in. */
export function layout(boxes: Size[], tails: number[], heads: number[], ports = 0): Spread {
  const count = boxes.length;
  const layers = layersOf(count, tails, heads, ports);
  const columns = ordered(layers);
  const room = (side: "above" | "below") => layers.layer.map((_, v) => (v < count ? boxes[v][side] : WIRE));
  const [above, below] = [room("above"), room("below")];
  const heights = heightsOf(layers, columns, above, below, APART);
  const top = Math.min(...heights.map((y, v) => y - above[v]));
  const y = heights.map((height) => height - top);
  const [start, end] = extents(layers.layer, layers.columns.length, layers.left, y, boxes);
  const { layer } = layers;
  const x = boxes.map((box, v) => (box.leaf && layer[v] > 0 ? end[layer[v]] - box.wide : start[layer[v]]));
  const first = layers.first.map((v) => (v < 0 ? -1 : v - count));
  const arrivals = tails.map((tail, e) => {
    const span = layer[heads[e]] - layer[tail];
    return y[span > 1 ? layers.first[tail] + span - 2 : tail];
  });
  return {
    x, y: y.slice(0, count), layer: layer.slice(0, count), start, end, first, places: y.slice(count),
    entry: entries(boxes, tails, heads, arrivals, y),
    width: end.at(-1) ?? 0, height: Math.max(0, ...y.map((height, v) => height + below[v])),
  };
}

/** Where each column begins and ends; where wires climb high, the gap before it is wider. */
function extents(layer: number[], count: number, left: number[][], y: number[], boxes: Size[]): [number[], number[]] {
  const width = new Array<number>(count).fill(0);
  const climb = new Array<number>(count).fill(0);
  boxes.forEach((box, v) => { width[layer[v]] = Math.max(width[layer[v]], box.wide); });
  left.forEach((near, v) => near.forEach((u) => { climb[layer[v]] = Math.max(climb[layer[v]], Math.abs(y[v] - y[u])); }));
  const start: number[] = [];
  const end: number[] = [];
  let at = 0;
  for (let k = 0; k < count; k++) {
    if (k) at += GAP + Math.min(STEEP * climb[k], WIDEST);
    start.push(at);
    end.push(at += width[k]);
  }
  return [start, end];
}

/** Where the edges into one box end, side by side, in the order in which they come. */
function entries(boxes: Size[], tails: number[], heads: number[], arrivals: number[], y: number[]): number[] {
  const into: number[][] = boxes.map(() => []);
  heads.forEach((head, e) => into[head].push(e));
  const entry = new Array<number>(heads.length).fill(0);
  into.forEach((edges, head) => {
    const { above, below, entries: fixed } = boxes[head];
    if (fixed) {
      for (const e of edges) entry[e] = fixed.get(tails[e])!;
      return;
    }
    edges.sort((a, b) => arrivals[a] - arrivals[b]);
    const step = Math.min(PORT, (2 * Math.min(above, below)) / edges.length);
    const offset = (rank: number) => (rank - (edges.length - 1) / 2) * step;
    // One of two wires that comes level stays so.
    const level = edges.length === 2 ? edges.findIndex((e) => Math.abs(arrivals[e] - y[head]) < LEVEL) : -1;
    edges.forEach((e, rank) => { entry[e] = offset(rank) - (level < 0 ? 0 : offset(level)); });
  });
  return entry;
}
