// The texts beside adjoints hide nothing.
import { describe, expect, it } from "vitest";
import { Camera } from "../src/camera";
import { freeSpot, HIGH, type Spot } from "../src/chips";
import type { View } from "../src/model";
import type { Point } from "../src/wires";

const camera = Object.assign(new Camera(), { x: -100, y: -100, width: 600, height: 400 });
const view = (...nodes: { x: number; y: number }[]): View => ({
  place: {
    x: nodes.map((node) => node.x), y: nodes.map((node) => node.y), lead: nodes.map(() => 0), gate: nodes.map(() => 26),
    wide: nodes.map(() => 90), above: nodes.map(() => 19), below: nodes.map(() => 19),
  },
}) as unknown as View;
const spot = (shown: View, routes: Point[][] = [], taken: Spot[] = [], seen = camera) => freeSpot(shown, routes, seen, 0, "-4", 80, taken);

describe("a text beside an adjoint", () => {
  const own = { x: 0, y: 50 };
  const beside = spot(view(own));

  it("stands beside it where nothing is", () => {
    expect(beside.y).toBe(53);
    expect(beside.x).toBeGreaterThan(26 + 2 * 7);
  });

  it("goes above where a node is in the way", () => {
    expect(spot(view(own, { x: 120, y: 60 })).y).toBe(50 - 19 - 17);
  });

  it("goes where no wire runs, level or curved", () => {
    const level: Point[] = [[0, 60], [300, 60], [300, 60], [300, 60]];
    const curve: Point[] = [[90, 50], [90, 50], [130, 90], [140, 90]];
    for (const route of [level, curve]) {
      const found = spot(view(own), [route]);
      expect(found.y + HIGH <= 50 || found.y >= 60).toBe(true);
      expect(found).not.toEqual(beside);
    }
  });

  it("goes where no other stands", () => {
    expect(Math.abs(spot(view(own), [], [beside]).y - beside.y)).toBeGreaterThan(HIGH);
  });

  it("is on the screen", () => {
    const low = Object.assign(new Camera(), { x: 0, y: 40, width: 120, height: 200 });
    const found = spot(view(own), [], [], low);
    expect(low.holds(found.x, found.y, found.x + 80, found.y + HIGH)).toBe(true);
  });
});
