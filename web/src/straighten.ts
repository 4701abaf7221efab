// How high each vertex stands: long wires straight, neighbours close, nothing overlapping: see straighten.py.

import type { Layers } from "./layers";

/** The height of the wire of each vertex, which needs so much room above and below it. */
export function heightsOf(layers: Layers, columns: number[][], above: number[], below: number[], gap: number): number[] {
  const crossed = crossing(layers, columns);
  const [lefts, rights] = alongTrunks(layers);
  const found: number[][] = [];
  for (const [upward, rightward] of [[false, true], [true, false], [true, true], [false, false]]) {
    const order = upward ? columns.map((column) => [...column].reverse()) : columns;
    const sweep = rightward ? order : [...order].reverse();
    const root = blocks(layers.layer.length, sweep, rightward ? lefts : rights, crossed, rightward);
    const apart = upward ? (u: number, v: number) => above[u] + below[v] + gap : (u: number, v: number) => below[u] + above[v] + gap;
    const placed = packed(order, root, apart);
    found.push(upward ? placed.map((y) => -y) : placed);
  }
  return averaged(found);
}

const key = (left: number, right: number) => `${left} ${right}`;

/** Neighbours to align with: a trunk goes straight on, whoever leaves it on the way bends, and so does a leaf that is not alone. */
function alongTrunks({ ports, nodes, left, right }: Layers): [number[][], number[][]] {
  const leaf = left.map((near, v) => !near.length && v >= ports && v < nodes);
  const passed = left.map((near) => near.some((w) => !leaf[w]));
  const goesOn = right.map((near, v) => v >= nodes && near.length > 0 && near[0] >= nodes);
  const rights = right.map((near, v) => (goesOn[v] ? near.slice(0, 1) : near.filter((w) => !(leaf[v] && passed[w]))));
  const lefts = left.map((near, v) => (v >= nodes ? near : near.filter((w) => !goesOn[w] && !(leaf[w] && passed[v]))));
  return [lefts, rights];
}

/** Wires that cross a trunk: the trunk stays straight, not they. */
function crossing({ nodes, left }: Layers, columns: number[][]): Set<string> {
  const crossed = new Set<string>();
  columns.slice(1).forEach((column, at) => {
    const before = columns[at];
    const place = new Map(before.map((v, k) => [v, k]));
    let [low, start] = [0, 0];
    column.forEach((v, k) => {
      const inner = v >= nodes && left[v][0] >= nodes ? left[v][0] : -1;
      if (inner < 0 && k < column.length - 1) return;
      const high = inner >= 0 ? place.get(inner)! : before.length - 1;
      for (const u of column.slice(start, k + 1)) {
        for (const w of left[u]) {
          const there = place.get(w)!;
          if (!(w >= nodes && u >= nodes) && (there < low || there > high)) crossed.add(key(w, u));
        }
      }
      [low, start] = [high, k + 1];
    });
  });
  return crossed;
}

/** Per vertex the first of its block, which stands for it. */
function blocks(total: number, sweep: number[][], near: number[][], crossed: Set<string>, rightward: boolean): number[] {
  const root = Array.from({ length: total }, (_, v) => v);
  const taken = new Array<boolean>(total).fill(false);
  const place = new Array<number>(total).fill(0);
  for (const column of sweep) {
    let reached = -1;
    column.forEach((v, k) => {
      place[v] = k;
      const around = [...near[v]].sort((a, b) => place[a] - place[b]);
      if (!around.length) return;
      const last = around.length - 1;
      for (const w of new Set([around[last >> 1], around[(last + 1) >> 1]])) {
        if (place[w] <= reached || taken[w] || crossed.has(rightward ? key(w, v) : key(v, w))) continue;
        root[v] = root[w];
        taken[w] = true;
        reached = place[w];
        break;
      }
    });
  }
  return root;
}

/** Each block as high as those above it allow, then as low as those below it allow. */
function packed(columns: number[][], root: number[], apart: (u: number, v: number) => number): number[] {
  const below: [number, number][][] = root.map(() => []);
  const waiting = root.map(() => 0);
  for (const column of columns) {
    for (let k = 0; k + 1 < column.length; k++) {
      below[root[column[k]]].push([root[column[k + 1]], apart(column[k], column[k + 1])]);
      waiting[root[column[k + 1]]] += 1;
    }
  }
  const y = root.map(() => 0);
  const order = root.map((_, v) => v).filter((v) => root[v] === v && !waiting[v]);
  for (const v of order) {
    for (const [w, room] of below[v]) {
      y[w] = Math.max(y[w], y[v] + room);
      waiting[w] -= 1;
      if (!waiting[w]) order.push(w);
    }
  }
  for (const v of order.reverse()) {
    if (below[v].length) y[v] = Math.min(...below[v].map(([w, room]) => y[w] - room));
  }
  return root.map((r) => y[r]);
}

/** The mean of the middle two, after all have been moved onto the narrowest. */
function averaged(found: number[][]): number[] {
  const spans = found.map((ys) => [Math.min(...ys), Math.max(...ys)]);
  const [top, bottom] = spans.reduce((best, span) => (span[1] - span[0] < best[1] - best[0] ? span : best));
  const moved = found.map((ys, k) => {
    // Those packed from above touch the top, those packed from below the bottom.
    const shift = k === 1 || k === 2 ? bottom - spans[k][1] : top - spans[k][0];
    return ys.map((y) => y + shift);
  });
  return moved[0].map((_, v) => {
    const middle = moved.map((ys) => ys[v]).sort((a, b) => a - b);
    return (middle[1] + middle[2]) / 2;
  });
}
