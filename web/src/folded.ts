// What is seen of the tree: closed groups as boxes, open ones as frames, each laid out in itself.
//
// The wires into a frame come in through ports at its left, one for each thing that they come from; all
// that leaves it leaves at one place at its right, as from a closed group. So a group is laid out by itself,
// and outside it only its size counts.

import { boxOf, type Box } from "./boxes";
import { LETTER } from "./chips";
import { layout, type Size, type Spread } from "./layout";
import type { Model, Nodes, Place, View } from "./model";
import type { Tree } from "./tree";
import { course, type Point } from "./wires";

export const TITLE = 24; // the height of the name of a frame
const PAD = 14; // around what is in a frame
const LONGEST = 40; // characters of a name that a frame is made wide enough for
const WIRE = 5;
const WIDE = 2 ** 21; // numbers of things are smaller

export interface Panel { group: number; x: number; y: number; wide: number; high: number; depth: number }
export interface Segment { route: Point[]; flow: boolean }

/** One open group: the things in it, and the wires between them, from ports (-1, -2, …) and to the end. */
class Level {
  readonly at = new Map<number, number>();
  readonly ports = new Map<number, number>(); // by the number that its source has one level up
  readonly tails: number[] = [];
  readonly heads: number[] = [];
  readonly flow: boolean[] = [];
  private readonly known = new Map<number, number>();
  sizes: Size[] = [];
  spread!: Spread;
  x = 0;
  y = 0;
  wide = 0; // of the frame

  constructor(readonly items: number[], private readonly name: string) {
    items.forEach((item, k) => this.at.set(item, k));
  }

  wire(tail: number, head: number): number {
    const key = (tail + WIDE) * WIDE + head;
    let e = this.known.get(key);
    if (e === undefined) {
      e = this.tails.push(tail) - 1;
      this.heads.push(head);
      this.flow.push(false);
      this.known.set(key, e);
    }
    return e;
  }

  port(source: number): number {
    let k = this.ports.get(source);
    if (k === undefined) this.ports.set(source, (k = this.ports.size));
    return -1 - k;
  }

  /** The number of a thing or port among what is laid out: ports first, the end last. */
  vertex(ref: number): number {
    return ref < 0 ? -1 - ref : this.ports.size + ref;
  }

  get out(): number {
    return this.items.length;
  }

  arrange(size: (item: number, level: Level) => Size): void {
    const port: Size = { wide: 0, above: WIRE, below: WIRE };
    this.sizes = [...Array.from(this.ports, () => port), ...this.items.map((item) => size(item, this))];
    if (this.heads.includes(this.out)) {
      this.sizes.push({ ...port, entries: new Map(this.tails.map((tail) => [this.vertex(tail), 0])) });
    }
    this.spread = layout(this.sizes, this.tails.map((ref) => this.vertex(ref)), this.heads.map((ref) => this.vertex(ref)), this.ports.size);
  }

  /** The frame around it, as one thing of the level above. */
  frame(above: Level): Size {
    const { y, width, height } = this.spread;
    const end = this.vertex(this.out);
    const middle = y[end] ?? height / 2;
    const entries = new Map([...this.ports].map(([source, k]) => [above.vertex(source), y[k] - middle]));
    this.wide = Math.max(width + 2 * PAD, Math.min(this.name.length + 2, LONGEST) * LETTER + 18);
    return { wide: this.wide, above: middle + TITLE + PAD / 2, below: height - middle + PAD, entries };
  }

  /** Of the wires that leave a thing, those that go farthest. */
  farthest(): Set<number> {
    const best = new Map<number, number>();
    const layer = (e: number) => this.spread.layer[this.vertex(this.heads[e])];
    this.tails.forEach((tail, e) => {
      const key = 2 * tail + Number(this.flow[e]);
      const known = best.get(key);
      if (known === undefined || layer(e) > layer(known)) best.set(key, e);
    });
    return new Set(best.values());
  }

  route(e: number): Point[] {
    const tail = this.vertex(this.tails[e]);
    const head = this.vertex(this.heads[e]);
    const { x } = this.spread;
    const points = course(this.spread, x[tail] + this.sizes[tail].wide, tail, head, this.spread.entry[e]);
    return points.map(([a, b]) => [a + this.x, b + this.y]);
  }
}

/** The view of what is open; `base` is that of single nodes. */
export function folded(base: View, tree: Tree): View {
  const levels = new Map<number, Level>();
  const boxes: number[] = []; // things that are drawn as one, in the order of the recording
  const walk: number[] = []; // and among them the frames
  const stack = [~0];
  while (stack.length) {
    const item = stack.pop()!;
    if (item !== ~0) walk.push(item);
    if (item >= 0 || !tree.open.has(~item)) {
      boxes.push(item);
      continue;
    }
    levels.set(~item, new Level(tree.items[~item], tree.groups.name[~item]));
    for (const inner of [...tree.items[~item]].reverse()) stack.push(inner);
  }
  const index = new Map(boxes.map((item, k) => [item, k]));
  const group = base.model.nodes.label.map((_, v) => index.get(tree.seen(v))!);
  const joins = joined(base, tree, levels, boxes, group);
  const model = modelOf(base, tree, boxes, group, joins);
  const own = boxes.map((item, k) => (item >= 0 ? null : boxOf(model, k)));
  const size = (item: number, level: Level): Size => {
    if (item < 0 && tree.open.has(~item)) return levels.get(~item)!.frame(level);
    const made = own[index.get(item)!];
    const { wide, above, below } = base.place;
    const measures = made ?? { wide: wide[item], above: above[item], below: below[item] };
    return { ...measures, leaf: !model.nodes.op[index.get(item)!] };
  };
  for (const level of [...levels.values()].reverse()) level.arrange(size);
  const { place, panels } = placed(base, tree, levels, index, joins, own);
  return {
    ...linked(joins, boxes.length), model, place, group, alone: boxes.map((item) => (item >= 0 ? item : -1)),
    folds: {
      items: boxes, walk, panels, segments: segmentsOf(levels, index, place),
      route: (e) => routeOf(joins, place, e),
      edge: (e) => joins.at.get(group[base.model.edges.parent[e]] * boxes.length + group[base.model.edges.child[e]]) ?? -1,
    },
  };
}

// -- wires ------------------------------------------------------------------------------------

interface Joins { tail: number[]; head: number[]; edges: number[][]; parts: [Level, number][][]; at: Map<number, number> }

/** The wires between boxes, with the pieces that each has in the levels it passes. */
function joined(base: View, tree: Tree, levels: Map<number, Level>, boxes: number[], group: number[]): Joins {
  const joins: Joins = { tail: [], head: [], edges: [], parts: [], at: new Map() };
  const { parent, child, flow } = base.model.edges;
  for (let e = 0; e < parent.length; e++) {
    const a = group[parent[e]];
    const b = group[child[e]];
    if (a === b) continue;
    const key = a * boxes.length + b;
    let join = joins.at.get(key);
    if (join === undefined) {
      join = joins.tail.push(a) - 1;
      joins.head.push(b);
      joins.edges.push([]);
      joins.parts.push(pieces(tree, levels, boxes[a], boxes[b]));
      joins.at.set(key, join);
    }
    joins.edges[join].push(e);
    if (flow[e]) for (const [level, k] of joins.parts[join]) level.flow[k] = true;
  }
  return joins;
}

/** Out of the frames around a, across the frame that has both, and into those around b. */
function pieces(tree: Tree, levels: Map<number, Level>, a: number, b: number): [Level, number][] {
  const found: [Level, number][] = [];
  const down: [Level, number][] = []; // frames around b, and what in each leads to it
  let from = tree.home(a);
  let to = tree.home(b);
  let [tail, head] = [a, b];
  while (from !== to) {
    if (tree.depth[from] >= tree.depth[to]) {
      const level = levels.get(from)!;
      found.push([level, level.wire(level.at.get(tail)!, level.out)]);
      [tail, from] = [~from, tree.groups.parent[from]];
    } else {
      down.push([levels.get(to)!, head]);
      [head, to] = [~to, tree.groups.parent[to]];
    }
  }
  const level = levels.get(from)!;
  let source = level.at.get(tail)!;
  found.push([level, level.wire(source, level.at.get(head)!)]);
  for (const [inner, item] of down.reverse()) {
    source = inner.port(source);
    found.push([inner, inner.wire(source, inner.at.get(item)!)]);
  }
  return found;
}

// -- what stands in the boxes -------------------------------------------------------------------

/** Per box the nodes whose values leave it. */
function resultsOf(base: View, boxes: number[], group: number[]): number[][] {
  const found: Set<number>[] = boxes.map(() => new Set());
  const { parent, child } = base.model.edges;
  parent.forEach((p, e) => { if (group[p] !== group[child[e]]) found[group[p]].add(p); });
  for (const v of base.model.outputs) found[group[v]].add(v);
  return found.map((nodes) => [...nodes]);
}

function modelOf(base: View, tree: Tree, boxes: number[], group: number[], joins: Joins): Model {
  const results = resultsOf(base, boxes, group);
  const { nodes, edges, arrays } = base.model;
  const { kind, name, line } = tree.groups;
  const one = (k: number) => (boxes[k] >= 0 ? boxes[k] : results[k].length === 1 ? results[k][0] : -1);
  const each = <T>(of: (item: number, k: number) => T): T[] => boxes.map(of);
  const flags = boxes.map(() => 0);
  group.forEach((k, v) => { flags[k] |= nodes.flags[v]; });
  const taken = <K extends keyof Nodes>(column: K, otherwise: Nodes[K][number]) => each((_, k) => (one(k) < 0 ? otherwise : nodes[column][one(k)])) as Nodes[K];
  const made: Nodes = {
    label: each((item) => (item < 0 ? name[~item] : nodes.label[item])),
    named: each((item) => item < 0 || nodes.named[item]),
    op: each((item) => (item >= 0 ? nodes.op[item] : kind[~item] === "leaves" ? "" : kind[~item])),
    symbol: each((item) => (item < 0 ? `▸ ${name[~item]}` : nodes.symbol[item])),
    gate: each((item) => (item < 0 ? "" : nodes.gate[item])),
    call: each((item) => (item < 0 ? "" : nodes.call[item])),
    line: each((item) => (item < 0 ? line[~item] : nodes.line[item])),
    count: each((item) => (item < 0 ? tree.count[~item] : 1)),
    shape: taken("shape", ""), dtype: taken("dtype", ""), value: taken("value", ""), number: taken("number", null),
    adjoint: taken("adjoint", ""), slope: taken("slope", null), status: taken("status", ""), flags,
  };
  results.forEach((leaving, k) => {
    if (boxes[k] < 0 && leaving.length > 1 && made.op[k]) made.shape[k] = `${leaving.length} results`;
  });
  const only = (k: number) => (joins.edges[k].length === 1 ? joins.edges[k][0] : -1);
  const node = (k: number) => boxes[joins.head[k]] >= 0 && boxes[joins.tail[k]] >= 0;
  const summaries = (which: "value" | "adjoint") => Object.fromEntries(boxes.flatMap((_, k) => (arrays[which][one(k)] ? [[k, arrays[which][one(k)]]] : [])));
  return {
    ...base.model,
    nodes: made,
    edges: {
      parent: joins.tail, child: joins.head, count: joins.edges.map((all) => all.length),
      slots: joins.edges.map((all) => edges.slots[all[0]]),
      local: joins.edges.map((_, k) => (only(k) >= 0 && boxes[joins.head[k]] >= 0 ? edges.local[only(k)] : "")),
      contribution: joins.edges.map((_, k) => (only(k) >= 0 && node(k) ? edges.contribution[only(k)] : "")),
      flow: joins.edges.map((all) => all.some((e) => edges.flow[e])),
    },
    leaves: [...new Set(base.model.leaves.map((v) => group[v]))],
    outputs: [...new Set(base.model.outputs.map((v) => group[v]))],
    arrays: { value: summaries("value"), adjoint: summaries("adjoint") },
  };
}

// -- where all of it stands -------------------------------------------------------------------

function placed(base: View, tree: Tree, levels: Map<number, Level>, index: Map<number, number>, joins: Joins, own: (Box | null)[]): { place: Place; panels: Panel[] } {
  const x: number[] = [];
  const y: number[] = [];
  const start: number[] = []; // of the column that each box stands in
  const end: number[] = [];
  const panels: Panel[] = [];
  for (const level of levels.values()) {
    const { spread, sizes, ports } = level;
    level.items.forEach((item, i) => {
      const v = ports.size + i;
      const [left, wire] = [level.x + spread.x[v], level.y + spread.y[v]];
      const inner = item < 0 ? levels.get(~item) : undefined;
      if (!inner) {
        const k = index.get(item)!;
        [x[k], y[k]] = [left, wire];
        start[k] = level.x + spread.start[spread.layer[v]];
        end[k] = level.x + spread.end[spread.layer[v]];
        return;
      }
      const { wide, above, below } = sizes[v];
      panels.push({ group: ~item, x: left, y: wire - above, wide, high: above + below, depth: tree.depth[~item] });
      inner.x = left + PAD;
      inner.y = wire - above + TITLE + PAD / 2;
    });
  }
  const items = [...index.keys()];
  const column = (name: keyof Box) => items.map((item, k) => own[k]?.[name] ?? base.place[name][item]);
  const entry = joins.parts.map((parts) => {
    const [level, e] = parts.at(-1)!;
    return level.spread.entry[e];
  });
  const measures = { lead: column("lead"), gate: column("gate"), wide: column("wide"), above: column("above"), below: column("below") };
  const columns = { layer: [...x.keys()], start, end, first: x.map(() => -1), places: [] };
  return { place: { ...levels.get(0)!.spread, ...columns, x, y, entry, ...measures }, panels };
}

function linked(joins: Joins, count: number): Pick<View, "into" | "from" | "farthest"> {
  const into: number[][] = Array.from({ length: count }, () => []);
  const from: number[][] = Array.from({ length: count }, () => []);
  joins.tail.forEach((tail, e) => {
    from[tail].push(e);
    into[joins.head[e]].push(e);
  });
  return { into, from, farthest: new Set(joins.tail.keys()) };
}

/** All of a wire, through every frame that it crosses. */
function routeOf(joins: Joins, place: Place, e: number): Point[] {
  const points = joins.parts[e].flatMap(([level, k], at) => level.route(k).slice(at ? 1 : 0));
  return [...points, [gateOf(place, joins.head[e]), points.at(-1)![1]]];
}

/** Where the gate of a box begins. */
function gateOf(place: Place, k: number): number {
  return place.x[k] + place.lead[k] + (place.gate[k] ? 2 : 0);
}

/** Every piece of wire once, from the edge of a frame to the gate it leads to. */
function segmentsOf(levels: Map<number, Level>, index: Map<number, number>, place: Place): Segment[] {
  const found: Segment[] = [];
  for (const level of levels.values()) {
    const farthest = level.farthest();
    level.tails.forEach((tail, e) => {
      const whole = level.route(e);
      // The trunk that wires from one thing share is drawn with the one that goes farthest.
      const route = farthest.has(e) ? whole : [whole.at(-2)!, ...whole.slice(-2)];
      const head = level.heads[e];
      const height = route.at(-1)![1];
      const box = head < level.out ? index.get(level.items[head]) : undefined;
      if (tail < 0 && farthest.has(e)) route[0] = [route[0][0] - PAD, route[0][1]];
      if (head === level.out) route.push([level.x - PAD + level.wide, height]);
      else if (box !== undefined) route.push([gateOf(place, box), height]);
      found.push({ route, flow: level.flow[e] });
    });
  }
  return found;
}
