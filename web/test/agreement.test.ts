import { expect, test } from "vitest";
import { layout, type Spread } from "../src/layout";
import written from "./layouts.json";

interface Case { tails: number[]; heads: number[]; widths: number[]; halves: number[]; leaves: boolean[]; place: Spread }
// Written by tests/web/layouts.py, which also tests that it is where Python puts them today.
const cases = written as unknown as Record<string, Case>;

test.each(Object.keys(cases))("%s stands where Python puts it", (name) => {
  const { tails, heads, widths, halves, leaves, place } = cases[name];
  const made = layout(widths.map((wide, v) => ({ wide, above: halves[v], below: halves[v], leaf: leaves[v] })), tails, heads);
  for (const column of ["x", "y", "start", "end", "places", "entry"] as const) {
    expect(made[column].length).toBe(place[column].length);
    made[column].forEach((at, k) => expect(Math.abs(at - place[column][k])).toBeLessThan(0.06));
  }
  expect([made.layer, made.first]).toEqual([place.layer, place.first]);
});
