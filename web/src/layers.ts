// Which column each box stands in, and the places where long wires cross a column: see layers.py.

export interface Layers {
  layer: number[];
  ports: number; // vertices before this are where wires come in
  nodes: number; // those from this on are places of trunks
  first: number[]; // of each box the first place of its trunk, or -1
  left: number[][];
  right: number[][];
  columns: number[][];
}

/** The columns of boxes numbered in order, edges from `tails` to later `heads`; the first `ports` boxes stay left. */
export function layersOf(count: number, tails: number[], heads: number[], ports = 0): Layers {
  const parents: number[][] = Array.from({ length: count }, () => []);
  const children: number[][] = Array.from({ length: count }, () => []);
  tails.forEach((tail, e) => {
    parents[heads[e]].push(tail);
    children[tail].push(heads[e]);
  });
  const layer = columnsOf(parents, children, ports);
  const spans = children.map((near, v) => Math.max(0, ...near.map((c) => layer[c])) - layer[v] - 1);
  const first = new Array<number>(count).fill(-1);
  let total = count;
  const crossing = [...spans.keys()].filter((v) => spans[v] > 0).sort((a, b) => spans[a] - spans[b]);
  for (const v of crossing) {
    first[v] = total;
    total += spans[v];
  }
  return { ...connected(layer, first, total, spans, parents, children), ports };
}

function columnsOf(parents: number[][], children: number[][], ports: number): number[] {
  const layer: number[] = [];
  parents.forEach((above, v) => layer.push(Math.max(v < ports ? -1 : ports ? 0 : -1, ...above.map((p) => layer[p])) + 1));
  const last = Math.max(0, ...layer);
  const reach = new Array<number>(layer.length).fill(-1);
  for (let v = layer.length - 1; v >= 0; v--) {
    if (children[v].length && v >= ports) {
      const target = Math.min(...children[v].map((c) => layer[c])) - 1;
      if (target > layer[v] && longer(v, target, parents, children, reach) <= 1) layer[v] = target;
    } else if (parents[v].length) layer[v] = last;
    for (const p of parents[v]) reach[p] = Math.max(reach[p], layer[v]);
  }
  return layer;
}

/** How many wires grow if v moves right, where its own shrinks: not those of who can follow. */
function longer(v: number, target: number, parents: number[][], children: number[][], reach: number[]): number {
  return parents[v].filter((p) => reach[p] < target && !(children[p].length === 1 && parents[p].length <= 1)).length;
}

function connected(layer: number[], first: number[], total: number, spans: number[], parents: number[][], children: number[][]): Omit<Layers, "ports"> {
  const count = layer.length;
  const left: number[][] = Array.from({ length: total }, () => []);
  const right: number[][] = Array.from({ length: total }, () => []);
  const join = (a: number, b: number) => {
    right[a].push(b);
    left[b].push(a);
  };
  for (let p = 0; p < count; p++) {
    for (let k = 0; first[p] >= 0 && k < spans[p]; k++) {
      const place = first[p] + k;
      layer[place] = layer[p] + k + 1;
      join(k ? place - 1 : p, place);
    }
  }
  for (let c = 0; c < count; c++) {
    for (const p of parents[c]) {
      const span = layer[c] - layer[p];
      join(span > 1 ? first[p] + span - 2 : p, c);
    }
  }
  const columns: number[][] = Array.from({ length: Math.max(-1, ...layer) + 1 }, () => []);
  for (const v of depthFirst(parents, children, first, spans)) columns[layer[v]].push(v);
  return { layer, nodes: count, first, left, right, columns };
}

/** Every vertex once, from the results back along first arguments first: a tree has no crossing. */
function depthFirst(parents: number[][], children: number[][], first: number[], spans: number[]): number[] {
  const seen = new Set<number>();
  const order: number[] = [];
  const stack = parents.map((_, v) => v).filter((v) => !children[v].length).reverse();
  while (stack.length) {
    const v = stack.pop()!;
    if (seen.has(v)) continue;
    seen.add(v);
    order.push(v);
    for (let k = 0; first[v] >= 0 && k < spans[v]; k++) order.push(first[v] + k);
    stack.push(...[...parents[v]].reverse());
  }
  return order;
}
