import { expect, test } from "vitest";
import { layout, type Size } from "../src/layout";

const box = (wide = 60): Size => ({ wide, above: 20, below: 30 });

/** Whether two boxes lie apart. */
function apart(made: ReturnType<typeof layout>, boxes: Size[]): boolean {
  return boxes.every((a, u) => boxes.every((b, v) => u === v
    || made.x[u] + a.wide <= made.x[v] || made.x[v] + b.wide <= made.x[u]
    || made.y[u] + a.below <= made.y[v] - b.above || made.y[v] + b.below <= made.y[u] - a.above));
}

test("what is computed from something stands right of it, and nothing overlaps", () => {
  const tails = [0, 1, 0, 2, 3, 4, 1];
  const heads = [2, 2, 3, 4, 4, 5, 5];
  const boxes = [box(), box(90), box(40), box(), box(120), box()];
  const made = layout(boxes, tails, heads);
  tails.forEach((tail, e) => expect(made.x[tail] + boxes[tail].wide).toBeLessThan(made.x[heads[e]]));
  expect(apart(made, boxes)).toBe(true);
  boxes.forEach((size, v) => {
    expect(made.y[v] - size.above).toBeGreaterThanOrEqual(-1e-9);
    expect(made.y[v] + size.below).toBeLessThanOrEqual(made.height + 1e-9);
    expect(made.x[v] + size.wide).toBeLessThanOrEqual(made.width + 1e-9);
  });
});

test("a chain is straight", () => {
  const made = layout([box(), box(), box(), box()], [0, 1, 2], [1, 2, 3]);
  expect(new Set(made.y).size).toBe(1);
});

test("ports stay in the first column, and a long wire has a place in each column it crosses", () => {
  const port: Size = { wide: 0, above: 5, below: 5 };
  const made = layout([port, port, box(), box(), box()], [0, 2, 3, 1], [2, 3, 4, 4], 2);
  expect(made.layer).toEqual([0, 0, 1, 2, 3]);
  expect(made.first[1]).toBeGreaterThanOrEqual(0);
  expect(made.places.length).toBe(2);
});

test("where wires end can be fixed", () => {
  const frame: Size = { ...box(), entries: new Map([[0, -11], [1, 17]]) };
  const made = layout([box(), box(), frame], [0, 1], [2, 2]);
  expect(made.entry).toEqual([-11, 17]);
});
