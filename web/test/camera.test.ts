import { expect, test } from "vitest";
import { Camera } from "../src/camera";

function camera(): Camera {
  return Object.assign(new Camera(), { width: 800, height: 600 });
}

test("all of a drawing fits, in the middle", () => {
  const made = camera();
  made.fit(2000, 100);
  expect(made.sees(0, 0, 1, 1) && made.sees(1999, 99, 2000, 100)).toBe(true);
  expect(made.point(400, 300)).toEqual([1000, 50]);
  expect(made.scale).toBeCloseTo((800 - 56) / 2000);
});

test("zooming keeps the point under the pointer", () => {
  const made = camera();
  made.fit(500, 500);
  const before = made.point(123, 45);
  made.zoom(1.7, 123, 45);
  made.point(123, 45).forEach((at, k) => expect(at).toBeCloseTo(before[k]));
});

test("panning moves by pixels, and what is outside is not seen", () => {
  const made = camera();
  made.scale = 2;
  made.pan(100, -50);
  expect([made.x, made.y]).toEqual([-50, 25]);
  expect(made.sees(351, 30, 360, 40)).toBe(false);
  expect(made.sees(349, 30, 360, 40)).toBe(true);
});
