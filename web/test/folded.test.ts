import { expect, test } from "vitest";
import { folded } from "../src/folded";
import type { View } from "../src/model";
import { Tree } from "../src/tree";
import { small } from "./small";

/** 0 → 1 → 2 → 3 → 4 → 5 with 0 → 3 and 2 → 5, all numbers. */
function chain(): View {
  const parent = [0, 1, 2, 0, 3, 4, 2];
  const child = [1, 2, 3, 3, 4, 5, 5];
  const all = <T>(value: T) => new Array<T>(6).fill(value);
  const wires = <T>(value: T) => new Array<T>(7).fill(value);
  const into = all(0).map((_, v) => child.flatMap((c, e) => (c === v ? [e] : [])));
  const from = all(0).map((_, v) => parent.flatMap((p, e) => (p === v ? [e] : [])));
  return {
    model: {
      name: "f", stage: "backward", leaves: [0], outputs: [5], lines: { file: [], number: [], text: [], function: [] }, arrays: { value: {}, adjoint: {} },
      nodes: {
        label: ["a", "b", "c", "d", "e", "f"], named: all(true), op: ["", ...new Array(5).fill("add")], symbol: all("+"), gate: all(""), shape: all(""), dtype: all("float64"),
        call: all("call"), line: all(-1), count: all(1), value: ["1", "2", "3", "4", "5", "6"], number: all(null), adjoint: ["9", "8", "7", "6", "5", "4"], slope: all(null), status: all("value"), flags: [0, 0, 0, 1, 0, 0],
      },
      edges: { parent, child, slots: wires([0]), local: wires("2"), contribution: wires("3"), flow: [true, true, true, false, true, true, true], count: wires(1) },
    },
    place: { x: [], y: [], layer: [], start: [], end: [], first: [], places: [], entry: [], width: 0, height: 0, lead: all(8), gate: [0, 26, 26, 26, 26, 26], wide: all(70), above: all(19), below: all(19) },
    into, from, group: null, alone: [0, 1, 2, 3, 4, 5], farthest: new Set(),
  };
}

function open(...groups: number[]): { view: View; tree: Tree } {
  const tree = small();
  tree.open = new Set([0, ...groups]);
  return { view: folded(chain(), tree), tree };
}

test("a closed group is one box, which shows its one result", () => {
  const { view } = open();
  expect(view.folds!.items).toEqual([0, ~1, 5]);
  expect(view.group).toEqual([0, 1, 1, 1, 1, 2]);
  expect(view.model.edges.parent.map((p, e) => [p, view.model.edges.child[e], view.model.edges.count[e]])).toEqual([[0, 1, 2], [1, 2, 2]]);
  expect(view.model.nodes.symbol[1]).toBe("▸ g");
  expect(view.model.nodes.shape[1]).toBe("2 results"); // c and e leave it
  expect(view.model.nodes.flags[1]).toBe(1);
  expect(view.folds!.panels).toEqual([]);
});

test("an open group is a frame around its boxes, and those outside stay outside", () => {
  const { view } = open(1, 2);
  expect(view.folds!.items).toEqual([0, 1, 2, 3, 4, 5]);
  expect(view.folds!.walk).toEqual([0, ~1, 1, 2, ~2, 3, 4, 5]);
  const { place } = view;
  const [outer, inner] = view.folds!.panels;
  const inside = (v: number, panel: typeof outer) => place.x[v] >= panel.x && place.x[v] + place.wide[v] <= panel.x + panel.wide
    && place.y[v] - place.above[v] >= panel.y && place.y[v] + place.below[v] <= panel.y + panel.high;
  const beside = (v: number, panel: typeof outer) => place.x[v] >= panel.x + panel.wide || place.x[v] + place.wide[v] <= panel.x
    || place.y[v] - place.above[v] >= panel.y + panel.high || place.y[v] + place.below[v] <= panel.y;
  expect([1, 2, 3, 4].every((v) => inside(v, outer))).toBe(true);
  expect([3, 4].every((v) => inside(v, inner))).toBe(true);
  expect([0, 5].every((v) => beside(v, outer)) && [1, 2].every((v) => beside(v, inner))).toBe(true);
});

test("a wire goes from box to box through every frame between them", () => {
  const { view } = open(1, 2);
  const { place, folds } = view;
  view.model.edges.parent.forEach((tail, e) => {
    const head = view.model.edges.child[e];
    const route = folds!.route(e);
    expect(route[0]).toEqual([place.x[tail] + place.wide[tail], place.y[tail]]);
    expect(route.at(-1)![0]).toBeCloseTo(place.x[head] + place.lead[head] + 2);
    expect(route.length % 2).toBe(0);
    route.slice(1).forEach(([x], k) => expect(x).toBeGreaterThanOrEqual(route[k][0] - 1e-9));
    for (let k = 1; k < route.length; k += 2) expect(route[k][1]).toBeCloseTo(route[k - 1][1]); // level
  });
  expect(folds!.edge(3)).toBeGreaterThanOrEqual(0);
  expect(folds!.segments.some((segment) => !segment.flow)).toBe(true);
});

test("edges inside a closed group have no wire", () => {
  const { view } = open(1);
  expect(view.folds!.edge(4)).toBe(-1);
  expect(view.alone).toEqual([0, 1, 2, -1, 5]);
  expect(view.model.nodes.value[3]).toBe("5");
});
