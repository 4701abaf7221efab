import { expect, test } from "vitest";
import { spansDecades, ticks } from "../src/training/chart";

test("round numbers between two", () => {
  expect(ticks(0, 1, false).map((tick) => tick.toFixed(1))).toEqual(["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
  expect(ticks(0, 30, false)).toEqual([0, 10, 20, 30]);
  expect(ticks(0.13, 0.47, false).map((tick) => tick.toFixed(2))).toEqual(["0.20", "0.30", "0.40"]);
  expect(ticks(-3, 5, false)).toEqual([-2, 0, 2, 4]);
});

test("powers of ten, or parts of one", () => {
  expect(ticks(0.02, 30, true).map((tick) => tick.toPrecision(1))).toEqual(["0.1", "1", "1e+1"]);
  expect(ticks(0.3, 3, true).map((tick) => tick.toPrecision(1))).toEqual(["0.5", "1", "2"]);
  expect(ticks(1e-12, 1, true).length).toBeLessThanOrEqual(5);
  expect(ticks(0.31, 0.62, true).length).toBeGreaterThanOrEqual(2);
});

test("a logarithmic scale where it shows more", () => {
  expect(spansDecades([2, 0.05])).toBe(true);
  expect(spansDecades([2, 1])).toBe(false);
  expect(spansDecades([2, 0])).toBe(false);
  expect(spansDecades([NaN, 100, 1])).toBe(true);
  expect(spansDecades([])).toBe(false);
});
