import { expect, test } from "vitest";
import { shown, written } from "../src/words";

const of = (...data: number[]) => ({ shape: [data.length], data: Float64Array.from(data) });

// Each text is that of np.array2string(…, separator=" ") with precision=4 and suppress=True.
test.each([
  [of(1, 2.5), "[1.  2.5]"],
  [of(-0.03125, 10), "[-0.0312 10.    ]"],
  [of(0.00001, 3), "[0. 3.]"],
  [of(NaN, -Infinity, 1.25), "[ nan -inf 1.25]"],
  [of(Infinity, Infinity), "[inf inf]"],
  [of(123456789, 1), "[1.2346e+08 1.0000e+00]"],
  [of(-0, 2), "[-0.  2.]"],
  [of(), "[]"],
])("%s", (array, text) => {
  expect(written(array)).toBe(text);
});

test("rows stand in brackets of their own, joined into one line", () => {
  expect(written({ shape: [2, 2], data: Float64Array.of(1, 2, 3, 4) })).toBe("[[1. 2.] [3. 4.]]");
  expect(written({ shape: [1, 2, 2], data: Float64Array.of(1, 2, 3, 4) })).toBe("[[[1. 2.]  [3. 4.]]]");
});

test("truths, whole numbers, and arrays too large to be written", () => {
  expect(shown(of(1, 0), "b")).toBe("[ True False]");
  expect(shown(of(10, 2), "i")).toBe("[10  2]");
  expect(shown({ shape: [], data: Float64Array.of(1) }, "b")).toBe("True");
  expect(shown({ shape: [5], data: new Float64Array(5).fill(2) }, "f")).toBe("5, norm 4.472");
});
